# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Formats a comparison as the kernel's test robot does: `%stddev  %change  %stddev`."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group as Together
from rich.console import RenderableType
from rich.text import Text

from common.show.format import significant
from model.run.sweep.compare import SIGNIFICANT

_LEFT, _MIDDLE, _RIGHT = 20, 12, 20
_SLASH = "\\"


def compare_view(data: Mapping[str, Any]) -> RenderableType:
    """Return one block of lines per place: experiment, variant, machine, CPUs and cap."""
    parts: list[RenderableType] = []
    a, b = data["a"]["label"], data["b"]["label"]
    if a == b:
        a, b = "before", "after"
    for place in data["places"]:
        parts.append(Text(_heading(place), style="bold"))
        parts.append(
            Text(
                f"{_cut(a, _LEFT):>{_LEFT}}  {'':{_MIDDLE}}{_cut(b, _RIGHT):>{_RIGHT}}\n"
                f"{'-' * _LEFT}  {'-' * (_MIDDLE + _RIGHT)}\n"
                f"{'%stddev':>{_LEFT}}  {'%change':>{_MIDDLE}}{'%stddev':>{_RIGHT}}\n"
                f"{_SLASH:>{_LEFT}}  {'|':>{_MIDDLE}}{_SLASH:>{_RIGHT}}"
            )
        )
        parts += [_line(row) for row in place["metrics"] if _happened(row)]
        parts.append(Text(""))
    runs = sorted({row[s]["runs"] for p in data["places"] for row in p["metrics"] for s in "ab"})
    note = (
        f"runs per side: {runs[0]}" if len(runs) == 1 else f"runs per side: {runs[0]} to {runs[-1]}"
    )
    if runs[-1] == 1:
        note += "; one run has no %stddev; 'sweep --seeds N' makes several"
    parts.append(
        Text(f"{note}. ~: chance above {SIGNIFICANT:.0%} that nothing changed (Welch's t test)")
    )
    return Together(*parts)


def _happened(row: Mapping[str, Any]) -> bool:
    """Whether a row's metric differs from zero on at least one side."""
    return any(row[side]["mean"] or row[side]["stddev"] for side in "ab")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _heading(place: Mapping[str, Any]) -> str:
    who = f" {place['variant']}" if "variant" in place else ""
    where = f"{place['experiment']}{who} on {place['machine']}"
    return f"{where}, {place['cpus']} CPUs, at most {place['cap']} per shard"


def _value(side: Mapping[str, Any]) -> str:
    spread = side["stddev"]
    mark = f"± {spread * 100:4.1f}%" if spread is not None else " " * 7
    return f"{significant(side['mean'], 4)} {mark}"


def _change(row: Mapping[str, Any]) -> str:
    if row["change"] is None:
        return "-"
    sure = row["p"] is None or row["p"] <= SIGNIFICANT
    return f"{'' if sure else '~ '}{row['change'] * 100:+.1f}%"


def _line(row: Mapping[str, Any]) -> Text:
    return Text(
        f"{_value(row['a']):>{_LEFT}}  {_change(row):>{_MIDDLE}}{_value(row['b']):>{_RIGHT}}"
        f"  {row['metric']}"
    )
