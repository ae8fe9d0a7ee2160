# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The advice of topo --advise on a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from schedshard.advise import BUSY, SEARCHES, Advice, flags
from schedshard.sheet import Sheet


def _cycles(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def advice_view(advice: Advice) -> RenderableType:
    """Return the table of all sizes, and what to set."""
    numbers = ("cores", "set, cycles", "search, cycles", "use, cycles", "lock, ns", "lock busy")
    machine = advice.machine
    table = Sheet(f"CPUs that share a line or a lock: {machine.title}", "CPUs", *numbers,
                  "", right=("CPUs", *numbers))  # fmt: skip
    for each in advice.sizes:
        chosen = [
            name for name, size in (("shard", advice.shard), ("pod", advice.lock)) if size is each
        ]  # fmt: skip
        table.add_row(
            str(each.cpus), str(each.cores), _cycles(each.set_cycles), _cycles(each.search_cycles),
            _cycles(each.per_use), f"{each.lock_ns:,.0f}", f"{each.busy(advice.rate):.1%}",
            f"<- {', '.join(chosen)}" if chosen else "",
        )  # fmt: skip
    lines = [Text(f"{what}: {flag}") for what, flag in flags(advice)]
    return Group(
        table,
        *lines,
        Text(""),
        Text(
            f"predicted on machine file '{machine.name}' ({machine.kind}), one run a size, no "
            "interval"
        ),
        Text(
            f"use: one set and {SEARCHES:.0%} of a search, an assumption. lock busy: at "
            f"{advice.rate:,.0f} operations a second and CPU; a pod is the largest one inside a "
            f"last-level cache whose lock is busy for {BUSY:.0%} at most"
        ),
    )
