# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The plot of a program that was recorded with several numbers of threads."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from common.show.format import compact
from common.show.plots import MARKERS, RC, Plot, blank_figure, style, thread_axis
from common.show.theme import PALETTE
from model.results.c2c import Recorded

# The number of objects drawn: those with the largest share at any number of threads.
_OBJECTS = 5
# The legend cuts longer names.
_LETTERS = 40

_Curve = list[tuple[int, float]]


def _times(report: Recorded) -> dict[str, _Curve]:
    """Return the curves of simulated milliseconds over threads, by machine."""
    found: dict[str, _Curve] = {}
    for variant in report.variants:
        point = (variant.threads or 0, variant.model.virtual_ns / 1e6)
        found.setdefault(str(variant.machine), []).append(point)
    return found


def _shares(report: Recorded) -> dict[str, _Curve]:
    """Return the curves of each object's share of cycles over threads, on the first machine."""
    first = report.variants[0].machine
    found: dict[str, dict[int, float]] = {}
    counts = []
    for variant in report.variants:
        if variant.machine != first:
            continue
        counts.append(variant.threads or 0)
        for line in variant.lines:
            of = found.setdefault(line.object, {})
            of[counts[-1]] = of.get(counts[-1], 0.0) + line.cycle_share
    worst = sorted(found, key=lambda name: (-max(found[name].values()), name))[:_OBJECTS]
    return {name: [(count, found[name].get(count, 0.0)) for count in counts] for name in worst}


def program_scaling(report: Recorded) -> Plot:
    """Draw time over threads on each machine, and on the first one the objects that take it."""
    times, shares = _times(report), _shares(report)
    largest = max(variant.threads or 0 for variant in report.variants)
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 4.2)
        left, right = figure.subplots(1, 2)
        for axes, curves, lower in ((left, times, False), (right, shares, True)):
            for index, (name, points) in enumerate(curves.items()):
                axes.plot(
                    *zip(*points, strict=True), label=name[:_LETTERS], markersize=4, lw=1.2,
                    color=PALETTE[index % len(PALETTE)], marker=MARKERS[index % len(MARKERS)],
                )  # fmt: skip
            axes.set_xscale("log", base=2)
            axes.set_xlabel("threads (log scale)")
            thread_axis(axes, largest)
            style(axes, "both")
            if curves:
                axes.legend(fontsize=7, loc="upper left" if lower else "best")
        left.set_yscale("log")
        left.yaxis.set_major_formatter(FuncFormatter(lambda y, _: compact(y)))
        left.yaxis.set_minor_formatter(NullFormatter())
        left.set_ylabel("predicted ms of the program (log)")
        right.set_ylim(0, 1)
        right.yaxis.set_major_formatter(PercentFormatter(1))
        right.set_ylabel(f"cycles at lines of an object, {report.variants[0].machine}")
    rows = [(name, "ms", *point) for name, points in times.items() for point in points]
    rows += [(name, "share", *point) for name, points in shares.items() for point in points]
    return Plot(figure, ("machine or object", "what", "threads", "value"), rows)
