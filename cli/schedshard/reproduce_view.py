# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stage reproduce, the part that measures, prints and writes files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from schedshard.bench import BenchRequest, bench
from schedshard.c2c import C2cRequest, c2c, find_names, of_all_variants
from schedshard.errors import UserError, os_reason
from schedshard.figures import is_figures
from schedshard.output import check_writable, to_json, write_atomic
from schedshard.paths import shown
from schedshard.progress import ticking, working
from schedshard.report import ReportRequest, render
from schedshard.reproduce import (
    READS,
    SCAN,
    YIELD,
    ReproduceRequest,
    execute_all,
    plan_reproduce,
    samples,
    sentence,
)
from schedshard.result import is_curve
from schedshard.tables import (
    bench_headlines,
    bench_tables,
    comparison_table,
    run_tables,
    topo_view,
)
from schedshard.topo import TopoRequest, topo
from schedshard.uncertainty import with_intervals


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
    with TemporaryDirectory(prefix="schedshard-") as directory:
        for plan, result in zip(plans, results, strict=True):
            if count := samples(request, plan):
                with_intervals(plan.request, result, count, Path(directory), ticking)
    main, *others = [result for result in results if result["experiment"] == YIELD]
    reads = [result for result in results if result["experiment"] == READS]
    curves = [result for result in results if is_curve(result)]
    scans = [result for result in results if result["experiment"] == SCAN]
    rt = [result for result in results if is_figures(result) and result not in scans]
    said = sentence(main)

    show(_heading("This host"))
    show(topo_view(host))
    show(_heading("The structures on this host's CPUs (measured)"))
    show(bench_tables({**measured, "rows": bench_headlines(measured["rows"])}))
    show(Text(f"all of it: {shown(page)} or ./schedshard bench"))
    show(_heading("The contended counter"))
    for curve in curves:
        show(run_tables(curve))
    show(_heading("The yield experiment"))
    show(run_tables(main))
    show(Text(""))
    show(comparison_table("The same on other machines (all of it predicted)", others))
    for result in reads:
        show(Text(""))
        show(run_tables(result))
    if scans:
        show(_heading("Cache-aware scheduling: where a process has been"))
    for result in scans:
        show(run_tables(result))
    if rt:
        show(_heading("The RT scheduler's global state"))
    for result in rt:
        show(run_tables(result))
        show(Text(""))
    show(Text(f"\n{said}\n", style="bold"))

    lines = [C2cRequest(main, lines=2), *(of_all_variants(r) for r in [*rt, *scans])]
    request_page = ReportRequest(
        (main, *others, *reads, *rt, *scans, *curves, host, measured),
        title="schedshard: predicted, published, measured",
        sentence=said,
        c2c=tuple(c2c(request, find_names(request)) for request in lines),
    )
    for result in results:
        _save(result, out / f"{result['experiment']}-{result['machine']['name']}.json")
    _save(measured, out / "bench.json")
    _save(host, out / "topology.json")
    write_atomic(page, render(request_page))
    print(f"report: {shown(page)}", file=sys.stderr)


def _save(result: dict[str, Any], path: Path) -> None:
    write_atomic(path, to_json(result))
