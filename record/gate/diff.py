# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Says which lines became hotter, colder, new or gone between two recordings of a program."""

import re
from pathlib import Path

from msgspec import Struct
from rich.console import Group, RenderableType

from common.errors import UserError
from common.show.format import significant
from common.show.sheet import Sheet
from model.results.c2c import RecordedVariant
from model.results.saved import Saved
from record.gate.baseline import load_recorded

DIFF = "schedshard/c2c-diff/1"
_LINE = re.compile(r":\d+\)")


class _Totals(Struct):
    hitm: float = 0.0
    cycles: float = 0.0
    lines: float = 0.0


class _Sides(Struct):
    a: float
    b: float


class _Object(Struct):
    object: str
    a: _Totals
    b: _Totals


class _Machine(Struct):
    machine: str
    work_cycles: _Sides
    hitm: _Sides
    objects: list[_Object]


class Diff(Saved):
    """The comparison of two recordings, as it is saved."""

    format: str
    a: str
    b: str
    machines: list[_Machine]


def _objects(run: RecordedVariant) -> dict[str, _Totals]:
    """Return by object the summed cost of its reported lines."""
    totals: dict[str, _Totals] = {}
    for line in run.lines:
        # The name without the line number of the allocation, which edits of the source may change.
        entry = totals.setdefault(_LINE.sub(")", line.object), _Totals())
        entry.hitm += line.hitm_remote + line.hitm_local
        entry.cycles += line.cycles
        entry.lines += 1
    return totals


def is_recording(name: str) -> bool:
    """Whether 'record --out' saved this file. False if it cannot be read."""
    try:
        load_recorded(Path(name))
    except UserError:
        return False
    return True


def diff_files(a_name: Path, b_name: Path) -> Diff:
    """Return the comparison of two files, for machines of both and objects of either."""
    a, b = load_recorded(a_name), load_recorded(b_name)
    of_b = {run.name: run for run in b.variants}
    machines = []
    for before in a.variants:
        after = of_b.get(before.name)
        if after is None:
            continue
        x, y = _objects(before), _objects(after)
        rows = [
            _Object(name, x.get(name, _Totals()), y.get(name, _Totals()))
            for name in dict.fromkeys([*x, *y])
        ]
        rows.sort(key=lambda row: -abs(row.b.cycles - row.a.cycles))
        machines.append(
            _Machine(
                before.name,
                _Sides(before.work_cycles, after.work_cycles),
                _Sides(before.hitm_total, after.hitm_total),
                rows,
            )
        )
    if not machines:
        raise UserError(f"{a_name} and {b_name} have no machine in common")
    return Diff(DIFF, str(a_name), str(b_name), machines)


def _change(a: float, b: float) -> str:
    return f"{(b - a) / a:+.1%}" if a else ("new" if b else "-")


def diff_view(data: Diff) -> RenderableType:
    """Return one table per machine."""
    sheets = []
    for diff in data.machines:
        numbers = ("HITM A", "HITM B", "cycles A", "cycles B", "change")
        made = Sheet(f"{diff.machine}: A {data.a}, B {data.b}", "object", *numbers, right=numbers)
        hitm, work = diff.hitm, diff.work_cycles
        made.add_row(
            "all of the program", f"{hitm.a:,}", f"{hitm.b:,}",
            significant(work.a), significant(work.b), _change(work.a, work.b),
        )  # fmt: skip
        for row in diff.objects:
            a, b = row.a, row.b
            made.add_row(
                row.object, f"{a.hitm:,.0f}", f"{b.hitm:,.0f}", significant(a.cycles),
                significant(b.cycles), _change(a.cycles, b.cycles),
            )  # fmt: skip
        sheets.append(made)
    return Group(*sheets)
