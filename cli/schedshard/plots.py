# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plots of results as SVG: same bytes for same numbers, no reference to anything outside."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from schedshard.format import compact, percent

INK = "#1f2933"
QUIET = "#9aa5b1"
PUBLISHED = "#1f2933"
PALETTE = (
    "#2f6db3",
    "#d9822b",
    "#3a9a6b",
    "#b5476d",
    "#7a5cb8",
    "#1795a6",
    "#a0812b",
    "#5b6b7b",
)
VARIANT_COLOURS = {
    "global": "#b5302b",
    "atomic": "#b5302b",
    "node": "#d9822b",
    "llc": "#2f6db3",
    "llc-byte": "#1795a6",
    "sbm": "#3a9a6b",
    "sharded": "#3a9a6b",
    "sbm-summary": "#7a5cb8",
    "stock": "#b5302b",
    "pad": "#d9822b",
    "split": "#e0b43a",
    "relayout": "#b5476d",
    "node-count": "#7a5cb8",
    "node-mask": "#1795a6",
    "series": "#2f6db3",
    "llc-count": "#8c6d46",
    "sbm-bits": "#1f2933",
    "shard": "#3a9a6b",
    "partition": "#5b6b7b",
}
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
RC: Any = {
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "grid.color": "#e4e7eb",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "schedshard",
}


