# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stage reproduce, the part that measures, prints and writes files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from schedshard.bench import BenchRequest, bench
from schedshard.c2c import C2cRequest, c2c, find_names
from schedshard.errors import UserError, os_reason
from schedshard.output import check_writable, to_json, write_atomic
from schedshard.paths import shown
from schedshard.progress import ticking, working
from schedshard.report import ReportRequest, render
from schedshard.reproduce import ReproduceRequest, execute_all, plan_reproduce, sentence
from schedshard.result import is_curve
from schedshard.tables import bench_tables, comparison_table, run_tables, topo_view
from schedshard.topo import TopoRequest, topo


def _heading(text: str) -> Text:
    return Text(f"\n{text}\n", style="bold underline")


def reproduce_all(
    request: ReproduceRequest, out: Path, show: Callable[[RenderableType], None]
) -> None:
    """Measure, simulate, print, and write DIR/report.html with one JSON file a result."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make directory {out}: {os_reason(error)}") from error
    page = out / "report.html"
    check_writable(page)
    plans = plan_reproduce(request)
    host = topo(TopoRequest())
    with working("measuring the structures on this host's CPUs"):
        measured = bench(BenchRequest(quick=True))
    with ticking("simulating", sum(len(plan.points) for plan in plans)) as tick:
        results = execute_all(plans, tick)
    main, *others = [result for result in results if not is_curve(result)]
    curves = [result for result in results if is_curve(result)]
    said = sentence(main)

    show(_heading("This host"))
    show(topo_view(host))
    show(_heading("The structures on this host's CPUs (measured)"))
    show(bench_tables(measured))
    show(_heading("The contended counter"))
    for curve in curves:
        show(run_tables(curve))
    show(_heading("The yield experiment"))
    show(run_tables(main))
    show(comparison_table("The same on other machines (all of it predicted)", others))
    show(Text(f"\n{said}\n", style="bold"))

    lines = C2cRequest(main, lines=2)
    request_page = ReportRequest(
        (main, *others, *curves, host, measured),
        title="schedshard: predicted, published, measured",
        sentence=said,
        c2c=c2c(lines, find_names(lines)),
    )
    for result in results:
        _save(result, out / f"{result['experiment']}-{result['machine']['name']}.json")
    _save(measured, out / "bench.json")
    _save(host, out / "topology.json")
    write_atomic(page, render(request_page))
    print(f"report: {shown(page)}", file=sys.stderr)


def _save(result: dict[str, Any], path: Path) -> None:
    write_atomic(path, to_json(result))
