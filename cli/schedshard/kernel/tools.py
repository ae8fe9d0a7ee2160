# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Programs of the system: whether they are there, and one call of one of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedshard.errors import UserError, os_reason

# Debian's package of every program that a stage starts and that may be missing.
PACKAGE_OF = {
    "ar": "binutils",
    "bc": "bc",
    "bison": "bison",
    "ccache": "ccache",
    "cpio": "cpio",
    "debootstrap": "debootstrap",
    "diff": "diffutils",
    "dh_builddeb": "debhelper",
    "dpkg-buildpackage": "dpkg-dev",
    "dpkg-deb": "dpkg",
    "dpkg-query": "dpkg",
    "fakeroot": "fakeroot",
    "flex": "flex",
    "gcc": "gcc",
    "git": "git",
    "kmod": "kmod",
    "ld": "binutils",
    "make": "make",
    "pahole": "dwarves",
    "perl": "perl",
    "qemu-system-x86_64": "qemu-system-x86",
    "rsync": "rsync",
    "spatch": "coccinelle",
    "tar": "tar",
    "xz": "xz-utils",
}


def require(*names: str) -> None:
    """Refuse to start work that would stop half-way for want of a program."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        packages = sorted({PACKAGE_OF[name] for name in missing})
        raise UserError(
            f"{', '.join(missing)} not found: run 'scripts/bootstrap kernel' "
            f"(Debian's {', '.join(packages)})"
        )


def call(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    good: Sequence[int] = (0,),
    what: str,
) -> bytes:
    """Run a program to its end and return what it printed.

    When its status is not one of ``good``, its last line of stderr becomes the error, after
    ``what``: the sentence says what failed, the program why.
    """
    try:
        done = subprocess.run(
            [str(arg) for arg in argv],
            cwd=cwd,
            env={**os.environ, **env} if env is not None else None,
            input=stdin if stdin is not None else b"",
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise UserError(f"{what}: cannot run {argv[0]}: {os_reason(error)}") from error
    if done.returncode not in good:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        words = said[-1] if said else f"exit status {done.returncode}"
        raise UserError(f"{what}: {words}")
    return done.stdout
