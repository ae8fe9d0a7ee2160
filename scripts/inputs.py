# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Hash what a stage of `make quick` reads. A stage whose hash is unchanged need not run again.

Each set of files is larger than what the stage opens, never smaller.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

# Sources that are compiled. Python tests depend on them only through the compiled tools.
COMPILED = re.compile(
    r"(bench|check|core|lib|model|port|record)/(.*\.(c|h|cc|hh|inc)|(.*/)?meson\.build)"
)


def tracked(*patterns: str) -> list[str]:
    """Return the files of the project that match, tracked or about to be."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted(name for name in listing.stdout.split("\0") if name and Path(name).is_file())


def digest(names: Iterable[str | Path]) -> str:
    """Return a hash of names and contents."""
    total = hashlib.sha256()
    for name in names:
        total.update(f"{name} {hashlib.sha256(Path(name).read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def typed() -> str:
    """Return the hash of what mypy reads. The lock file represents the packages."""
    return digest(tracked("*.py", "pyproject.toml", "cli/*.lock"))


def not_compiled() -> str:
    """Return the hash of what tests without compiled tools read."""
    names = tracked()
    listed = hashlib.sha256("\n".join(names).encode()).hexdigest()  # pages name files
    return listed + digest(name for name in names if not COMPILED.fullmatch(name))


def with_tools(build: Path, patterns: Sequence[str]) -> str:
    """Return the hash of what tests with these tools of a build tree read."""
    tools = {path for pattern in patterns for path in build.glob(pattern) if path.is_file()}
    return not_compiled() + digest(sorted(tools))
