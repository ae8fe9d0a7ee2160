# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Where the parts of the project are, seen from the Python package."""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
# An installed package has the files of the project inside, in the folders of a checkout.
INSIDE = _PACKAGE / "installed"
INSTALLED = INSIDE.is_dir()
ROOT = INSIDE if INSTALLED else _PACKAGE.parent.parent
EXPERIMENTS = ROOT / "experiments"
MACHINES = ROOT / "machines"
VERSION = (ROOT / "VERSION").read_text(encoding="ascii").strip()


def build_dir() -> Path:
    """The build tree whose binaries are used; SCHEDSHARD_BUILD replaces it in tests."""
    return Path(os.environ.get("SCHEDSHARD_BUILD") or ROOT / "build" / "release")


def sim_binary() -> Path:
    """The simulated machine with all experiments linked in."""
    return build_dir() / "experiments" / "schedshard-sim"


def begins(path: Path, mark: bytes) -> bool:
    """Whether a file can be read and begins with these bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError:
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
