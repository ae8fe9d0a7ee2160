# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Cycles that loads waited for, as folded stacks: by function, source line and object.

One stack a line: frames from outside in, joined by semicolons, then its cycles. flamegraph.pl,
inferno, speedscope and others read this format. The first frame is the machine, where there are
several. The functions are the one that accesses and those that it was inlined into; with --stacks
their callers come first.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedshard.c2c.naming.memory import Memory
from schedshard.c2c.report.callers import ways_of
from schedshard.common.output import write_atomic
from schedshard.lines.symbols import Frame

Stack = tuple[str, ...]


def instructions(lines: Sequence[Mapping[str, Any]]) -> set[int]:
    """All addresses that need names."""
    return {int(access["pc"], 16) for line in lines for access in line["accesses"]}


def stacks(
    lines: Sequence[Mapping[str, Any]], frames: Mapping[int, tuple[Frame, ...]], memory: Memory
) -> list[list[Any]]:
    """Frames and cycles, the most first."""
    found: defaultdict[Stack, float] = defaultdict(float)
    for line in lines:
        for access in line["accesses"]:
            thing = memory.at(int(line["address"], 16) + int(access["offset"]))
            known = frames.get(int(access["pc"], 16), ())
            source = known[0].source if known else "?"
            for way, _, cycles in ways_of(access):
                functions = (
                    *(name for call in reversed(way) for name in _functions(call, frames)),
                    *_functions(int(access["pc"], 16), frames),
                )
                found[(*functions, source, thing.name if thing else line["address"])] += cycles
    ordered = sorted(found.items(), key=lambda each: -each[1])
    return [[list(stack), round(cycles)] for stack, cycles in ordered if round(cycles)]


def _functions(pc: int, frames: Mapping[int, tuple[Frame, ...]]) -> list[str]:
    """From outside in."""
    return [f.function for f in reversed(frames.get(pc, ()))] or [f"{pc:#x}"]


def _clean(frame: str) -> str:
    return frame.replace(";", ",").replace("\n", " ")


def folded(report: Mapping[str, Any]) -> str:
    """The text of a file."""
    several = len(report["variants"]) > 1
    return "".join(
        f"{';'.join(map(_clean, ([variant['name']] if several else []) + frames))} {cycles}\n"
        for variant in report["variants"]
        for frames, cycles in variant["stacks"]
    )


def write_flamegraph(report: Mapping[str, Any], path: Path) -> None:
    """The file, whole or not at all."""
    write_atomic(path, folded(report))