def variant_colour(name: str, index: int) -> str:
    """The colour of a variant, the same in every plot."""
    return VARIANT_COLOURS.get(name, PALETTE[index % len(PALETTE)])


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as SVG or PNG, without date, creator or other outside reference."""
    buffer = io.BytesIO()
    with mpl.rc_context(RC):
        metadata: dict[str, Any] = (
            {"Date": None, "Creator": None, "Type": None, "Format": None}
            if kind == "svg"
            else {"Software": None}
        )
        figure.savefig(buffer, format=kind, dpi=160, metadata=metadata, facecolor="white")
    return buffer.getvalue()


def inline(figure: Figure, title: str) -> str:
    """A figure as an SVG element for an HTML page: no prolog, no name spaces, a title for readers.

    A page's parser knows SVG's name spaces by itself, and without them the page holds no address.
    """
    svg = figure_bytes(figure, "svg").decode("utf-8")
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r'(<svg[^>]*?)\s+height="[^"]*"', r"\1", svg, count=1)
    # Never larger than it was drawn: small pictures stay small on wide screens.
    svg = re.sub(r'(<svg[^>]*?)\s+width="([^"]*)"', r'\1 style="max-width:\2"', svg, count=1)
    safe = title.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return svg.replace("<svg", f'<svg role="img" aria-label="{safe}"', 1).strip()


def blank_figure(width: float, height: float) -> Figure:
    """A figure of that many inches."""
    with mpl.rc_context(RC):
        return Figure(figsize=(width, height), layout="constrained")


def style(axes: Axes, axis: str) -> None:
    """A light grid behind the data, along one axis or both."""
    axes.grid(True, axis="x" if axis == "x" else "y" if axis == "y" else "both", linewidth=0.6)
    axes.set_axisbelow(True)


def yield_bars(result: dict[str, Any]) -> Figure:
    """Predicted beside published cost relative to the baseline, on a log scale."""
    variants = [v for v in result["variants"] if v.get("relative")]
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 0.62 * len(variants) + 1.2)
        axes = figure.add_subplot()
        low = min(value for v in variants for value in (v["relative"], v.get("published")) if value)
        for index, variant in enumerate(variants):
            colour = variant_colour(variant["name"], index)
            published = variant.get("published")
            offset = 0.19 if published else 0.0
            axes.barh(index - offset, variant["relative"], 0.36, color=colour, zorder=2)
            axes.text(
                variant["relative"] * 1.06, index - offset, percent(variant["relative"]),
                va="center", fontsize=8,
            )  # fmt: skip
            if published:
                axes.barh(
                    index + offset, published, 0.36, facecolor="white", edgecolor=PUBLISHED,
                    linewidth=0.9, hatch="////", zorder=2,
                )  # fmt: skip
                axes.text(
                    published * 1.06, index + offset, f"{percent(published)} published",
                    va="center", fontsize=8,
                )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlim(low / 2.5, 4.0)
        axes.set_yticks(range(len(variants)), [v["title"] for v in variants])
        axes.invert_yaxis()
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x * 100:g}%"))
        axes.set_xlabel(f"cycles per operation, relative to '{result['baseline']}' (log scale)")
        style(axes, "x")
    return figure


def machine_dots(results: Sequence[dict[str, Any]]) -> Figure:
    """Nanoseconds an operation of every variant on every machine, on a log scale."""
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 0.46 * len(results) + 1.5)
        axes = figure.add_subplot()
        names: dict[str, str] = {}
        for row, result in enumerate(results):
            values = [v["ns_per_op"] for v in result["variants"]]
            # Variants of equal cost stay apart by a little height each.
            step = 0.4 / max(1, len(values) - 1)
            axes.plot([min(values), max(values)], [row, row], color="#cbd2d9", lw=2, zorder=1)
            for index, variant in enumerate(result["variants"]):
                names.setdefault(variant["name"], variant["title"])
                axes.plot(
                    variant["ns_per_op"], row - 0.2 + index * step,
                    MARKERS[index % len(MARKERS)],
                    color=variant_colour(variant["name"], index), markersize=7,
                    markeredgecolor="white", markeredgewidth=0.7, zorder=3,
                )  # fmt: skip
        axes.set_xscale("log")
        labels = [
            f"{r['machine']['name']}\n{r['cpus']} CPUs, {r['machine']['kind']}" for r in results
        ]
        axes.set_yticks(range(len(results)), labels, fontsize=8)
        axes.set_ylim(len(results) - 0.4, -0.6)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: compact(x)))
        axes.set_xlabel("predicted ns per operation, all CPUs at once (log scale)")
        handles = [
            Line2D([], [], marker=MARKERS[i % len(MARKERS)], linestyle="", markersize=7,
                   color=variant_colour(name, i), label=title)
            for i, (name, title) in enumerate(names.items())
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside upper left", ncols=3, fontsize=8)
        style(axes, "x")
    return figure


def thread_axis(axes: Axes, largest: int) -> None:
    """Ticks at the powers of two."""
    ticks = [n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096) if n <= largest]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def curve(result: dict[str, Any]) -> Figure:
    """Time of an operation over the number of threads, predicted and published, and the error."""
    published = [
        point
        for variant in result["variants"]
        for point in variant["points"]
        if "published" in point
    ]
    with mpl.rc_context(RC):
        figure = blank_figure(8.2, 5.6 if published else 4.0)
        if published:
            axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.2))
        else:
            axes, below = figure.add_subplot(), None
        if published:
            threads = [point["threads"] for point in published]
            axes.fill_between(
                threads,
                [point["published_low"] for point in published],
                [point["published_high"] for point in published],
                color="#cbd2d9", linewidth=0, label="published, smallest to largest thread",
            )  # fmt: skip
            axes.plot(
                threads, [p["published"] for p in published], color=PUBLISHED, lw=1.2,
                label="published, mean",
            )  # fmt: skip
        largest = 1
        for index, variant in enumerate(result["variants"]):
            points = variant["points"]
            largest = max(largest, *(point["threads"] for point in points))
            axes.plot(
                [point["threads"] for point in points], [point["ns_per_op"] for point in points],
                MARKERS[index % len(MARKERS)] + "-", markersize=4, lw=1,
                color=variant_colour(variant["name"], index),
                label=f"predicted, {variant['title']}",
            )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: compact(y)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel("ns per operation (log)")
        axes.legend(loc="upper left", fontsize=8)
        style(axes, "both")
        if below is None:
            thread_axis(axes, largest)
            axes.set_xlabel("threads (log scale)")
            return figure
        accept = result.get("published", {}).get("accept", {})
        for limit, shade in ((accept.get("worst"), "#eef1f4"), (accept.get("median"), "#dde3ea")):
            if limit:
                below.axhspan(-100 * limit, 100 * limit, color=shade, linewidth=0)
        below.axhline(0, color=QUIET, lw=0.8)
        below.plot(
            [p["threads"] for p in published], [100 * p["error"] for p in published], "o-",
            markersize=4, lw=1, color=VARIANT_COLOURS["atomic"],
        )  # fmt: skip
        below.set_ylabel("error, %")
        below.set_xlabel("threads (log scale)")
        edge = max(45.0, *(abs(100 * p["error"]) * 1.1 for p in published))
        below.set_ylim(-edge, edge)
        thread_axis(below, largest)
        style(below, "y")
    return figure
