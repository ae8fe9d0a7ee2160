# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Where the parts of the project are, seen from the Python package."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path

from schedshard.common.errors import UserError
from schedshard.common.inputs import open_input

_PACKAGE = Path(__file__).resolve().parent.parent
# An installed package has the files of the project inside, in the folders of a checkout. It may lie
# in a zip file, which only its own reader can look into.
INSIDE = _PACKAGE / "installed"
_INSIDE = files("schedshard") / "installed"
INSTALLED = _INSIDE.is_dir()
# schedshard-doctor: doctor and nothing else (scripts/doctor_alone.py).
ALONE = (_INSIDE / "alone").is_file()
PROGRAM = "schedshard-doctor" if ALONE else "schedshard"
ROOT = INSIDE if INSTALLED else _PACKAGE.parent.parent
EXPERIMENTS = ROOT / "experiments"
MACHINES = ROOT / "machines"
_VERSION = _INSIDE / "VERSION" if INSTALLED else ROOT / "VERSION"
VERSION = _VERSION.read_text(encoding="ascii").strip()


def typed(words: str) -> str:
    """A command of ours as this user types it; ``words`` are what follows the program's name."""
    if ALONE and words.partition(" ")[0] == "doctor":
        return f"{Path(sys.argv[0]).name}{words[len('doctor') :]}"
    return f"{'schedshard' if INSTALLED else './schedshard'} {words}"


def own_argv(*words: str) -> list[str]:
    """The argument list that runs this program once more."""
    return [sys.executable, "-I", str(_PACKAGE / "__main__.py"), *words]


def remake() -> str:
    """What brings back a part of ours that is missing, in words."""
    return "install schedshard again" if INSTALLED else "run 'make build'"


def build_dir() -> Path:
    """The build tree whose binaries are used; SCHEDSHARD_BUILD replaces it in tests."""
    return Path(os.environ.get("SCHEDSHARD_BUILD") or ROOT / "build" / "release")


def sim_binary() -> Path:
    """The simulated machine with all experiments linked in."""
    return build_dir() / "experiments" / "schedshard-sim"


def begins(path: Path, mark: bytes) -> bool:
    """Whether a file can be read and begins with these bytes."""
    try:
        with open_input(path, "", sys.maxsize) as file:
            return file.read(len(mark)) == mark
    except (OSError, UserError):
        return False


def is_elf(binary: Path) -> bool:
    """Whether a file is a program with its own symbols, and not a script in its place."""
    return begins(binary, b"\x7fELF")


def topo_binary() -> Path:
    """The reader of topologies and machine files."""
    return build_dir() / "lib" / "schedshard-topo"


def bench_binary() -> Path:
    """The measurement of the structures on real CPUs."""
    return build_dir() / "bench" / "schedshard-bench"


def shown(path: Path) -> str:
    """A path for people and for provenance: relative to the project where it lies inside it."""
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return str(path)
