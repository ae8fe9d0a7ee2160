# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Checks that programs of the system are installed, and runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from common.errors import UserError, telling

# Debian's package for each program that a stage starts and that may be missing.
PACKAGE_OF = {
    "apt-cache": "apt",
    "apt-get": "apt",
    "ar": "binutils",
    "bc": "bc",
    "bison": "bison",
    "bzip2": "bzip2",
    "ccache": "ccache",
    "cpio": "cpio",
    "diff": "diffutils",
    "dh_builddeb": "debhelper",
    "dpkg-buildpackage": "dpkg-dev",
    "dpkg-deb": "dpkg",
    "dpkg-query": "dpkg",
    "dtc": "device-tree-compiler",
    "fakeroot": "fakeroot",
    "flex": "flex",
    "gcc": "gcc",
    "grub-mkrescue": "grub-common",
    "grub-mkstandalone": "grub-common",
    "git": "git",
    "kmod": "kmod",
    "ld": "binutils",
    "lz4": "lz4",
    "lzop": "lzop",
    "make": "make",
    "mformat": "mtools",
    "perl": "perl",
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-system-x86_64": "qemu-system-x86",
    "rsync": "rsync",
    "spatch": "coccinelle",
    "tar": "tar",
    "xorriso": "xorriso",
    "xz": "xz-utils",
    "zstd": "zstd",
}

# `kernel series` needs only these packages; other commands need the group kernel.
SERIES = {
    "apt", "coccinelle", "diffutils", "dpkg", "git", "perl", "tar", "xz-utils",
}  # fmt: skip
# Tools of cross compilers, as the kind of machine and the tool.
_CROSS = re.compile(r"(\w+-linux-gnu\w*)-(gcc|ld)")
# Packages that only kernels of arm64 need.
_ARM64 = {
    "binutils-aarch64-linux-gnu",
    "device-tree-compiler",
    "gcc-aarch64-linux-gnu",
    "qemu-system-arm",
}
_SHARED = re.compile(rb"^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_MISSING = re.compile(rb"^\s*(\S+) => not found$", re.MULTILINE)
_WHY = re.compile(r"\b(?:error|fatal|cannot|invalid|failed|no space)\b", re.IGNORECASE)


def package_of(program: str) -> str:
    """Return Debian's package of a program that a stage starts."""
    if match := _CROSS.fullmatch(program):
        return f"{'gcc' if match[2] == 'gcc' else 'binutils'}-{match[1]}"
    return PACKAGE_OF[program]


def _groups(packages: Sequence[str]) -> str:
    """Return the groups of scripts/packages.txt that contain these packages."""
    if SERIES.issuperset(packages):
        return "series"
    return "kernel arm64" if _ARM64.intersection(packages) else "kernel"


def require(*names: str, then: str = "") -> None:
    """Raise a UserError if a program is missing, before work that needs it starts.

    ``then`` is a command that must run after the packages were installed.
    """
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        packages = sorted({package_of(name) for name in missing})
        command = f"scripts/bootstrap {_groups(packages)}{f' && {then}' if then else ''}"
        raise UserError(
            f"{', '.join(missing)} not found: run '{command}' (Debian's {', '.join(packages)})"
        )


def reason(output: str) -> str:
    """Return the line of a failed program's output that gives the reason, the first with an error.

    Many programs continue after an error, and end with a line that only reports the failure. A line
    that ends in a colon is returned with the next one.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line, after in zip_longest(lines, lines[1:], fillvalue=""):
        if _WHY.search(line):
            return f"{line} {after}" if line.endswith(":") and after else line
    return lines[-1] if lines else ""


def call(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    good: Sequence[int] = (0,),
    what: str,
) -> bytes:
    """Run a program to its end and return its output.

    If its status is not one of ``good``, raise a UserError: ``what`` says what failed, and the
    program's output gives the reason.
    """
    with telling(f"{what}: cannot run {argv[0]}"):
        done = subprocess.run(
            [str(arg) for arg in argv],
            cwd=cwd,
            env={**os.environ, **env} if env is not None else None,
            input=stdin if stdin is not None else b"",
            capture_output=True,
            check=False,
        )
    if done.returncode not in good:
        output = (done.stderr or done.stdout).decode("utf-8", "replace")
        raise UserError(f"{what}: {reason(output) or f'exit status {done.returncode}'}")
    return done.stdout


def libraries(program: Path) -> list[Path]:
    """Return the shared libraries that a program loads, with the loader; none if it is static."""
    output = call(
        ["ldd", program.resolve()],
        good=(0, 1),  # 1: not a dynamic executable
        what=f"looking for the libraries of {program}",
    )
    if missing := _MISSING.search(output):
        raise UserError(f"{program} needs {missing[1].decode()}, which is not on this host")
    return [Path(os.fsdecode(match[1])) for match in _SHARED.finditer(output)]
