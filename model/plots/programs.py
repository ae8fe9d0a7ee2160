# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The plots of a recorded program: over numbers of threads, and its hottest line as memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from common.show.page import Image
from common.show.plots import blank_figure, count_axis, image, marker, number_axis
from model.results.c2c import Recorded

# The number of objects drawn: those with the largest share at any number of threads.
_OBJECTS = 5
# The legend cuts longer names.
_LETTERS = 40
# The colours of threads; the eighth is grey, as bytes of several threads are.
_COLOURS = (0, 1, 2, 3, 4, 5, 6, 8, 9)

_Curve = dict[int, float]


def _times(report: Recorded) -> dict[str, _Curve]:
    """Return the simulated milliseconds over threads, by machine."""
    found: dict[str, _Curve] = {}
    for variant in report.variants:
        of = found.setdefault(str(variant.machine), {})
        of[variant.threads or 0] = variant.model.virtual_ns / 1e6
    return found


def _shares(report: Recorded) -> dict[str, _Curve]:
    """Return each object's share of cycles over threads, on the first machine."""
    mine = [each for each in report.variants if each.machine == report.variants[0].machine]
    found: dict[str, _Curve] = {}
    for variant in mine:
        for line in variant.lines:
            of = found.setdefault(line.object, {each.threads or 0: 0.0 for each in mine})
            of[variant.threads or 0] += line.cycle_share
    worst = sorted(found, key=lambda name: (-max(found[name].values()), name))[:_OBJECTS]
    return {name: found[name] for name in worst}


def program_scaling(report: Recorded) -> Image:
    """Draw time over threads on each machine, and on the first one the objects that take it."""
    figure = blank_figure(4.2)
    left, right = figure.subplots(1, 2)
    for axes, curves in ((left, _times(report)), (right, _shares(report))):
        for index, (name, points) in enumerate(curves.items()):
            axes.plot(
                list(points), list(points.values()), marker(index) + "-", label=name[:_LETTERS],
                markersize=4, linewidth=1,
            )  # fmt: skip
        count_axis(axes, [variant.threads or 0 for variant in report.variants], "threads")
        values = [value for points in curves.values() for value in points.values()]
        number_axis(axes, "y", [] if axes is right else values, percent=axes is right)
        if curves:
            axes.legend(fontsize=7)
    left.set_ylabel("predicted ms of the program")
    right.set_ylim(0, 1)
    right.set_ylabel(f"cycles at lines of an object, {report.variants[0].machine}")
    said = "time of the program over its threads, and the objects for whose lines they wait"
    return image(figure, said)


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
