# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Schedulers of sched_ext: what can be tested without a guest."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fake_kernel import fake_program, make_fetched, write

from common.errors import UserError
from common.paths import ROOT
from kernel.layout import Layout
from kernel.testing.run import compiled_parts
from kernel.testing.schedulers import (
    build_scheduler,
    check_schedulers,
    known_schedulers,
    scheduler_files,
)

STATE = "/sys/kernel/sched_ext/state"
# A file of the kernel's make: the program lies where tools/sched_ext puts it.
MAKE = """\
scx_simple:
	@test -n "$(VMLINUX_BTF)" && test "$(CLANG)" = clang-19
	@mkdir -p $(O)/build/bin && cp /bin/true $(O)/build/bin/scx_simple
scx_lost:
	@true
"""


def layout_with_schedulers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    layout: Layout = make_fetched(folder, monkeypatch)
    for name in ("scx_simple", "scx_lost"):
        write(layout.base / f"tools/sched_ext/{name}.bpf.c", "")
    write(layout.base / "tools/sched_ext/Makefile", MAKE)
    for path in (layout.base / "tools").rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))  # nobody wrote to it since it was unpacked
    for name in ("clang-19", "llvm-strip-19"):
        fake_program(folder / "bin", name, "exit 1")
    return layout


def test_a_scheduler_is_compiled_once_a_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = layout_with_schedulers(tmp_path, monkeypatch)
    assert known_schedulers(layout) == ("scx_lost", "scx_simple")
    old = write(layout.work / "schedulers/of-another-base/build/bin/scx_simple", "")
    vmlinux = write(tmp_path / "vmlinux", "")
    program = build_scheduler(layout, "scx_simple", vmlinux)
    assert program.read_bytes() == Path("/bin/true").read_bytes()
    assert not old.exists()
    written = program.stat().st_mtime_ns
    files = scheduler_files(layout, "scx_simple", vmlinux)
    assert program.stat().st_mtime_ns == written
    assert files["/bin/scx_simple"].data == program
    assert any("/libc.so" in path for path in files)
    assert compiled_parts(layout, ["scx_simple", "rt-tests"], vmlinux) == files
    assert compiled_parts(layout, ["rt-tests"], vmlinux) == {}
    with pytest.raises(UserError, match="scx_lost was compiled, and is not there") as error:
        build_scheduler(layout, "scx_lost", vmlinux)
    assert error.value.status == 1


def test_what_is_missing_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = layout_with_schedulers(tmp_path, monkeypatch)
    check_schedulers(layout, ["scx_simple"])
    with pytest.raises(UserError, match="unknown scheduler of sched_ext 'scx_simpel'") as error:
        check_schedulers(layout, ["scx_simpel"])
    assert "\n" not in str(error.value)
    monkeypatch.setattr("common.programs.shutil.which", lambda name: None)
    with pytest.raises(UserError, match=r"clang-19, .*bootstrap kernel sched-ext'") as error:
        check_schedulers(layout, ["scx_simple"])
    assert "\n" not in str(error.value)
    check_schedulers(layout, [])


def _script(folder: Path, scheduler: str, command: str) -> subprocess.CompletedProcess[str]:
    """Run scx.sh on a system in a folder."""
    text = (ROOT / "kernel/guest/scx.sh").read_text(encoding="utf-8")
    for path in (STATE, "/tmp/scheduler.log"):
        assert path in text
        text = text.replace(path, str(folder / Path(path).name))
    start = '"/bin/$scheduler"'
    assert start in text
    text = text.replace(start, f'"{folder}/$scheduler"')
    fake_program(folder, "scx_a", f"cd {folder}\n{scheduler}")
    argv: list[str | Path] = ["sh", write(folder / "scx.sh", text), "scx_a", "sh", "-c", command]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def test_the_script_loads_and_ends_a_scheduler(tmp_path: Path) -> None:
    loads = "trap 'echo disabled >state; exit' TERM; echo enabled >state"
    done = _script(tmp_path, f"{loads}; while :; do sleep 0.1; done", "cat state; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "enabled\n", "")
    assert (tmp_path / "state").read_text() == "disabled\n"


def test_the_script_says_when_a_scheduler_is_not_there(tmp_path: Path) -> None:
    done = _script(tmp_path, "echo no BPF here >&2; exit 1", "echo never")
    assert (done.returncode, done.stdout) == (1, "no BPF here\nscx_a: not loaded\n")
    done = _script(tmp_path, "echo enabled >state; sleep 0.3", "echo disabled >state")
    assert done.returncode == 1
    assert done.stdout.endswith("scx_a: unloaded before the command had ended\n")
