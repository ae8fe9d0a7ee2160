# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The program in the emulator: its input, output and exit status are its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedshard.errors import UserError, os_reason
from schedshard.kernel.watch import Watch
from schedshard.output import read_json
from schedshard.paths import build_dir
from schedshard.presets import Machine
from schedshard.record.program import Program, find_emulator

META = "schedshard/record-meta/1"
CPUS = "SCHEDSHARD_CPUS"


@dataclass(frozen=True)
class Window:
    """Which part of the run is recorded, in seconds of the host."""

    after: float = 0.0
    lasts: float | None = None
    marks: bool = False


@dataclass(frozen=True)
class Emulated:
    """What the emulator left."""

    status: int  # as the shell has it: 128 and more after a signal
    signal: str | None
    raw: dict[str, Any]
    meta: dict[str, Any]


def plugin_paths() -> tuple[Path, Path]:
    """The plugin, and the library for the program."""
    folder = build_dir() / "record"
    found = folder / "libschedshard-qemu-user.so", folder / "libschedshard-record.so"
    for path in found:
        if not path.is_file():
            raise UserError(f"{path} is missing: run 'make build'")
    return found


@contextlib.contextmanager
def _signals_are_the_programs() -> Iterator[None]:
    """Ctrl-C reaches the program as well, and what it makes of that is seen."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _command(
    program: Program, watch: Path, meta: Path, window: Window, cpus: int
) -> tuple[list[str], dict[str, str]]:
    plugin, library = plugin_paths()
    arguments = [f"{plugin}", f"watch={watch}", f"meta={meta}"]
    if window.after:
        arguments.append(f"after={round(window.after * 1000)}")
    if window.lasts is not None:
        arguments.append(f"for={max(10, round(window.lasts * 1000))}")
    if window.marks:
        arguments.append("marks=on")
    own = os.environ.get("LD_PRELOAD", "")
    inside = f"{library}:{own}" if own else f"{library}"
    command = [find_emulator(), "-U", "LD_PRELOAD"]
    if program.dynamic:
        command += ["-E", f"LD_PRELOAD={inside}", "-E", f"{CPUS}={cpus}"]
    command += ["-0", program.argv[0], "-plugin", ",".join(arguments), str(program.path)]
    return [*command, *program.argv[1:]], {**os.environ, "LD_PRELOAD": str(plugin)}


def emulate(
    program: Program,
    machine: Machine,
    cpus: Sequence[int],
    trace: Path,
    folder: Path,
    *,
    quantum: int,
    window: Window,
    output_to_stderr: bool,
) -> Emulated:
    """Run the program to its end."""
    result, meta = folder / "result.json", folder / "meta.json"
    watch = Watch(result, machine=machine.path, cpus=cpus, quantum=quantum, trace=trace)
    file = folder / "watch"
    file.write_text(watch.lines(), encoding="utf-8")
    if "," in f"{folder}{build_dir()}":
        raise UserError(f"{folder} or {build_dir()} has a comma in its name: the emulator has none")
    command, environment = _command(program, file, meta, window, len(cpus))
    with _signals_are_the_programs():
        try:
            child = subprocess.Popen(
                command,
                env=environment,
                stdout=sys.stderr if output_to_stderr else None,
                preexec_fn=_default_signals,
            )
        except OSError as error:
            raise UserError(f"cannot run {command[0]}: {os_reason(error)}") from error
        try:
            code = child.wait()
        except BaseException:
            child.terminate()
            child.wait()
            raise
    if not meta.is_file():
        raise UserError(
            f"the emulator ended with status {code} before anything was recorded"
            if code >= 0
            else f"the emulator was ended by {signal.Signals(-code).name}: nothing was kept",
            status=1,
        )
    told = dict(read_json(meta, "what the recorder wrote"))
    raw = dict(read_json(result, "what the recorder wrote")) if result.is_file() else {}
    name = signal.Signals(-code).name if code < 0 else None
    return Emulated(128 - code if code < 0 else code, name, raw, told)


def _default_signals() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
