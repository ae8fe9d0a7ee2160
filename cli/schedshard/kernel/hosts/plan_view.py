# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows the result of a plan's trial, a row per phase."""

from rich.console import RenderableType

from schedshard.kernel.hosts.plan_trial import Tried, missing_domains, spans
from schedshard.show.sheet import Sheet


def plan_view(tried: Tried) -> RenderableType:
    """Return the table for a terminal."""
    sheet = Sheet(
        f"A plan in a small Debian ({tried.trial.suite}); planned root domains: "
        f"{' '.join(tried.planned) or 'none'}",
        "phase", "seconds", "right", "wrong", "root domains", "undone",
    )  # fmt: skip
    for phase, said in tried.said.items():
        right = sum(": right: " in line for line in said)
        wrong = sum(line.startswith("wrong: ") for line in said)
        undone = [line for line in said if line.startswith("undone: ")]
        planned = len(tried.planned) if phase != "collect" else 0
        made = planned - len(missing_domains(tried.planned, spans(said))) if planned else 0
        sheet.add_row(
            phase, f"{tried.seconds[phase]:.0f}", str(right), str(wrong),
            f"{made} of {planned}" if planned else "", "; ".join(undone).replace("undone: ", ""),
        )  # fmt: skip
    return sheet
