# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draws packages, nodes and LLCs as boxes of a page, each CPU in a shade of one colour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from common.show.page import Box, Boxes

_LEVELS = ("package", "node", "llc")


class Placed(NamedTuple):
    """A CPU and where it is; -1: unknown."""

    cpu: int
    package: int
    node: int
    llc: int


def boxes(
    cpus: Sequence[Placed],
    order: Iterable[int],
    colours: Mapping[int, int],
    label: str,
    title: str,
    inside: Mapping[int, str],
) -> Boxes:
    """Return CPUs, in their order, in the boxes of their caches, nodes and packages.

    ``inside`` names, for some CPUs, a further box in these.
    """
    where = {cpu.cpu: cpu for cpu in cpus}
    root = Box(label)
    known: dict[tuple[int, ...], Box] = {(): root}
    for cpu in order:
        path: tuple[int, ...] = ()
        for level in _LEVELS:
            parent = known[path]
            path = (*path, getattr(where[cpu], level))
            if path not in known:
                name = "LLC" if level == "llc" else level
                known[path] = Box(f"{name} {path[-1] if path[-1] >= 0 else '?'}")
                parent.parts.append(known[path])
        parts = known[path].parts
        name = inside.get(cpu, "")
        if name and (not parts or parts[-1].label != name):
            parts.append(Box(name))
        (parts[-1] if name else known[path]).cpus.append(cpu)
    return Boxes(title, [root], colours)
