# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Boots a guest that runs a shell script, and returns what the script printed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from common.errors import UserError
from kernel.guest.boot import BootRequest, Limits, Step, boot
from kernel.guest.cpio import Entry, plain
from kernel.layout import Layout
from record.shape import Shape

_PATH, _NAME = "/bin/script", "script"


@dataclass(frozen=True)
class Script:
    """A script for busybox's shell, the machine that it runs on, and further files there."""

    text: str
    shape: Shape
    files: Mapping[str, Entry] = field(default_factory=dict)
    seconds: int = 300  # of the guest's time
    parameters: tuple[str, ...] = ()  # for the kernel's command line


def run_script(
    layout: Layout, kernel: Path, script: Script, on_line: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Return the script's output. Raise a UserError if its exit status is not 0."""
    program = plain(f"#!/bin/sh\n{script.text}".encode(), executable=True)
    request = BootRequest(
        kernel,
        _NAME,
        script.shape,
        steps=(Step(_NAME, (_PATH,), script.seconds),),
        parameters=script.parameters,
        files={**script.files, _PATH: program},
        limits=Limits(total=600.0 + 2 * script.seconds),
    )
    booted = boot(layout, request, on_line)
    said = [line.partition("] ")[2] for line in booted.lines]
    printed = [
        line.removeprefix(f"# {_NAME}: ") for line in said if line.startswith(f"# {_NAME}: ")
    ]
    if f"ok 1 {_NAME}" not in said:
        failed = [line for line in said if line.startswith("not ok 1 ")]
        why = failed[0] if failed else f"the guest {booted.ending.value}"
        last = f"; its last line: {printed[-1]}" if printed else ""
        raise UserError(f"{why}{last}, log {layout.shown(booted.log)}", status=1)
    return printed
