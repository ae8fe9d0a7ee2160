# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows a replayed run: the machines side by side, then the lines of each."""

from rich.console import Group, RenderableType

from common.show.sheet import Sheet
from model.results.c2c import Replayed
from model.tables.c2c import c2c_tables


def replay_view(report: Replayed) -> RenderableType:
    """Return the view: a row per machine, then the lines."""
    numbers = ("remote HITM", "local HITM", "virtual ms", "busy ms")
    cut = " (PARTIAL: the trace is cut)" if report.partial else ""
    made = Sheet(
        f"{report.experiment}, {report.guest}: predicted{cut}",
        "machine", *numbers, right=numbers,
    )  # fmt: skip
    for variant in report.variants:
        made.add_row(
            variant.name, f"{variant.hitm_remote:,}", f"{variant.hitm_local:,}",
            f"{variant.model.virtual_ns / 1e6:.2f}", f"{variant.model.busy_ns / 1e6:.1f}",
        )  # fmt: skip
    return Group(made, c2c_tables(report))
