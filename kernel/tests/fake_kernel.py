# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes a project and a kernel of a few files, so that tests of stages need no real kernel."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kernel.layout import Layout
from kernel.source import base as base_module
from kernel.source.base import fetch

LINUX = "1.0"
VERSION = "1.0.4-1"
DATA = Path(__file__).resolve().parent / "data"

RT_C = """\
#include "sched.h"

static int overloaded(struct rq *rq)
{
	return atomic_read(&rq->rd->rto_count);
}

static void set_overload(struct rq *rq)
{
	atomic_inc(&rq->rd->rto_count);
}

static void clear_overload(struct rq *rq)
{
	atomic_dec(&rq->rd->rto_count);
}

void online(struct rq *rq)
{
	if (overloaded(rq))
		set_overload(rq);
}
"""

# The targets of a kernel's Makefile that the stages use. As in the real one, unknown options are
# dropped, and a short line names each file that is made.
MAKEFILE = """\
VERSION = 1
PATCHLEVEL = 0
SUBLEVEL = 4
tinyconfig:
	@echo CONFIG_TINY=y > $(O)/.config
olddefconfig:
	@sed -i '/CONFIG_UNKNOWN/d' $(O)/.config
bzImage: $(O)/.config
	@mkdir -p $(O)/arch/x86/boot
	@if grep -q broken kernel/sched/rt.c; then \\
		echo "kernel/sched/rt.c:1:1: error: broken"; exit 1; fi
	@echo "  CC      kernel/sched/rt.o"
	@echo "  BUILD   arch/x86/boot/bzImage"
	@cat $(O)/.config kernel/sched/rt.c > $(O)/arch/x86/boot/bzImage
"""

MERGE = """\
#!/bin/sh
shift 4
for file in "$@"; do cat "$file" >> "$KCONFIG_CONFIG"; done
"""

BASE_FILES = {
    "Makefile": MAKEFILE,
    "scripts/kconfig/merge_config.sh": MERGE,
    "kernel/sched/rt.c": RT_C,
    "kernel/sched/cpupri.c": "int cpupri;\n",
    "kernel/sched/Makefile": "obj-y += rt.o cpupri.o\n",
    "scripts/run.sh": "#!/bin/sh\n",
}

RULE = """\
@@
expression rq;
@@
- set_overload(rq)
+ shard_set(rq)
"""

STEP = """\
[[step]]
name = "01-shard"
changelog = "changelog/01.txt"
copy = { "core/sbm.h" = "include/linux/sbm.h", "core/sbm.c" = "lib/schedshard/sbm.c" }
overlay = ["lib/schedshard/Makefile"]
append = [{ file = "kernel/sched/Makefile", lines = ["obj-y += shard.o"] }]
"""

VARIANTS = """\
[[variant]]
name = "stock"
steps = []
[[variant]]
name = "shard"
steps = "all"
"""

needs_spatch = pytest.mark.skipif(
    shutil.which("spatch") is None, reason="needs spatch (scripts/bootstrap series)"
)


def write(path: Path, text: str) -> Path:
    """Write a file, and the folders that lead to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def write_series(layout: Layout, steps: str = STEP, variants: str = VARIANTS) -> None:
    """Give the project these steps and variants."""
    write(layout.inputs / "series.toml", f"schema = 1\n{steps}\n{variants}")


def fake_program(folder: Path, name: str, script: str) -> None:
    """Put a shell script into a folder of programs."""
    path = write(folder / name, f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def say_version(bin_folder: Path, status: str = "installed", version: str = VERSION) -> None:
    """Add a dpkg-query that prints this state and version of the source package."""
    fake_program(bin_folder, "dpkg-query", f"echo {status} {version}")


def make_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A project with a series of one step, and a source package that is installed."""
    layout = Layout(folder / "project", folder / "work")
    tops = folder / "tarball"
    for name, text in BASE_FILES.items():
        write(tops / "linux-fake" / name, text)
    for name in ("run.sh", "kconfig/merge_config.sh"):
        (tops / "linux-fake/scripts" / name).chmod(0o755)
    # As in a real tarball: every file is older than the files made from it.
    for path in tops.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    tarball = folder / "linux-fake.tar.xz"
    subprocess.run(["tar", "-C", tops, "-cJf", tarball, "linux-fake"], check=True)
    write_base(layout, tarball)
    write(layout.inputs / "changelog/01.txt", "lib: add shard\n\nBecause.\n")
    write(layout.inputs / "overlay/lib/schedshard/Makefile", "obj-y += sbm.o\n")
    write(layout.project / "core/sbm.h", "struct sbm;\n")
    write(layout.project / "core/sbm.c", "int sbm;\n")
    write_series(layout)
    write(layout.inputs / "config/lab.config", "CONFIG_SMP=y\n# CONFIG_CORE is not set\n")
    programs = folder / "bin"
    say_version(programs)
    for name in ("gcc", "ld", "bc", "flex", "bison", "perl", "ccache"):
        if shutil.which(name) is None:
            fake_program(programs, name, "exit 1")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(base_module, "INSTALLED", folder)
    # A fake kernel does not need the space of a real one: a full disk must not matter.
    monkeypatch.setattr(base_module, "free_mb", lambda path: 1 << 20)
    return layout


def write_base(layout: Layout, tarball: Path, sha256: str | None = None) -> None:
    """Write kernel/base.toml for a tarball."""
    digest = sha256 or hashlib.sha256(tarball.read_bytes()).hexdigest()
    write(
        layout.inputs / "base.toml",
        f'schema = 2\ndefault = "{LINUX}"\n[[linux]]\nseries = "{LINUX}"\n'
        'package = "linux-fake"\narchive = "debian"\nsuites = ["first", "second"]\n'
        f'unpacked_mb = 1\ntested = [{{ version = "{VERSION}", sha256 = "{digest}" }}]\n',
    )


def write_other_base(layout: Layout, linux: str = "2.1") -> None:
    """Add a second series of Linux to kernel/base.toml."""
    path = layout.inputs / "base.toml"
    more = (
        f'[[linux]]\nseries = "{linux}"\npackage = "linux-other"\narchive = "debian"\n'
        f'suites = ["third"]\nunpacked_mb = 1\nhide = []\n'
    )
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")


def make_fetched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """The project with its base unpacked."""
    layout = make_project(folder, monkeypatch)
    fetch(layout)
    return layout


def contents(tree: Path) -> dict[str, bytes]:
    """Every file of a tree, by path."""
    return {
        str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()
    }


def times(tree: Path) -> dict[str, int]:
    """The time of every file of a tree, by path."""
    return {
        str(path.relative_to(tree)): path.stat().st_mtime_ns
        for path in tree.rglob("*")
        if path.is_file()
    }
