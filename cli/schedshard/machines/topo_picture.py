# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The picture of a topology: packages, nodes and LLCs as boxes, CPUs coloured by their shard."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from schedshard.common.errors import UserError
from schedshard.common.output import write_atomic
from schedshard.machines.topo import plan_sentence, tree
from schedshard.show.plots import INK, PALETTE, QUIET, Plot, figure_bytes
from schedshard.show.theme import ON_PALE, ON_STRONG, light_text

_HOT = "#a8241d"
_PAD = 0.35
_HEAD = 0.75


class _Box:
    """A rectangle with boxes inside, laid out in rows as square as it gets."""

    def __init__(self, label: str, level: int) -> None:
        self.label = label
        self.level = level
        self.children: list[_Box] = []
        self.cpus: list[tuple[int, int]] = []
        self.width = 0.0
        self.height = 0.0
        self.columns = 1
        self.cores = 0
        self.centres: dict[int, tuple[float, float]] = {}

    def layout(self) -> None:
        """Sizes from the inside out; one CPU is one unit."""
        if self.cpus:
            # Siblings below each other where that is not too wide and they are not neighbours.
            wide = max(8, math.ceil(math.sqrt(len(self.cpus) * 2)))
            fitting = [n for n in range(wide // 2, wide + 1) if self.cores and self.cores % n == 0]
            self.columns = self.cores if 0 < self.cores <= wide else max(fitting, default=wide)
            rows = math.ceil(len(self.cpus) / self.columns)
            self.width = self.columns + 2 * _PAD
            self.height = rows + _PAD + _HEAD
            return
        for child in self.children:
            child.layout()
        widest = max(child.width for child in self.children)
        tallest = max(child.height for child in self.children)
        count = len(self.children)
        self.columns = min(
            range(1, count + 1),
            key=lambda c: (
                abs(math.log((c * widest) / (math.ceil(count / c) * tallest) / 1.8))
                + (math.ceil(count / c) * c - count) / count * 4
            ),
        )
        rows = math.ceil(count / self.columns)
        self.width = self.columns * (widest + _PAD) + _PAD
        self.height = rows * (tallest + _PAD) + _HEAD

    def draw(self, axes: Axes, left: float, top: float, size: float | None) -> None:
        """Draw at an upper left corner; y grows upwards. ``size``: points of CPU numbers."""
        fill = ("#f4f5f7", "#e9ecf1", "#ffffff", "#ffffff")[self.level]
        axes.add_patch(
            FancyBboxPatch(
                (left + 0.06, top - self.height + 0.06),
                self.width - 0.12,
                self.height - 0.12,
                boxstyle="round,pad=0,rounding_size=0.2",
                facecolor=fill,
                edgecolor=QUIET,
                linewidth=0.6,
            )
        )
        axes.text(
            left + _PAD,
            top - _HEAD / 2,
            self.label,
            va="center",
            ha="left",
            fontsize=min(8.0, (size or 3.0) * 1.4),
            color=INK,
        )
        if self.cpus:
            for index, (cpu, shard) in enumerate(self.cpus):
                x = left + _PAD + index % self.columns
                y = top - _HEAD - index // self.columns - 1
                colour = PALETTE[shard % len(PALETTE)]
                self.centres[cpu] = (x + 0.5, y + 0.5)
                axes.add_patch(
                    Rectangle((x + 0.04, y + 0.04), 0.92, 0.92, facecolor=colour, linewidth=0)
                )
                if size is not None:
                    axes.text(
                        x + 0.5, y + 0.5, str(cpu), va="center", ha="center", fontsize=size,
                        color=ON_STRONG if light_text(colour) else ON_PALE,
                    )  # fmt: skip
            return
        widest = max(child.width for child in self.children) + _PAD
        tallest = max(child.height for child in self.children) + _PAD
        for index, child in enumerate(self.children):
            column, row = index % self.columns, index // self.columns
            child.draw(axes, left + _PAD + column * widest, top - _HEAD - row * tallest, size)
            self.centres.update(child.centres)


def _boxes(
    order: Iterable[int], cpus: Sequence[dict[str, Any]], colours: Mapping[int, int]
) -> _Box:
    where = {int(cpu["cpu"]): cpu for cpu in cpus}
    root = _Box("", 0)
    known: dict[tuple[int, ...], _Box] = {(): root}
    for cpu in order:
        path: tuple[int, ...] = ()
        for level, key in enumerate(("package", "node", "llc")):
            parent = known[path]
            path = (*path, int(where[cpu].get(key, -1)))
            if path not in known:
                name = f"{key if key != 'llc' else 'LLC'} {path[-1] if path[-1] >= 0 else '?'}"
                known[path] = _Box(name, level + 1)
                parent.children.append(known[path])
        known[path].cpus.append((cpu, colours[cpu]))
        known[path].cores += int(where[cpu].get("thread", 0)) <= 0
    return root


def drawn(
    cpus: Sequence[dict[str, Any]],
    order: Iterable[int],
    colours: Mapping[int, int],
    title: str,
    caption: str,
    shared: Sequence[Sequence[int]] = (),
    of: str = "shard",
) -> Plot:
    """Draw CPUs in the boxes of their caches, nodes and packages.

    ``colours`` gives the number of each CPU's colour, which is that of its ``of``. The CPUs of each
    set in ``shared`` are tied by lines: they share something.
    """
    order = list(order)
    root = _boxes(order, cpus, colours)
    root.layout()
    root.label = title
    # Inches a CPU: as large as the numbers need, as small as the widest machines demand.
    unit = min(0.42, max(0.17, 7.0 / root.width))
    unit = min(unit, 15.0 / root.width)
    # A small machine's outer box must still hold its title, in letters of about 5 points.
    root.width = max(root.width, 2 * _PAD + len(root.label) * 5 / 72 / unit)
    width = max(root.width, 6.5 / unit)
    figure = Figure(figsize=(width * unit, (root.height + 1.0) * unit))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    # A digit is 0.64 of its height wide.
    digits = len(str(max(order, default=0)))
    small = max(2.5, min(8.0, unit * 72 * min(0.44, 0.9 / (0.64 * digits))))
    root.draw(axes, 0.0, 0.0, small if unit >= 0.12 else None)
    for members in shared:
        _tie(axes, [root.centres[cpu] for cpu in members])
    axes.set_xlim(0.0, width)
    axes.set_ylim(-root.height - 1.0, 0.0)
    axes.text(
        _PAD, -root.height - 0.5, caption,
        fontsize=min(8.0, max(5.0, small * 1.4)), color=INK, va="center",
    )  # fmt: skip
    where = {int(cpu["cpu"]): cpu for cpu in cpus}
    levels = ("package", "node", "llc")
    rows: list[tuple[int | None, ...]] = [
        (cpu, *(_known(where[cpu].get(level)) for level in levels), colours[cpu]) for cpu in order
    ]
    if not shared:
        return Plot(figure, ("cpu", *levels, of), rows)
    ties = {cpu: number for number, members in enumerate(shared) for cpu in members}
    tied = [(*row, ties.get(cpu)) for row, cpu in zip(rows, order, strict=True)]
    return Plot(figure, ("cpu", *levels, of, "hot_line"), tied)


def _known(number: Any) -> int | None:
    """Negative numbers stand for what is not known."""
    return int(number) if number is not None and int(number) >= 0 else None


def _tie(axes: Axes, places: list[tuple[float, float]]) -> None:
    """Draw a line from each place to the middle of all."""
    if len(places) < 2:
        return
    middle = (sum(x for x, _ in places) / len(places), sum(y for _, y in places) / len(places))
    for x, y in places:
        axes.plot((x, middle[0]), (y, middle[1]), color=_HOT, linewidth=0.7, alpha=0.6)
    axes.plot(*middle, marker="o", markersize=4, color=_HOT)


def picture(data: dict[str, Any]) -> Plot:
    """The topology with a colour for each shard as a figure."""
    shards = data["plan"]["shards"]
    return drawn(
        data["cpus"], [cpu for shard in shards for cpu in shard["cpus"]],
        {cpu: shard["shard"] for shard in shards for cpu in shard["cpus"]}, tree(data).label,
        f"one colour a shard: {plan_sentence(data)}",
    )  # fmt: skip


def write_picture(data: dict[str, Any], path: Path) -> None:
    """Write the picture; the file's suffix says which kind."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise UserError(f"--picture {path}: the file name must end in .svg or .png")
    write_atomic(path, figure_bytes(picture(data).figure, kind))
