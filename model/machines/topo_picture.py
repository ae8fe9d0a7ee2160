# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A topology as boxes of a page: packages, nodes and LLCs, each CPU in the colour of its group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from common.show.page import Box, Boxes
from model.machines.topo import plan_sentence, tree

if TYPE_CHECKING:
    # Not imported: doctor's single file has this file, and no msgspec.
    from model.results.topo import Cpu, Topo

_LEVELS = ("package", "node", "llc")


class Placed(NamedTuple):
    """A CPU and where it is; -1: unknown."""

    cpu: int
    package: int
    node: int
    llc: int


def boxes(
    cpus: Sequence[Placed | Cpu],
    order: Iterable[int],
    colours: Mapping[int, int],
    label: str,
    title: str,
    framed: Iterable[int] = (),
    inside: Mapping[int, str] | None = None,
) -> Boxes:
    """Return CPUs, in their order, in the boxes of their caches, nodes and packages.

    ``inside`` names, for some CPUs, a further box in these. If given, ``colours`` form a scale.
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
        name = inside.get(cpu, "") if inside is not None else ""
        if name and (not parts or parts[-1].label != name):
            parts.append(Box(name))
        (parts[-1] if name else known[path]).cpus.append(cpu)
    return Boxes(title, [root], colours, frozenset(framed), inside is not None)


def picture(data: Topo) -> Boxes:
    """Return the picture of a topology with one colour per shard."""
    shards = data.plan.shards
    return boxes(
        data.cpus, [cpu for shard in shards for cpu in shard.cpus],
        {cpu: shard.shard for shard in shards for cpu in shard.cpus}, tree(data).label,
        f"One colour per shard: {plan_sentence(data)}",
    )  # fmt: skip
