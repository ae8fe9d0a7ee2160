# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Cycles of accesses to shared lines, as folded stacks: by function, source line and object.

Each line of the file contains a stack: frames from outside in, joined by semicolons, then cycles.
flamegraph.pl, inferno, speedscope and others read this format. If there are several machines, the
first frame names one. The accessing function follows, after the functions into which it was
inlined. With --stacks, their callers come before these.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from model.results.c2c import Recorded
from model.results.raw import Line
from record.lines.symbols import Frame
from record.names.memory import Memory
from record.report.callers import ways_of

Stack = tuple[str, ...]


def instructions(lines: Sequence[Line]) -> set[int]:
    """Return the addresses of all instructions that access these lines."""
    return {access.instruction for line in lines for access in line.accesses}


def stacks(
    lines: Sequence[Line], frames: Mapping[int, tuple[Frame, ...]], memory: Memory
) -> list[list[Any]]:
    """Return each stack as its frames and cycles, those with most cycles first."""
    found: defaultdict[Stack, float] = defaultdict(float)
    for line in lines:
        for access in line.accesses:
            thing = memory.name_of(line.start + access.offset)
            known = frames.get(access.instruction, ())
            source = known[0].source if known else "?"
            for way, _, cycles in ways_of(access):
                functions = (
                    *(name for call in reversed(way) for name in _functions(call, frames)),
                    *_functions(access.instruction, frames),
                )
                found[(*functions, source, thing.name if thing else line.address)] += cycles
    ordered = sorted(found.items(), key=lambda each: -each[1])
    return [[list(stack), round(cycles)] for stack, cycles in ordered if round(cycles)]


def _functions(pc: int, frames: Mapping[int, tuple[Frame, ...]]) -> list[str]:
    """Return the functions at an instruction from outside in, or its address if there are none."""
    return [f.function for f in reversed(frames.get(pc, ()))] or [f"{pc:#x}"]


def _clean(frame: str) -> str:
    return frame.replace(";", ",").replace("\n", " ")


def folded(report: Recorded) -> str:
    """Return a report's stacks in the folded format."""
    several = len(report.variants) > 1
    return "".join(
        f"{';'.join(map(_clean, ([variant.name] if several else []) + frames))} {cycles}\n"
        for variant in report.variants
        for frames, cycles in variant.stacks
    )
