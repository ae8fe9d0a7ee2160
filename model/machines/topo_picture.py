# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draws a topology: packages, nodes and LLCs as boxes, CPUs coloured by their shard."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from common.errors import UserError
from common.output import write_atomic
from common.show.drawing import Drawing, Line, Rect, Words
from common.show.theme import INK, ON_PALE, ON_STRONG, PALETTE, QUIET, light_text
from model.machines.topo import plan_sentence, tree

if TYPE_CHECKING:
    # Not imported: doctor's single file has this file, and no msgspec.
    from model.results.topo import Cpu, Topo

_HOT = "#a8241d"
_PAD = 0.35
_HEAD = 0.75
_LEVELS = ("package", "node", "llc")


class _Box:
    """A rectangle with boxes inside, in rows that make it nearly square."""

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
        """Compute the sizes from the inside out, in units of one CPU."""
        if self.cpus:
            # Siblings are drawn below each other unless their numbers are adjacent or this is too
            # wide.
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

    def draw(self, drawing: Drawing, left: float, top: float, unit: float, size: float) -> None:
        """Draw the box. ``unit``: points per CPU. ``size``: points of the numbers, 0 for none."""
        fill = ("#f4f5f7", "#e9ecf1", "#ffffff", "#ffffff")[self.level]
        wide, high = self.width - 0.12, self.height - 0.12
        drawing.shapes.append(
            Rect(
                (left + 0.06) * unit, (top + 0.06) * unit, wide * unit, high * unit, fill, QUIET,
                0.2 * unit,
            )
        )  # fmt: skip
        letters = min(8.0, (size or 3.0) * 1.4)
        middle = (top + _HEAD / 2) * unit
        drawing.shapes.append(Words((left + _PAD) * unit, middle, self.label, letters, INK))
        for index, (cpu, shard) in enumerate(self.cpus):
            x, y = left + _PAD + index % self.columns, top + _HEAD + index // self.columns
            centre = ((x + 0.5) * unit, (y + 0.5) * unit)
            self.centres[cpu] = centre
            colour = PALETTE[shard % len(PALETTE)]
            side = 0.92 * unit
            drawing.shapes.append(Rect((x + 0.04) * unit, (y + 0.04) * unit, side, side, colour))
            if size:
                ink = ON_STRONG if light_text(colour) else ON_PALE
                drawing.shapes.append(Words(*centre, str(cpu), size, ink, centred=True))
        if not self.children:
            return
        widest = max(child.width for child in self.children) + _PAD
        tallest = max(child.height for child in self.children) + _PAD
        for index, child in enumerate(self.children):
            column, row = index % self.columns, index // self.columns
            right, down = left + _PAD + column * widest, top + _HEAD + row * tallest
            child.draw(drawing, right, down, unit, size)
            self.centres.update(child.centres)


class Placed(NamedTuple):
    """A CPU and where it is; -1: unknown."""

    cpu: int
    package: int
    node: int
    llc: int
    thread: int = 0


def _boxes(
    order: Iterable[int], where: Mapping[int, Placed | Cpu], colours: Mapping[int, int]
) -> _Box:
    root = _Box("", 0)
    known: dict[tuple[int, ...], _Box] = {(): root}
    for cpu in order:
        path: tuple[int, ...] = ()
        for level, key in enumerate(_LEVELS):
            parent = known[path]
            path = (*path, getattr(where[cpu], key))
            if path not in known:
                name = f"{key if key != 'llc' else 'LLC'} {path[-1] if path[-1] >= 0 else '?'}"
                known[path] = _Box(name, level + 1)
                parent.children.append(known[path])
        known[path].cpus.append((cpu, colours[cpu]))
        known[path].cores += where[cpu].thread <= 0
    return root


def drawn(
    cpus: Sequence[Placed | Cpu],
    order: Iterable[int],
    colours: Mapping[int, int],
    title: str,
    caption: str,
    shared: Sequence[Sequence[int]] = (),
    of: str = "shard",
) -> Drawing:
    """Draw CPUs in the boxes of their caches, nodes and packages.

    ``colours`` contains for each CPU the number of its ``of``, which selects the colour. Lines
    connect the CPUs of each set in ``shared``.
    """
    order = list(order)
    where = {cpu.cpu: cpu for cpu in cpus}
    root = _boxes(order, where, colours)
    root.layout()
    root.label = title
    # Points per CPU: large enough for the numbers, small enough for the widest machines.
    unit = 72 * min(0.42, max(0.17, 7.0 / root.width), 15.0 / root.width)
    # The outer box of a small machine must have room for its title, at about 5 points a letter.
    root.width = max(root.width, 2 * _PAD + len(root.label) * 5 / unit)
    # A digit is 0.64 of its height wide.
    digits = len(str(max(order, default=0)))
    small = max(2.5, min(8.0, unit * min(0.44, 0.9 / (0.64 * digits))))
    drawing = Drawing(max(root.width * unit, 6.5 * 72), (root.height + 1.0) * unit)
    root.draw(drawing, 0.0, 0.0, unit, small if unit >= 0.12 * 72 else 0.0)
    for members in shared:
        _tie(drawing, [root.centres[cpu] for cpu in members])
    letters = min(8.0, max(5.0, small * 1.4))
    drawing.shapes.append(Words(_PAD * unit, (root.height + 0.5) * unit, caption, letters, INK))
    ties = {cpu: number for number, members in enumerate(shared) for cpu in members}
    drawing.columns = ("cpu", *_LEVELS, of, *(("hot_line",) if shared else ()))
    drawing.rows = [
        (
            cpu, *(_known(getattr(where[cpu], level)) for level in _LEVELS), colours[cpu],
            *((ties.get(cpu),) if shared else ()),
        )
        for cpu in order
    ]  # fmt: skip
    return drawing


def _known(number: int) -> int | None:
    return number if number >= 0 else None


def _tie(drawing: Drawing, places: list[tuple[float, float]]) -> None:
    """Draw a line from each place to their centre."""
    if len(places) < 2:
        return
    middle = (sum(x for x, _ in places) / len(places), sum(y for _, y in places) / len(places))
    drawing.shapes += [Line(x, y, *middle, _HOT) for x, y in places]
    drawing.shapes.append(Rect(middle[0] - 2, middle[1] - 2, 4, 4, _HOT, radius=2))


def picture(data: Topo) -> Drawing:
    """Return the picture of the topology with one colour per shard."""
    shards = data.plan.shards
    return drawn(
        data.cpus, [cpu for shard in shards for cpu in shard.cpus],
        {cpu: shard.shard for shard in shards for cpu in shard.cpus}, tree(data).label,
        f"one colour per shard: {plan_sentence(data)}",
    )  # fmt: skip


def write_picture(data: Topo, path: Path) -> None:
    """Write the picture, in the format of the file's suffix."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise UserError(f"--picture {path}: the file name must end in .svg or .png")
    drawing = picture(data)
    if kind == "svg":
        write_atomic(path, drawing.svg())
        return
    from common.show.png import png

    write_atomic(path, png(drawing))
