# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Results pages begin with findings and a chart, and each chart shows its page's table."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import charts
import pytest
import scatter

from schedshard.common.paths import ROOT
from schedshard.experiments.model_error import known_residuals


def test_results_begin_with_the_models_errors() -> None:
    """Intervals of the tables contain the errors, and charts show the tables."""
    shown = subprocess.run(
        ["make", "--dry-run", "results"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    made = [name for name in re.findall(r"scripts/(\S+)\.py", shown) if name != "check"]
    assert made == ["fidelity", "result_tables", "site/charts"]


def test_charts_are_those_of_their_tables() -> None:
    """If this fails after `make results`, run python3 scripts/site/charts.py."""
    for path, text in charts.charts().items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_the_plot_has_a_dot_per_residual() -> None:
    """If this fails after residuals changed, run `make fidelity`."""
    text = scatter.PLOT.read_text(encoding="utf-8")
    assert text == scatter.drawn(known_residuals())
    assert text.count("h0") == len(known_residuals())


def test_a_chart_shows_rows_or_columns_of_a_table() -> None:
    by_page = {chart.page: chart for chart in charts.CHARTS}
    lines = dict(charts.series(by_page["global-lines"]))
    assert list(lines) == ["10 us", "none"]
    page = (ROOT / "docs/results/global-lines.md").read_text(encoding="utf-8")
    for found in lines.values():
        assert [name for name, _ in found] == ["one counter", "a line for each cache"]
        assert all(f"{value:g}" in page for _, value in found)
    frames = dict(charts.series(by_page["rt"]))
    assert frames["walks"][0] == ("frames/s, published", None)
    assert [name for name, _ in frames["pad"]] == list(by_page["rt"].rows)


@pytest.mark.parametrize("page", sorted((ROOT / "docs/results").glob("*.md")), ids=lambda p: p.stem)
def test_a_results_page_begins_with_its_findings_and_a_plot(page: Path) -> None:
    """A page begins with a title, about three sentences and a picture; each folded part ends."""
    text = page.read_text(encoding="utf-8")
    _, title, findings, plot, *_ = text.replace("-->\n", "-->\n\n", 1).split("\n\n")
    assert title.startswith("# ")
    assert 2 <= len(re.findall(r"[.:](?=\s|$)", findings)) <= 5
    assert plot.startswith("![")
    opened, closed = text.count('<details markdown="1">\n<summary>'), text.count("\n</details>\n")
    assert opened == closed == text.count("<details") == text.count("</details")
