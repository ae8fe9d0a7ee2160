# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plots the hottest line of a recorded program as memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from common.show.page import Image
from common.show.plots import blank_figure, image

# Longer names are cut.
_LETTERS = 40
# The colours of threads; the eighth is grey, as bytes of several threads are.
_COLOURS = (0, 1, 2, 3, 4, 5, 6, 8, 9)


def memory_picture(
    rows: Sequence[tuple[str, str]], fields: Sequence[tuple[int, int, str]], title: str
) -> Image:
    """Draw lines as memory: a row per line, each byte with the colour of who uses it.

    ``rows``: a label, and a letter per byte (record/report/picture.py). ``fields``: the first byte
    of each, the one behind it, and its name; they stand below the first row.
    """
    figure = blank_figure(0.9 + 0.35 * len(rows))
    axes = figure.subplots()
    for number, (_, letters) in enumerate(rows):
        at, base = 0, -number if number else 0.6
        for letter, run in groupby(letters):
            size = len(list(run))
            shade = {"*": "#b2182b", "+": "#777777", ".": "#eeeeee"}.get(letter)
            axes.broken_barh(
                [(at, size)], (base, 0.6), alpha=0.45 if letter.islower() else 1,
                facecolor=shade or f"C{_COLOURS[ord(letter.lower()) % len(_COLOURS)]}",
            )  # fmt: skip
            if letter != ".":
                axes.text(at + size / 2, base + 0.3, letter, ha="center", va="center", fontsize=7)
            at += size
        axes.vlines(range(1, 64), base, base + 0.6, colors="white", linewidth=0.6)
    for low, _, name in fields:
        axes.text(low, 0.55, name[-_LETTERS:], fontsize=6, va="top", rotation=-15)
    places = [0.9, *(0.3 - number for number in range(1, len(rows)))]
    axes.set_yticks(places, [label for label, _ in rows])
    axes.set_xticks(range(0, 65, 8))
    axes.set_xlim(0, 64)
    axes.set_xlabel(title)
    return image(figure, title)
