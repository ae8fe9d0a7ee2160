# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write the table of docs/results/measured.md from the trials in machines/trials/."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from trial.form import Trial, load_trial  # noqa: E402
from trial.page import headline  # noqa: E402

PAGE = ROOT / "docs/results/measured.md"
TRIALS = ROOT / "machines/trials"
BEGIN, END = "<!-- table: measured -->\n", "<!-- end of table -->"
EMPTY = "This table is empty: nobody has sent a [trial](../trial.md) yet."


def table(trials: Sequence[tuple[str, Trial]]) -> str:
    """Return the table of named trials, or the sentence that there is none."""
    if not trials:
        return f"{EMPTY}\n"
    rows = [
        f"| {name} | {each.host.processor.replace('|', '/')} | {len(each.host.cpus)} | "
        f"{each.kernels[0].release} | {headline(each)} |"
        for name, each in trials
    ]
    return "\n".join(
        ["| trial | processor | CPUs | kernel | |", "|---|---|---|---|---|", *rows, ""]
    )


def page(text: str, trials: Sequence[tuple[str, Trial]]) -> str:
    """Return a page's text with the table of the trials."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table(trials) + END + rest.partition(END)[2]


def main() -> None:
    """Write the page."""
    trials = [(path.stem, load_trial(path)) for path in sorted(TRIALS.glob("*.json"))]
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), trials), encoding="utf-8")


if __name__ == "__main__":
    main()
