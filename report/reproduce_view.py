# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Prints the results of the stage reproduce, and writes their files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from common.output import check_writable, make_directory, to_json, write_atomic
from common.paths import shown
from common.progress import ticking
from common.show.page import Lead
from model.results.run import Bars, Curve, Figures, Result
from model.run.run import RunPlan
from model.tables.leads import bars_lead
from model.tables.results import comparison_table, run_tables
from record.lines.report import C2cRequest, c2c, find_names
from report.report import lines_of, render
from report.reproduce import (
    SCAN,
    YIELD,
    ReproduceRequest,
    file_name,
    plan_reproduce,
    point_count,
    sentence,
    simulated,
)


def _heading(text: str) -> Text:
    return Text(f"\n{text}\n", style="bold underline")


@dataclass(frozen=True)
class _Results:
    """Results by experiment; ``main`` is the yield experiment on the first machine."""

    main: Bars
    others: list[Bars]
    curves: list[Result]
    scans: list[Result]
    rt: list[Result]

    @classmethod
    def of(cls, results: Sequence[Result]) -> _Results:
        main, *others = [
            result for result in results if result.experiment == YIELD and isinstance(result, Bars)
        ]
        scans = [result for result in results if result.experiment == SCAN]
        return cls(
            main,
            others,
            [result for result in results if isinstance(result, Curve)],
            scans,
            [result for result in results if isinstance(result, Figures) and result not in scans],
        )


def _simulated(
    request: ReproduceRequest,
    plans: Sequence[RunPlan],
    out: Path,
    show: Callable[[RenderableType], None],
) -> list[Result]:
    """Run all plans under one progress bar, and save each result before the next plan begins.

    The first result is that of the headline, which is shown at once: the others take minutes.
    """
    results: list[Result] = []

    def headline(result: Result) -> None:
        if not results and isinstance(result, Bars):
            show(Text(f"{sentence(result)}\n", style="bold"))
            sys.stdout.flush()

    with ticking("simulating", point_count(request, plans)) as tick:
        for result in simulated(request, plans, tick, headline):
            _save(result, out / file_name(result))
            results.append(result)
    return results


def _tables(results: _Results) -> Iterator[RenderableType]:
    yield _heading("The contended counter")
    for curve in results.curves:
        yield run_tables(curve)
    yield _heading("The yield experiment")
    yield run_tables(results.main)
    yield Text("")
    yield comparison_table("The same on other machines (all of it predicted)", results.others)
    if results.scans:
        yield _heading("Cache-aware scheduling: where a process has been")
    for result in results.scans:
        yield run_tables(result)
    if results.rt:
        yield _heading("The RT scheduler's global state")
    for result in results.rt:
        yield run_tables(result)
        yield Text("")


def reproduce_all(
    request: ReproduceRequest, out: Path, show: Callable[[RenderableType], None]
) -> None:
    """Simulate, print, and write to ``out`` a page and one JSON file per result."""
    make_directory(out)
    page = out / "report.html"
    check_writable(page)
    plans = plan_reproduce(request)
    results = _simulated(request, plans, out, show)
    grouped = _Results.of(results)

    for table in _tables(grouped):
        show(table)

    main = grouped.main
    lead = Lead(
        "What do others publish, and what does the simulated machine predict for it?",
        sentence(main),
        bars_lead(main).interval,
    )
    hottest = C2cRequest(main, lines=2)
    lines = c2c(hottest, find_names(hottest))
    saved = [*results, lines, *lines_of(results)]
    write_atomic(page, render(saved, "schedshard: predicted and published", lead))
    print(f"report: {shown(page)}", file=sys.stderr)


def _save(result: Result, path: Path) -> None:
    write_atomic(path, to_json(result))
