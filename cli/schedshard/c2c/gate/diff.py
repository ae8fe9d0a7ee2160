# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compares two recordings of a program: which lines became hotter, colder, new or gone."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType

from schedshard.c2c.report.sharing import hitm
from schedshard.c2c.report.steady import is_steady
from schedshard.common.errors import UserError
from schedshard.common.formats import C2C
from schedshard.common.output import read_json
from schedshard.common.paths import typed
from schedshard.results.read import load_recording
from schedshard.show.format import significant
from schedshard.show.sheet import Sheet

DIFF = "schedshard/c2c-diff/1"
_LINE = re.compile(r":\d+\)")


def _objects(variant: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return by object the summed cost of its reported lines."""
    found: dict[str, dict[str, float]] = {}
    for line in variant["lines"]:
        # Without the line number of the allocation, which edits of the source may change.
        name = _LINE.sub(")", str(line["object"]))
        entry = found.setdefault(name, {"hitm": 0.0, "cycles": 0.0, "lines": 0.0})
        entry["hitm"] += hitm(line)
        entry["cycles"] += line["cycles"]
        entry["lines"] += 1
    return found


def is_recording(name: str) -> bool:
    """Whether 'c2c record --out' saved this file. False if it cannot be read."""
    try:
        data = read_json(Path(name), "result")
    except UserError:
        return False
    return isinstance(data, dict) and data.get("format") == C2C and "program" in data


def diff(a: Mapping[str, Any], b: Mapping[str, Any], a_name: str, b_name: str) -> dict[str, Any]:
    """Return the comparison, for machines of both recordings and objects of either."""
    for name, each in ((a_name, a), (b_name, b)):
        if "program" not in each:
            raise UserError(
                f"{name} is not a recorded program: '{typed('c2c record --out FILE')}' makes one"
            )
    if is_steady(a) != is_steady(b):
        raise UserError(
            f"{a_name} and {b_name}: one contains only a steady part; record both with --steady, "
            "or both without"
        )
    of_b = {variant["name"]: variant for variant in b["variants"]}
    machines = []
    for before in a["variants"]:
        after = of_b.get(before["name"])
        if after is None:
            continue
        x, y = _objects(before), _objects(after)
        nothing = {"hitm": 0.0, "cycles": 0.0, "lines": 0.0}
        rows: list[dict[str, Any]] = [
            {"object": name, "a": x.get(name, nothing), "b": y.get(name, nothing)}
            for name in dict.fromkeys([*x, *y])
        ]
        rows.sort(key=lambda row: -abs(row["b"]["cycles"] - row["a"]["cycles"]))
        machines.append(
            {
                "machine": before["name"],
                "work_cycles": {"a": before["work_cycles"], "b": after["work_cycles"]},
                "hitm": {"a": before["hitm_total"], "b": after["hitm_total"]},
                "objects": rows,
            }
        )
    if not machines:
        raise UserError(f"{a_name} and {b_name} have no machine in common")
    return {"format": DIFF, "a": a_name, "b": b_name, "machines": machines}


def diff_files(a: Path, b: Path) -> dict[str, Any]:
    """Return the comparison of two saved files."""
    return diff(load_recording(a), load_recording(b), str(a), str(b))


def _change(a: float, b: float) -> str:
    return f"{(b - a) / a:+.1%}" if a else ("new" if b else "-")


def diff_view(data: Mapping[str, Any]) -> RenderableType:
    """Return one table per machine."""
    sheets = []
    for each in data["machines"]:
        numbers = ("HITM A", "HITM B", "cycles A", "cycles B", "change")
        made = Sheet(
            f"{each['machine']}: A {data['a']}, B {data['b']}", "object", *numbers, right=numbers
        )
        work = each["work_cycles"]
        made.add_row(
            "all of the program", f"{each['hitm']['a']:,}", f"{each['hitm']['b']:,}",
            significant(work["a"]), significant(work["b"]), _change(work["a"], work["b"]),
        )  # fmt: skip
        for row in each["objects"]:
            a, b = row["a"], row["b"]
            made.add_row(
                row["object"], f"{a['hitm']:,.0f}", f"{b['hitm']:,.0f}", significant(a["cycles"]),
                significant(b["cycles"]), _change(a["cycles"], b["cycles"]),
            )  # fmt: skip
        sheets.append(made)
    return Group(*sheets)
