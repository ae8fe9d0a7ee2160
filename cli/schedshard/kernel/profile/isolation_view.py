# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows ways to isolate CPUs, a row per kernel and way."""

from statistics import median

from rich.console import RenderableType

from schedshard.kernel.profile.isolation import Isolation
from schedshard.show.sheet import Sheet


def isolation_view(report: Isolation) -> RenderableType:
    """Return the table for a terminal: medians, and how far the runs lie apart."""
    partial = " (PARTIAL: the run was cut short)" if report.partial else ""
    sheet = Sheet(
        f"FIFO threads pinned in groups, by how their CPUs are isolated: predicted for "
        f"{report.machine}; {report.guest}; CPUs {' '.join(report.groups)}{partial}",
        "kernel", "isolation", "runs", "wake-ups per virtual ms", "least", "most", "against none",
        "root domain's lines, other socket", "same socket", "timed out",
        right=(
            "runs", "wake-ups per virtual ms", "least", "most", "against none",
            "root domain's lines, other socket", "same socket", "timed out",
        ),
    )  # fmt: skip
    bases: dict[str, float] = {}
    for row in report.rows:
        if not row.runs:
            continue
        rates = [run.wake_ups_a_virtual_ms for run in row.runs]
        rate = median(rates)
        if row.mode == "none":
            bases[row.kernel] = rate
        base = bases.get(row.kernel)
        sheet.add_row(
            row.kernel, row.mode, str(len(rates)), f"{rate:,.0f}", f"{min(rates):,.0f}",
            f"{max(rates):,.0f}", f"{rate / base:.2f} x" if base else "-",
            f"{median(run.root_domain_remote for run in row.runs):.3f}",
            f"{median(run.root_domain_local for run in row.runs):.3f}",
            f"{median(run.timed_out for run in row.runs):.1%}",
        )  # fmt: skip
    if left_out := len(report.discarded):
        sheet.caption = f"without {left_out} runs in which the guest stood still"
    return sheet
