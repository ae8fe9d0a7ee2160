# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The bars at the top of the results pages: python3 scripts/site/charts.py writes them.

Each chart shows one table of its page, by the numbers that the page has. So it cannot differ from
the table: a test draws it again. A cell's first number is its value.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "docs/results"
INK, COLOURS = "#222222", ("#1a5fb4", "#b3261e")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
LABELS, BARS, BAR, GAP = 320, 480, 18, 12


@dataclass(frozen=True)
class Chart:
    """Which cells of which table; bars are columns of its rows, or rows of its columns."""

    page: str
    head: str  # what the table's first line contains
    title: str
    rows: tuple[str, ...] = ()  # these rows, by their first or second cell, a bar for each column
    without: tuple[str, ...] = ()  # but not for these columns
    columns: tuple[str, ...] = ()  # or these columns, a bar for each of the rows, or for each row
    source: str = ""  # the page with the table, if it has another name


CHARTS = (
    Chart(
        "yield",
        "| published | predicted | error |",
        "Cost of setting a CPU's bit, % of one mask for 256 CPUs",
        columns=("published", "predicted"),
        source="../results",
    ),
    Chart(
        "rt",
        "| walks |",
        "Frames per second of FFmpeg on 480 CPUs, % of stock",
        rows=("frames/s, published", "frames/s, predicted, clusters"),
    ),
    Chart(
        "idle",
        "| prototype, from first |",
        "Cycles spent on the idle set, of 1,000 busy ones (predicted)",
        rows=("all of the set, of 1,000 busy cycles, under-loaded",),
    ),
    Chart(
        "visited",
        "| full | node | Linux 7.3 |",
        "Cycles per scan on 384 CPUs, a load like redis (predicted)",
        rows=("redis: cycles per scan",),
    ),
    Chart(
        "kernel",
        "| `pi-apart` |",
        "Wake-ups per virtual millisecond on 64 emulated CPUs (predicted)",
        columns=("`cyclic-dense`",),
    ),
    Chart(
        "kernel-tests",
        "| rounds |",
        "Rounds in which an RT task waited behind a deadline task, %",
        columns=("share",),
    ),
    Chart(
        "doctor-hosts",
        "| outcome |",
        "What doctor says of archives and profiles, counted",
        columns=("archives", "profiles"),
    ),
    Chart(
        "global-lines",
        "| one counter |",
        "Microseconds for an operation and the work after it, 480 CPUs (predicted)",
        rows=("10 us", "none"),
        columns=("one counter", "a line for each cache"),
    ),
    Chart(
        "pools",
        "| two steps, cap 64 |",
        "Nanoseconds to claim an object and put it back, 480 threads (predicted)",
        rows=("480",),
        without=("threads",),
    ),
    Chart(
        "simulator",
        "| `cpumask-yield` global |",
        "Host instructions per simulated access",
        columns=("`cpumask-yield` global", "`ffmpeg-rt` stock"),
    ),
)


def cells(line: str) -> list[str]:
    """Return the cells of a table's row."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number(cell: str) -> float | None:
    """Return the first number of a cell, if there is one."""
    found = NUMBER.search(cell)
    return float(found[0].replace(",", "")) if found else None


def table(chart: Chart) -> list[list[str]]:
    """Return the table's rows, its head first."""
    lines = (RESULTS / f"{chart.source or chart.page}.md").read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("|") and chart.head in line)
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append(cells(line))
    return [rows[0], *rows[2:]]


def series(chart: Chart) -> list[tuple[str, list[tuple[str, float | None]]]]:
    """Return names of bars, each with the values of its groups by their names."""
    head, *rows = table(chart)
    if chart.columns:
        places = {name: head.index(name) for name in chart.columns}
        wanted = [row for row in rows if not chart.rows or row[0] in chart.rows]
        return [
            (row[0], [(name, number(row[at])) for name, at in places.items()]) for row in wanted
        ]
    chosen = {name: next(row for row in rows if name in row[:2]) for name in chart.rows}
    return [
        (name, [(row, number(values[at])) for row, values in chosen.items()])
        for at, name in enumerate(head)
        if at and name not in chart.without
    ]


def draw(chart: Chart) -> str:
    """Return the chart as SVG."""
    bars = [(name, [one for one in values if one[1] is not None]) for name, values in series(chart)]
    bars = [(name, values) for name, values in bars if values]
    groups = list(chart.columns or chart.rows)
    most = max(value or 0 for _, values in bars for _, value in values)
    width, top = LABELS + BARS + 110, 40 + (22 if len(groups) > 1 else 0)
    parts = [f'<text x="10" y="24" font-size="15">{html.escape(chart.title)}</text>']
    if len(groups) > 1:
        for at, name in enumerate(groups):
            x = LABELS + at * 260
            parts.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{COLOURS[at]}"/>')
            shown = html.escape(name.strip("`").replace("`", ""))
            parts.append(f'<text x="{x + 18}" y="46">{shown}</text>')
    y = float(top + GAP)
    for name, values in bars:
        middle = y + len(values) * BAR / 2 + 5
        shown = html.escape(name.replace("`", ""))
        parts.append(f'<text x="{LABELS - 10}" y="{middle:g}" text-anchor="end">{shown}</text>')
        for group, value in values:
            long = (value or 0) / most * BARS
            colour = COLOURS[groups.index(group)]
            parts.append(
                f'<rect x="{LABELS}" y="{y:g}" width="{max(long, 1):.1f}" height="{BAR - 2}" '
                f'fill="{colour}"/>'
            )
            parts.append(f'<text x="{LABELS + long + 6:.1f}" y="{y + 13:g}">{value:,.10g}</text>')
            y += BAR
        y += GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y:g}" '
            f'width="{width}" height="{y:g}" font-family="sans-serif" font-size="13" '
            f'fill="{INK}">',
            "<!-- SPDX-License-Identifier: (MIT OR GPL-2.0-only) -->",
            f"<title>{html.escape(chart.title)}</title>",
            f'<rect width="{width}" height="{y:g}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def charts() -> dict[Path, str]:
    """Return all charts by their files."""
    return {RESULTS.parent / f"pictures/{one.page}.svg": draw(one) for one in CHARTS}


if __name__ == "__main__":
    for path, text in charts().items():
        path.write_text(text, encoding="utf-8")
