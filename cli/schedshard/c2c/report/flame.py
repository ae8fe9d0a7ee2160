# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Cycles that loads waited for, as folded stacks: by function, source line and object.

One stack a line: frames from outside in, joined by semicolons, then its cycles. flamegraph.pl,
inferno, speedscope and others read this format. The first frame is the machine, where there are
several. The functions are the one that accesses and those that it was inlined into: the recorder
does not look at the stack of calls.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedshard.c2c.naming.memory import Memory
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
    found: Counter[Stack] = Counter()
    for line in lines:
        for access in line["accesses"]:
            cycles = round(access["avg_load_cycles"] * access["loads"])
            if not cycles:
                continue
            thing = memory.at(int(line["address"], 16) + int(access["offset"]))
            known = frames.get(int(access["pc"], 16), ())
            functions = [f.function for f in reversed(known)] or [access["pc"]]
            source = known[0].source if known else "?"
            found[(*functions, source, thing.name if thing else line["address"])] += cycles
    return [[list(stack), cycles] for stack, cycles in found.most_common()]


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
