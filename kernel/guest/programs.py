# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compiles the project's own guest programs statically from kernel/guest.

A build is reused while the sources, the compiler's name and the flags stay the same.
"""

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from common.errors import telling
from common.programs import call, require
from kernel.arch import X86, Arch
from kernel.layout import Layout

_FLAGS = ("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Wshadow", "-static", "-pthread")
# The source files of every program.
PROGRAMS = {
    "init": ("init.c", "guest.c"),
    "rt-storm": ("rt-storm.c", "storm-work.c", "storm-check.c", "guest.c"),
    "churn": ("churn.c", "guest.c"),
    "alloc-fail": ("alloc-fail.c", "guest.c"),
    "linux-level": ("linux-level.c", "threads.c", "guest.c"),
    "walk-self": ("walk-self.c", "threads.c", "guest.c"),
    "c2c-run": ("c2c-run.c",),
    "record-run": ("record-run.c",),
    "c2c-share": ("c2c-share.c", "guest.c"),
    "rt-groups": ("rt-groups.c", "guest.c"),
    "cache-work": ("cache-work.c", "guest.c"),
    "trial-encode": ("trial-encode.c", "guest.c"),
}
# These programs contain the plugin's marks, which are x86 instructions.
_X86_ONLY = {"c2c-run", "c2c-share", "record-run"}
# Programs for the host.
TSC_KHZ = "tsc-khz"
_HOST_PROGRAMS = {TSC_KHZ: ("tsc-khz.c", "guest.c")}
SCRIPTS = (
    "storm.sh", "hackbench.sh", "ffmpeg.sh", "redis.sh",
    "push-ipi.sh", "trial-init.sh",
)  # fmt: skip
_KEPT = 20  # the newest builds


def _programs(arch: Arch) -> Mapping[str, Sequence[str]]:
    """Return the programs of an architecture's guests, with their source files."""
    return {name: files for name, files in PROGRAMS.items() if arch is X86 or name not in _X86_ONLY}


def _digest(folder: Path, arch: Arch) -> str:
    recipe = (arch.compiler, _FLAGS, sorted(PROGRAMS.items()), sorted(_HOST_PROGRAMS.items()))
    digest = hashlib.sha256(repr(recipe).encode())
    with telling(f"cannot read {folder}"):
        for path in sorted((*folder.glob("*.c"), *folder.glob("*.h"))):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _built(layout: Layout) -> Path:
    source = layout.inputs / "guest"
    folder = layout.make_folder(layout.work / "guest")
    built = folder / _digest(source, layout.arch)[:16]
    with layout.locked("guest"):
        if not built.is_dir():
            _compile(source, folder, built, layout.arch)
    return built


def build_guest(layout: Layout) -> dict[str, Path]:
    """Compile the programs that changed.

    Return programs and scripts by their names in the guest.
    """
    built = _built(layout)
    programs = {name: built / name for name in _programs(layout.arch)}
    scripts = {name: layout.inputs / "guest" / name for name in SCRIPTS}
    return programs | scripts


def host_tsc_khz(layout: Layout) -> int | None:
    """Return the frequency of this host's time stamp counter in kHz; None unless both are x86."""
    if layout.arch is not X86 or platform.machine() != "x86_64":
        return None
    program = _built(layout) / TSC_KHZ
    output = call([program], what="measuring the time stamp counter")
    return int(output)


def _compile(source: Path, folder: Path, built: Path, arch: Arch) -> None:
    require(arch.compiler)
    # Keep some old builds, because an earlier call may still start guests from them.
    builds = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in builds[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    temp = Path(tempfile.mkdtemp(dir=folder))
    try:
        wanted = dict(_programs(arch))
        if arch is X86 and platform.machine() == "x86_64":
            wanted |= _HOST_PROGRAMS
        for name, files in wanted.items():
            call(
                [arch.compiler, *_FLAGS, "-o", temp / name, *(source / file for file in files)],
                what=f"compiling {name} for the guest",
            )
        os.replace(temp, built)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
