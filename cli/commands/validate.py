# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command validate."""

from pathlib import Path

import click

from cli.commands.options import JSON, LIMIT, OUT, Decorator, deliver

# Exit statuses of validate by outcome.
STATUS = {"agree": 0, "disagree": 4, "host changed": 5}


def _factor(name: str, default: float, words: str) -> Decorator:
    kind = click.FloatRange(min=1)
    target = f"{name.strip('-')}_bound"
    return click.option(
        name, target, type=kind, default=default, show_default=True, metavar="FACTOR", help=words
    )


@click.command()
@click.argument("result", required=False, type=click.Path(path_type=Path))
@_factor("--median", 1.25, "Largest median factor between prediction and measurement.")
@_factor("--worst", 2.0, "Largest factor between a single figure and its prediction.")
@LIMIT
@JSON
@OUT
@click.pass_context
def validate(
    ctx: click.Context,
    result: Path | None,
    median_bound: float,
    worst_bound: float,
    limit: int,
    as_json: bool,
    out: Path | None,
) -> None:
    """Measure this host, predict the same figures, and name the worst disagreement.

    RESULT is a file saved with 'machine validate --out', or with --out of 'bench primitives' or
    'bench ping-pong' on a host with a machine file. Then the command judges the file, and measures
    nothing. Without RESULT it measures this host, and first makes its machine file if there is none
    yet. Each of these takes at most a minute.

    The error of a figure is the factor between the prediction and the nearer end of the
    measurement's spread, which goes from the 10th to the 90th percentile. Exit status: 0 if the
    median and the worst factor are within their bounds, 4 if not. 5: the host no longer matches its
    machine file, so that nothing can be concluded. 2: bad input. 1: a measurement failed.

    The file that --out writes contains the processor's name, the kernel's version, the topology and
    the measurements. It does not name the host or its users (docs/validate.md).
    """
    from msgspec.structs import replace

    from common.formats import LIVE, VALIDATE
    from common.progress import ticking
    from model.live.agreement import BOUNDS, judge, predict
    from model.live.bundle import make_bundle
    from model.live.validate import judged, measure_host
    from model.live.verdict_view import verdict_tables
    from model.results.read import load_data

    data = load_data(result, VALIDATE, LIVE) if result is not None else measure_host(limit)
    bundle = make_bundle(data, str(result) if result is not None else "this host")
    points = sum(len(result.points) for result in bundle.measured)
    with ticking("predicting", points) as tick:
        rows = predict(bundle, tick)
    verdict = judge(rows, replace(BOUNDS, median=median_bound, worst=worst_bound))
    deliver(
        judged(data, verdict), as_json, out, verdict_tables(verdict, bundle.host, bundle.source)
    )
    ctx.exit(STATUS[verdict.outcome])
