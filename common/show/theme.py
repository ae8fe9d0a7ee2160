# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The colours of plots on light and dark paper, and text that is readable on both."""

from __future__ import annotations

import re

WHITE = "#ffffff"
BLACK = "#000000"
INK = "#1f2933"
QUIET = "#9aa5b1"
PALETTE = ("#2f6db3", "#d9822b", "#3a9a6b", "#b5476d", "#7a5cb8", "#1795a6", "#a0812b", "#5b6b7b")
# Text on a coloured box: the box is strong on light paper and pale on dark paper.
ON_STRONG = "#fffffe"
ON_PALE = "#000001"
# Each colour that plots use, and its replacement on dark paper. Paper comes first.
DARK = {
    WHITE: "#161b22",
    "#1f2933": "#dde3ea",
    "#9aa5b1": "#76828f",
    "#e4e7eb": "#2b333d",
    "#cbd2d9": "#3a4450",
    "#dde3ea": "#2f3945",
    "#eef1f4": "#222a33",
    "#f4f5f7": "#1b222a",
    "#e9ecf1": "#232c36",
    "#2f6db3": "#6aa7ea",
    "#d9822b": "#e79a4c",
    "#3a9a6b": "#5cbf8d",
    "#b5476d": "#e07a9d",
    "#7a5cb8": "#a68be6",
    "#1795a6": "#3fbccd",
    "#a0812b": "#c9a84a",
    "#5b6b7b": "#93a3b4",
    "#b5302b": "#ee736c",
    "#b08900": "#e6c04f",
    "#8c6d46": "#bd9a6c",
    "#a8241d": "#f0746c",
    ON_STRONG: "#0b0f14",
    ON_PALE: "#0b0f14",
}
_HEX = re.compile(r"(?<=[:\s])#([0-9a-f]{6})(?![\w-])")


def luminance(colour: str) -> float:
    """Return the luminance of a colour, from 0 to 1, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def light_text(colour: str) -> bool:
    """Whether white text is easier to read on a colour than black text."""
    return contrast(colour, WHITE) > contrast(colour, BLACK)


def variables(dark: bool) -> str:
    """Return the colours as variables of a style sheet."""
    return " ".join(f"--p{c[1:]}: {d if dark else c};" for c, d in DARK.items())


def themed(svg: str) -> str:
    """Return a picture with a variable for each colour, so that the page chooses light or dark."""
    return _HEX.sub(lambda m: f"var(--p{m[1]})" if m[0] in DARK else m[0], svg)
