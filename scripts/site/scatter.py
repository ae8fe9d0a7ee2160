# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The plot of docs/results/fidelity.md, one dot per point: scripts/fidelity.py writes it."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from schedshard.experiments.model_error import Residual, words

PLOT = Path(__file__).resolve().parents[2] / "docs/pictures/fidelity.svg"
TITLE = "Measured against predicted, one dot per point"
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f",
           "#bcbd22", "#17becf")  # fmt: skip
LEFT, TOP, DECADE = 90, 40, 90  # of the plot's corner, and of a factor of 10
LEAST, MOST = 0.5, 200000
SIZE = DECADE * math.log10(MOST / LEAST)


def x(ns: float) -> str:
    """Return where a prediction stands."""
    return f"{LEFT + DECADE * math.log10(ns / LEAST):.1f}"


def y(ns: float) -> str:
    """Return where a measurement stands."""
    return f"{TOP + SIZE - DECADE * math.log10(ns / LEAST):.1f}"


def diagonal(factor: float, style: str) -> str:
    """Return the line on which a measurement is this factor times its prediction."""
    low, high = max(LEAST, LEAST / factor), min(MOST, MOST / factor)
    return f'<path d="M{x(low)} {y(low * factor)}L{x(high)} {y(high * factor)}" {style}/>'


def drawn(known: Sequence[Residual]) -> str:
    """Return the plot as SVG: a path of dots for each curve, in the colour of its kind."""
    width, height = LEFT + SIZE + 20, TOP + SIZE + 60
    colours = dict(zip(sorted({one.kind for one in known}), COLOURS, strict=False))
    parts = [
        f'<text x="10" y="24" font-size="15">{TITLE}</text>',
        f'<rect x="{LEFT}" y="{TOP}" width="{SIZE:g}" height="{SIZE:g}" fill="none" '
        'stroke="#222222"/>',
    ]
    for ns in (1, 10, 100, 1000, 10000, 100000):
        parts += [
            f'<text x="{x(ns)}" y="{TOP + SIZE + 20:g}" text-anchor="middle">{ns:,}</text>',
            f'<text x="{LEFT - 8}" y="{float(y(ns)) + 5:g}" text-anchor="end">{ns:,}</text>',
        ]
    middle = TOP + SIZE / 2
    parts += [
        f'<text x="{LEFT + SIZE / 2:g}" y="{TOP + SIZE + 46:g}" text-anchor="middle">'
        "predicted, ns per operation</text>",
        f'<text x="24" y="{middle:g}" text-anchor="middle" '
        f'transform="rotate(-90 24 {middle:g})">measured, ns per operation</text>',
        diagonal(1, 'stroke="#222222"'),
        *(diagonal(one, 'stroke="#222222" stroke-dasharray="2 3"') for one in (0.5, 2)),
    ]
    for at, (kind, colour) in enumerate(colours.items()):
        low = TOP + 18 + 18 * at
        parts.append(f'<circle cx="{LEFT + 14}" cy="{low}" r="3" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + 24}" y="{low + 4}">{html.escape(words(kind))}</text>')
    for (_, kind), mine in groupby(known, key=lambda one: (one.curve, one.kind)):
        dots = "".join(f"M{x(one.predicted)} {y(one.measured)}h0" for one in mine)
        parts.append(
            f'<path d="{dots}" stroke="{colours[kind]}" stroke-width="5" stroke-linecap="round"/>'
        )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" font-family="sans-serif" font-size="13" '
            'fill="#222222">',
            "<!-- SPDX-License-Identifier: (MIT OR GPL-2.0-only) -->",
            f"<title>{TITLE}</title>",
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )
