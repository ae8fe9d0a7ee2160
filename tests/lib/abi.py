# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The shared library's binary interface is the one that libschedshard.abi describes.

usage: abi.py [--write] LIBRARY DESCRIPTION HEADER...

Programs contain the library's inline functions, which read its structures. So a moved member breaks
them as much as a removed function: abidiff compares both, with all types of the public headers.
--write makes a new description, for an intended change.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SKIPPED = 77
ERROR, USAGE, CHANGED, INCOMPATIBLE = 1, 2, 4, 8  # bits of abidiff's status


def call(argv: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def describe(library: Path, headers: Path, to: Path) -> None:
    """Write the description of a library."""
    done = call(
        [
            *("abidw", "--headers-dir", headers, "--drop-private-types"),
            *("--exported-interfaces-only", "--no-corpus-path", "--no-comp-dir-path"),
            *(
                "--no-elf-needed",
                "--no-show-locs",
                "--type-id-style",
                "hash",
                "--out-file",
                to,
                library,
            ),
        ]
    )
    if done.returncode:
        sys.exit(f"abidw: status {done.returncode}\n{done.stdout}{done.stderr}")


def compare(library: Path, headers: Path, description: Path) -> int:
    """Compare a library with its description; return the exit status."""
    dirs: list[str | Path] = ["--headers-dir1", headers, "--headers-dir2", headers]
    # The SONAME follows the version and is tested elsewhere: a new one alone is not a change.
    name = re.search(r"SONAME.*\[(.*)\]", call(["readelf", "-d", library]).stdout)
    text = description.read_text(encoding="utf-8")
    described = headers / description.name
    described.write_text(re.sub(r"soname='[^']*'", f"soname='{name and name[1]}'", text))
    done = call(["abidiff", *dirs, described, library])
    print(done.stdout + done.stderr, end="")
    if done.returncode & (ERROR | USAGE):
        print(f"abidiff: status {done.returncode}")
    elif done.returncode & INCOMPATIBLE:
        print("Programs that were linked before break: a new minor version, or another change.")
    elif done.returncode & CHANGED:
        print("Programs that were linked before still run.")
    else:
        print("the interface is the one described")
    if done.returncode & CHANGED:
        again = ["python3", sys.argv[0], "--write", *sys.argv[1:]]
        print(f"If the change is meant, describe it anew:\n{shlex.join(again)}")
    return 1 if done.returncode else 0


def main() -> int:
    """Compare, or write."""
    args = sys.argv[1:]
    write = args[:1] == ["--write"]
    library, description, *headers = (Path(arg) for arg in args[write:])
    if not shutil.which("abidiff"):
        print("skipped: there is no abidiff (Debian package abigail-tools)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        for header in headers:
            shutil.copy(header, folder)
        if write:
            describe(library, Path(folder), description)
            return 0
        return compare(library, Path(folder), description)


if __name__ == "__main__":
    sys.exit(main())
