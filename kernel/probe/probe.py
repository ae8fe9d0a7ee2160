# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs a guest in the emulator with the plugin, as a watch file (record/watch.py) says."""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.errors import UserError, telling
from common.paths import build_dir, remake
from kernel.guest.boot import Booted, BootRequest, Ending, Limits, boot
from kernel.guest.ram import Ram
from kernel.layout import Layout
from record.shape import memory_mb
from record.watch import Watch

FORMAT = "schedshard/c2c-raw/1"
# The guest's memory is kept here if there is room.
_MEMORY = Path("/dev/shm")
# QEMU 7.2 sometimes still executes the breakpoint of a patched instruction after the kernel has
# removed it. That happens when a jump label is switched while many CPUs run. The kernel then dies
# of a breakpoint that it does not know. The kernel is not at fault, and another boot usually works.
_STALE_TEXT = "Oops: int3"
# kernel/guest/c2c-run.c prints this if the window would not measure the program's work.
_NOT_BUSY = "c2c-run: not busy when the window opens: "
_BOOTS = 5
TOTAL_SECONDS = 3600.0


@dataclass(frozen=True)
class Probed:
    """The plugin's raw result, and the guest that produced it."""

    raw: dict[str, Any]
    booted: Booted


def plugin_library(name: str = "schedshard-qemu") -> Path:
    """Return the path of a shared object of record/plugin/."""
    path = build_dir() / "record" / "plugin" / f"lib{name}.so"
    if not path.is_file():
        raise UserError(f"{path} is missing: {remake()}")
    return path.resolve()


def slow_clock(slow: int) -> dict[str, str]:
    """Return the emulator's environment for a guest clock that runs ``slow`` times slower."""
    library = plugin_library("schedshard-guest-clock")
    return {"LD_PRELOAD": str(library), "SCHEDSHARD_SLOW": str(slow)}


def read_raw(path: Path, booted: Booted | None = None) -> dict[str, Any]:
    """Return the plugin's result, after checking its format."""
    try:
        raw = json.loads(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        why = f" ({booted.ending.value}), log {booted.log}" if booted is not None else ""
        raise UserError(f"the guest ended before the measured window{why}", status=1) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is not a complete result: {error}", status=1) from error
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise UserError(f"{path} is not a result of the plugin", status=1)
    return raw


def memory_folder(wanted_mb: int) -> str:
    """Return a folder with room for a guest's memory: in memory, or else on disk."""
    try:
        free = shutil.disk_usage(_MEMORY).free
    except OSError:
        free = 0
    return str(_MEMORY) if free >= wanted_mb << 20 else tempfile.gettempdir()


def probe(
    layout: Layout,
    request: BootRequest,
    watch: Watch,
    on_line: Callable[[str], None],
    look: Callable[[Ram, dict[str, Any]], None] | None = None,
) -> Probed:
    """Boot a guest, and return the result that ``watch`` names.

    With ``look`` the guest's memory is kept until that function has read it.
    """
    watch.result.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        file = Path(folder) / "watch"
        with telling(f"cannot write {file}"):
            file.write_text(watch.lines(), encoding="utf-8")
        # With a model, the guest's time is the model's time in the window.
        emulator = request.emulator
        modelled = watch.machine is not None or emulator.slow > 1
        emulator = replace(
            emulator,
            arguments=("-plugin", f"{plugin_library()},watch={file}", *emulator.arguments),
            environment=slow_clock(emulator.slow) if modelled else {},
        )
        wanted = replace(
            request,
            # Symbols of the image are valid only without address randomisation.
            parameters=("nokaslr", "slab_nomerge", *request.parameters),
            emulator=emulator,
            limits=Limits(120.0 * max(1, emulator.slow), TOTAL_SECONDS),
        )
        if look is None:
            booted = _boot(layout, wanted, watch, on_line)
            return Probed(read_raw(watch.result, booted), booted)
        place = memory_folder(memory_mb(request.shape, emulator.extra_mb))
        with tempfile.TemporaryDirectory(prefix="schedshard-", dir=place) as memory:
            kept = replace(wanted, emulator=replace(emulator, memory=Path(memory)))
            booted = _boot(layout, kept, watch, on_line)
            raw = read_raw(watch.result, booted)
            with Ram(Path(memory)) as ram:
                look(ram, raw)
        return Probed(raw, booted)


def _boot(
    layout: Layout, request: BootRequest, watch: Watch, on_line: Callable[[str], None]
) -> Booted:
    """Boot until the run is usable. After Ctrl-C, a partial result is enough."""
    try:
        for left in reversed(range(_BOOTS)):
            booted = boot(layout, request, on_line)
            idle = next((s for s in booted.lines if _NOT_BUSY in s), "").partition(_NOT_BUSY)[2]
            stale = any(_STALE_TEXT in line for line in booted.lines)
            if idle:
                why = f"the guest was not busy when its window opened ({idle})"
            elif stale and not watch.result.is_file():
                why = "the emulator executed stale code of the guest"
            else:
                return booted
            watch.result.unlink(missing_ok=True)
            if left:
                print(f"{why}: booting again", file=sys.stderr)
        raise UserError(f"{why}, {_BOOTS} times, log {booted.log}", status=1)
    except KeyboardInterrupt:
        if not watch.result.is_file():
            raise
        return Booted(layout.log(request.name), Ending.LATE, 0.0)
