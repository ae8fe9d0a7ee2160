# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Turns a drawing into PNG with the plotting library, which finds the fonts."""

from __future__ import annotations

import io

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from common.show.drawing import FONT, Drawing, Line, Rect, Words

_POINTS = 72.0


def png(drawing: Drawing) -> bytes:
    """Return a drawing as PNG. The same drawing gives the same bytes."""
    figure = Figure(figsize=(drawing.width / _POINTS, drawing.height / _POINTS))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, drawing.width)
    axes.set_ylim(drawing.height, 0.0)
    for shape in drawing.shapes:
        _draw(axes, shape)
    buffer = io.BytesIO()
    figure.savefig(
        buffer, format="png", dpi=160, metadata={"Software": None}, facecolor="white"
    )  # fmt: skip
    return buffer.getvalue()


def _draw(axes: Axes, shape: Rect | Words | Line) -> None:
    if isinstance(shape, Rect):
        axes.add_patch(
            FancyBboxPatch(
                (shape.x, shape.y), shape.width, shape.height,
                boxstyle=f"round,pad=0,rounding_size={shape.radius}", facecolor=shape.fill,
                edgecolor=shape.edge or "none", linewidth=0.6,
            )
        )  # fmt: skip
    elif isinstance(shape, Words):
        axes.text(
            shape.x, shape.y, shape.text, va="center", ha="center" if shape.centred else "left",
            fontsize=shape.size, color=shape.colour, family=list(FONT),
        )  # fmt: skip
    else:
        axes.plot(
            (shape.x, shape.to_x), (shape.y, shape.to_y), color=shape.colour, linewidth=0.7,
            alpha=0.6,
        )  # fmt: skip
