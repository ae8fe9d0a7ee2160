# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Our own programs of the guest: compiled statically from kernel/guest, once a content."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from schedshard.errors import UserError, os_reason
from schedshard.kernel.layout import Layout
from schedshard.kernel.tools import call, require

_FLAGS = ("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Wshadow", "-static", "-pthread")
# Every program, and the files that it is made of.
PROGRAMS = {
    "init": ("init.c", "guest.c"),
    "rt-storm": ("rt-storm.c", "storm-work.c", "storm-check.c", "guest.c"),
    "churn": ("churn.c", "guest.c"),
}
SCRIPTS = ("storm.sh", "hackbench.sh", "ffmpeg.sh", "redis.sh")


def _digest(folder: Path) -> str:
    digest = hashlib.sha256(" ".join(_FLAGS).encode())
    try:
        for path in sorted((*folder.glob("*.c"), *folder.glob("*.h"))):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    except OSError as error:
        raise UserError(f"cannot read {folder}: {os_reason(error)}") from error
    return digest.hexdigest()


def build_guest(layout: Layout) -> dict[str, Path]:
    """Compile what has changed; returns the programs and scripts by their names in the guest."""
    source = layout.inputs / "guest"
    folder = layout.make_folder(layout.work / "guest")
    built = folder / _digest(source)[:16]
    with layout.locked("guest"):
        if not built.is_dir():
            _compile(source, folder, built)
    programs = {name: built / name for name in PROGRAMS}
    return programs | {name: source / name for name in SCRIPTS}


def _compile(source: Path, folder: Path, built: Path) -> None:
    require("gcc")
    for old in folder.iterdir():
        shutil.rmtree(old, ignore_errors=True)
    temp = Path(tempfile.mkdtemp(dir=folder))
    try:
        for name, files in PROGRAMS.items():
            call(
                ["gcc", *_FLAGS, "-o", temp / name, *(source / file for file in files)],
                what=f"compiling {name} for the guest",
            )
        os.replace(temp, built)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
