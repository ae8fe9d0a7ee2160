# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows ways to isolate CPUs, a row per kernel and way."""

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType

from schedshard.kernel.profile.isolation import middle
from schedshard.show.sheet import Sheet


def isolation_view(report: Mapping[str, Any]) -> RenderableType:
    """Return the table for a terminal: medians, and how far the runs lie apart."""
    partial = " (PARTIAL: the run was cut short)" if report["partial"] else ""
    sheet = Sheet(
        f"FIFO threads pinned in groups, by how their CPUs are isolated: predicted for "
        f"{report['machine']}; {report['guest']}; CPUs {' '.join(report['groups'])}{partial}",
        "kernel", "isolation", "runs", "wake-ups per virtual ms", "least", "most", "against none",
        "root domain's lines, other socket", "same socket", "timed out",
        right=(
            "runs", "wake-ups per virtual ms", "least", "most", "against none",
            "root domain's lines, other socket", "same socket", "timed out",
        ),
    )  # fmt: skip
    bases: dict[str, float] = {}
    for row in report["rows"]:
        runs = row["runs"]
        if not runs:
            continue
        rate, least, most = middle(runs, "wake_ups_a_virtual_ms")
        if row["mode"] == "none":
            bases[row["kernel"]] = rate
        base = bases.get(row["kernel"])
        sheet.add_row(
            row["kernel"], row["mode"], str(len(runs)), f"{rate:,.0f}", f"{least:,.0f}",
            f"{most:,.0f}", f"{rate / base:.2f} x" if base else "-",
            f"{middle(runs, 'root_domain_remote')[0]:.3f}",
            f"{middle(runs, 'root_domain_local')[0]:.3f}",
            f"{middle(runs, 'timed_out')[0]:.1%}",
        )  # fmt: skip
    if left_out := len(report["discarded"]):
        sheet.caption = f"without {left_out} runs in which the guest stood still"
    return sheet
