# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The linters of structure find planted faults: circles and upward arrows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from common.paths import ROOT

LINT = "from importlinter.cli import lint_imports_command as lint; lint()"


def test_arrow_against_the_table(tmp_path: Path) -> None:
    """In the planted project sim/ may use core/, and not the other way round."""
    for name, text in {
        "CONTRIBUTING.md": "| `core/` | it | nothing |\n| `sim/` | it | `core/` |\n",
        "core/a.h": '#include "b.h"\n',
        "sim/b.h": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    argv = [sys.executable, str(ROOT / "scripts" / "structure.py"), str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == (
        'core/a.h: includes "b.h" of sim/, which core/ may not use (CONTRIBUTING.md)\n'
    )


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("common/errors.py", "import cli.commands.main\n", "Rooms import what is below them"),
        ("doctor/facts/values.py", "from doctor.judge import judge\n", "Nothing beside"),
        ("common/show/__init__.py", "", ""),
    ],
)
def test_imports(tmp_path: Path, file: str, text: str, said: str) -> None:
    """An upward import, a cycle of two packages, and no fault."""
    for room in ("cli", "common", "doctor", "kernel", "model", "record", "report", "trial"):
        ignored = shutil.ignore_patterns("__pycache__", "tests", "*.c", "*.h")
        shutil.copytree(ROOT / room, tmp_path / room, ignore=ignored)
    with (tmp_path / file).open("a") as planted:
        planted.write(text)
    done = subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", "--config", str(ROOT / "pyproject.toml")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )
    broken = [line for line in done.stdout.splitlines() if "BROKEN" in line]
    assert (done.returncode, bool(broken)) == (int(bool(said)), bool(said))
    assert not said or any(line.startswith(said) for line in broken)


def test_the_package_needs_what_the_environment_has() -> None:
    """A wheel without one of them installs, and its command does not start."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def asked(name: str) -> list[str]:
        lines = (ROOT / "cli" / f"{name}.in").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line and not line.startswith(("#", "-"))]

    assert told["dependencies"] == asked("requirements")
    assert told["optional-dependencies"]["sweep"] == asked("requirements-sweep")


def test_the_picture_of_the_rooms_is_what_imports_are_held_against() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["id"] == "rooms")
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    picture = text.partition("## Rooms")[2].partition("```")[2].partition("```")[0]
    drawn = re.findall(r"^ (\w+)/", picture, re.MULTILINE)
    assert drawn[: len(layers)] == layers
    for room in drawn:
        assert (ROOT / room / "README.md").is_file(), room
