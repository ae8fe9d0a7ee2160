# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests what the program imports at first, where it may not write, and which Python it takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.paths import ROOT
from conftest import FAKES

NOBODY = 65534
TOOLS = ("model/experiments/schedshard-sim", "lib/schedshard-topo")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def call(*argv: str | Path, cwd: Path, user: int | None = None, **more: str) -> tuple[int, str]:
    """Run a program; returns its status, and all that it said."""
    kept = {key: value for key, value in os.environ.items() if key != "SCHEDSHARD_BUILD"}
    done = subprocess.run(
        [str(word) for word in argv], cwd=cwd, user=user, env={**kept, **more}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "argv",
    [(ROOT / "schedshard",), (sys.executable, "-I", ROOT / "cli" / "__main__.py")],
    ids=["checkout", "module"],
)
def test_nothing_of_the_current_directory_is_imported(
    tmp_path: Path, argv: tuple[str | Path, ...]
) -> None:
    text = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    for name in ("click.py", "schedshard/__init__.py", "schedshard/__main__.py", "signal.py"):
        path = tmp_path / "here" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    here = tmp_path / "here"
    version = (ROOT / "VERSION").read_text().strip()
    for search in ("", ":", str(here)):
        result = call(*argv, "--version", cwd=here, SCHEDSHARD_BUILD=str(FAKES), PYTHONPATH=search)
        assert result == (0, f"schedshard {version}\n")
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def checkout() -> Iterator[Path]:
    """Return a built checkout whose Python prints its arguments; others may read it."""
    root = Path(tempfile.mkdtemp(prefix="schedshard test "))
    root.chmod(0o755)
    (root / "cli" / "schedshard").mkdir(parents=True)
    shutil.copy(ROOT / "schedshard", root)
    for path in (ROOT / "cli" / "environment", *(ROOT / "cli").glob("*.lock")):
        shutil.copy(path, root / "cli")
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$3"\n')
    python.chmod(0o755)
    stamp = f"cat '{root}/cli/requirements.lock' '{root}/cli/requirements.lock' | sha256sum"
    digest = subprocess.run(stamp, shell=True, capture_output=True, text=True, check=True).stdout
    (root / ".venv" / "has-base").write_text(digest.split()[0])
    build = root / "build" / "release"
    for name in TOOLS:
        (build / name).parent.mkdir(parents=True)
        (build / name).write_text("")
        (build / name).chmod(0o755)
    (build / "build.ninja").write_text(
        "rule copy\n  command = cp $in $out\nbuild made: copy ../../source\n"
        "build all: phony made\nbuild commands: phony made\ndefault all\n"
    )
    (root / "source").write_text("1")
    subprocess.run(["ninja", "-C", build], check=True, stdout=subprocess.DEVNULL)
    yield root
    shutil.rmtree(root)


@pytest.mark.parametrize("words", [("machine", "list"), ("run", "atomic-inc", "--threads", "2")])
def test_small_commands_load_only_what_they_need(words: tuple[str, ...]) -> None:
    late = {"numpy", "pandas", "jinja2", "matplotlib", "rich.progress"}
    code = (
        f"import sys; from cli.entry import run; status = run({list(words)!r}); "
        f"print(status, *sorted({late!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SCHEDSHARD_BUILD": str(FAKES)},
    )  # fmt: skip
    assert done.stderr == "0\n"


@needs_root
def test_another_user_runs_what_is_built(checkout: Path) -> None:
    program = checkout / "schedshard"
    before = sorted(checkout.rglob("*"))
    assert call(program, "machine", "list", cwd=Path("/"), user=NOBODY) == (0, "machine\n")
    assert sorted(checkout.rglob("*")) == before
    (checkout / "source").write_text("2")
    os.utime(checkout / "source", (2e9, 2e9))
    status, output = call(program, "machine", "list", cwd=Path("/"), user=NOBODY)
    assert status == 2
    assert output.count("\n") == 1
    assert "is older than its sources, and this user cannot write there: run 'make build'" in output
    # A user who may write there brings the build up to date.
    assert call(program, "machine", "list", cwd=Path("/"))[1].endswith("\nmachine\n")
    assert (checkout / "build" / "release" / "made").read_text() == "2"


