# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""One guest under the emulator with the plugin: from what is to be watched to the raw result."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from schedshard.errors import UserError, os_reason
from schedshard.kernel.boot import Booted, BootRequest, Emulation, Step, boot
from schedshard.kernel.layout import Layout
from schedshard.kernel.ram import Ram
from schedshard.kernel.topology import Shape
from schedshard.kernel.watch import Watch
from schedshard.paths import build_dir

FORMAT = "schedshard/c2c-raw/1"
_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Probe:
    """A kernel, a machine, a program; ``slow``: how many times slower the guest's clock runs."""

    kernel: Path
    name: str
    shape: Shape
    parts: tuple[str, ...]
    step: Step
    emulation: Emulation
    slow: int = 1
    extra_mb: int = 0
    parameters: tuple[str, ...] = ()
    total: float = 3600.0


@dataclass(frozen=True)
class Probed:
    """What came out, and the guest's log."""

    raw: dict[str, Any]
    booted: Booted


def plugin_library(name: str = "schedshard-qemu") -> Path:
    """A shared object of plugin/."""
    path = build_dir() / "plugin" / f"lib{name}.so"
    if not path.is_file():
        raise UserError(f"{path} is missing: run 'make build'")
    return path.resolve()


def read_raw(path: Path, booted: Booted | None = None) -> dict[str, Any]:
    """What the plugin wrote."""
    try:
        raw = json.loads(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        why = f", log {booted.log}" if booted is not None else ""
        raise UserError(
            f"the guest never opened its window: it {_ending(booted)}{why}", status=1
        ) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is no whole result: {error}", status=1) from error
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise UserError(f"{path} is no result of the plugin", status=1)
    return raw


def _ending(booted: Booted | None) -> str:
    return "ended" if booted is None else f"ended ({booted.ending.value})"


def probe(
    layout: Layout,
    request: Probe,
    watch: Watch,
    on_line: Callable[[str], None],
    look: Callable[[Ram, dict[str, Any]], None] | None = None,
) -> Probed:
    """Boot, run, and read the result, which ``watch`` names.

    With ``look`` the guest's memory is kept until it has been looked at.
    """
    watch.result.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        file = Path(folder) / "watch"
        try:
            file.write_text(watch.lines(), encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write {file}: {os_reason(error)}") from error
        environment = {}
        if request.slow > 1:
            environment = {
                "LD_PRELOAD": str(plugin_library("schedshard-slow-clock")),
                "SCHEDSHARD_SLOW": str(request.slow),
            }
        wanted = BootRequest(
            kernel=request.kernel,
            name=request.name,
            shape=request.shape,
            parts=request.parts,
            steps=(request.step,),
            # Without address randomisation: addresses are those of the image.
            parameters=("nokaslr", *request.parameters),
            qemu=("-plugin", f"{plugin_library()},watch={file}"),
            emulation=request.emulation,
            extra_mb=request.extra_mb,
            silence=120.0 * max(1, request.slow),
            total=request.total,
            slow=request.slow,
            environment=environment,
        )
        if look is None:
            booted = _boot(layout, wanted, watch, on_line)
            return Probed(read_raw(watch.result, booted), booted)
        with tempfile.TemporaryDirectory(prefix="schedshard-", dir=_MEMORY) as memory:
            booted = _boot(layout, replace(wanted, memory=Path(memory)), watch, on_line)
            raw = read_raw(watch.result, booted)
            with Ram(Path(memory)) as ram:
                look(ram, raw)
        return Probed(raw, booted)


def _boot(
    layout: Layout, request: BootRequest, watch: Watch, on_line: Callable[[str], None]
) -> Booted:
    """Boot; when interrupted, a partial result that the plugin has written is enough."""
    try:
        return boot(layout, request, on_line)
    except KeyboardInterrupt:
        if not watch.result.is_file():
            raise
        from schedshard.kernel.boot import Ending

        return Booted(layout.log(request.name), Ending.LATE, 0.0)
