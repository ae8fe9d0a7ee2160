# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the project's parts, in a checkout or an installed package."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path

from common.errors import UserError
from common.inputs import open_input

# An installed command has the packages of a checkout, and the version beside this file. It may be
# inside a zip file, which only importlib can read.
_HERE = files("common")
INSTALLED = (_HERE / "VERSION").is_file()
# schedshard-doctor: doctor and nothing else (scripts/doctor_alone.py).
ALONE = (_HERE / "alone").is_file()
PROGRAM = "schedshard-doctor" if ALONE else "schedshard"
ROOT = Path(__file__).resolve().parent.parent
EXPERIMENTS = ROOT / "model" / "experiments"
MACHINES = ROOT / "machines"
VERSION = (_HERE / "VERSION" if INSTALLED else ROOT / "VERSION").read_text(encoding="ascii").strip()


def typed(words: str) -> str:
    """Return a command as this user types it. ``words`` follow the program's name."""
    if ALONE and words.partition(" ")[0] == "doctor":
        return f"{Path(sys.argv[0]).name}{words[len('doctor') :]}"
    return f"{'schedshard' if INSTALLED else './schedshard'} {words}"


def remake() -> str:
    """Return as text how to restore a missing part of schedshard."""
    return "install schedshard again" if INSTALLED else "run 'make build'"


def build_dir() -> Path:
    """Return the build tree whose binaries are used. Tests choose another with SCHEDSHARD_BUILD."""
    return Path(os.environ.get("SCHEDSHARD_BUILD") or ROOT / "build" / "release")


def sim_binary() -> Path:
    """Return the path of the simulator, which contains all experiments."""
    return build_dir() / "model" / "experiments" / "schedshard-sim"


def begins(path: Path, mark: bytes) -> bool:
    """Whether a file can be read and begins with given bytes."""
    try:
        with open_input(path, "", sys.maxsize) as file:
            return file.read(len(mark)) == mark
    except (OSError, UserError):
        return False


def is_elf(binary: Path) -> bool:
    """Whether a file is an ELF program, and not a script in its place."""
    return begins(binary, b"\x7fELF")


def topo_binary() -> Path:
    """Return the path of the tool that reads topologies and machine files."""
    return build_dir() / "lib" / "schedshard-topo"


def shown(path: Path) -> str:
    """Return a path for messages and provenance, relative to the project if it is inside."""
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return str(path)