@pytest.mark.parametrize(
    "words", [(), ("-h",), ("--version",), ("run", "--help"), ("record", "--help")]
)
def test_help_needs_no_build(checkout: Path, words: tuple[str, ...]) -> None:
    """Regression: a fresh clone was built for minutes before it printed its help."""
    shutil.rmtree(checkout / "build")
    result = call(checkout / "schedshard", *words, cwd=Path("/"))
    assert result == (0, f"{words[0] if words else ''}\n")
    assert not (checkout / "build").exists()


@pytest.mark.parametrize("words", [("record", "ls", "--help"), ("cc", "--help")])
def test_help_of_another_program_needs_a_build(checkout: Path, words: tuple[str, ...]) -> None:
    (checkout / "source").write_text("2")
    os.utime(checkout / "source", (2e9, 2e9))
    assert call(checkout / "schedshard", *words, cwd=Path("/"))[1].endswith(f"\n{words[0]}\n")
    assert (checkout / "build" / "release" / "made").read_text() == "2"


@needs_root
def test_another_user_cannot_make_the_environment(checkout: Path) -> None:
    (checkout / ".venv" / "has-base").write_text("of other locks")
    status, output = call(checkout / "schedshard", "machine", "list", cwd=Path("/"), user=NOBODY)
    assert (status, output.count("\n")) == (2, 1)
    assert "run 'cli/environment' as the user who can" in output


def test_which_python(checkout: Path) -> None:
    shutil.rmtree(checkout / ".venv")
    old = checkout / "old"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    for name, words in (("nowhere", "there is no such program"), (old, "older than 3.11")):
        result = call(checkout / "cli" / "environment", cwd=checkout, PYTHON=str(name))
        assert result[0] == 2
        assert words in result[1]
        assert result[1].count("\n") == 1


MADE = """#!/bin/sh
case $2 in
venv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
esac
"""
# Ends the script that removes an environment, with the environment half removed.
ENDS = """#!/bin/sh
case $#,$3 in
3,*.venv|3,*.venv.old) /bin/rm "$3/bin/python" && kill -TERM $PPID ;;
*) exec /bin/rm "$@" ;;
esac
"""


def test_an_environment_is_whole_whenever_the_script_ends(checkout: Path) -> None:
    (checkout / ".venv" / "has-base").write_text("of other locks")
    tools = checkout / "tools"
    tools.mkdir()
    for name, text in (("python", MADE), ("rm", ENDS)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    environment = checkout / "cli" / "environment"
    path = f"{tools}:{os.environ['PATH']}"
    ended = call(environment, cwd=checkout, PYTHON=str(tools / "python"), PATH=path)
    assert ended[0] != 0
    assert (checkout / ".venv" / "bin" / "python").read_text() == MADE
    python = str(tools / "python")
    assert call(environment, cwd=checkout, PYTHON=python) == (0, "")
    assert (checkout / ".venv" / "made-by").read_text() == f"{python}\n"


@pytest.mark.slow(reason="makes an environment")
def test_no_network(checkout: Path) -> None:
    shutil.rmtree(checkout / ".venv")
    status, output = call(
        checkout / "cli" / "environment", cwd=checkout, PYTHON=sys.executable,
        PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_NO_CACHE_DIR="1", PIP_CONFIG_FILE=os.devnull,
        PIP_EXTRA_INDEX_URL="", PIP_FIND_LINKS="",
    )  # fmt: skip
    assert status == 2
    assert "the package index cannot be reached: is there a network?" in output
    assert "No matching distribution" not in output
    assert not (checkout / ".venv").exists()
    assert not (checkout / ".venv.tmp").exists()
