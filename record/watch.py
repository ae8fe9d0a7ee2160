# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Writes the watch file of the emulator's plugin. record/plugin/watch.h describes the format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from record.shape import Shape, memory_mb, scale, shape_of, usual_shape

_MB = 1 << 20


def one_line(path: Path) -> Path:
    """Return an absolute path for a watch file. Raise a UserError if it contains a newline."""
    path = path.resolve()
    if "\n" in str(path):
        shown = str(path).replace("\n", r"\n")
        raise UserError(f"{shown} contains a newline, which no recording can store: rename it")
    return path


@dataclass(frozen=True)
class Node:
    """Guest-physical memory that belongs to a node of the simulated machine."""

    low: int
    high: int
    node: int


@dataclass(frozen=True)
class Function:
    """A function to count under a name: its main range, then its cold parts."""

    name: str
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Watch:
    """All settings of the plugin."""

    result: Path
    text: Sequence[tuple[int, int]] = ()
    functions: Sequence[Function] = ()
    machine: Path | None = None
    cpus: Sequence[int] = ()
    nodes: Sequence[Node] = ()
    quantum: int = 0
    trace: Path | None = None
    stop: bool = False  # end the emulator after the result was written

    def lines(self) -> str:
        """Return the content of the watch file."""
        lines = [f"text {low:#x} {high:#x}" for low, high in self.text]
        for function in self.functions:
            for index, (low, high) in enumerate(function.ranges):
                word = "cold" if index else "function"
                lines.append(f"{word} {function.name} {low:#x} {high:#x}")
        if self.machine is not None:
            lines.append(f"machine {one_line(self.machine)}")
            lines += [f"cpu {cpu}" for cpu in self.cpus]
            lines += [f"node {node.low:#x} {node.high:#x} {node.node}" for node in self.nodes]
            lines.append(f"quantum {self.quantum}")
        if self.trace is not None:
            lines.append(f"trace {one_line(self.trace)}")
        if self.stop:
            lines.append("stop")
        lines.append(f"result {one_line(self.result)}")
        return "".join(f"{line}\n" for line in lines)


Tree = dict[int, dict[int, dict[int, list[int]]]]


def _tree(topology: Mapping[str, Any]) -> Tree:
    """Return a machine's CPUs by package, last-level cache and core, threads in order."""
    tree: Tree = {}
    for cpu in sorted(topology["cpus"], key=lambda c: (c["thread"], c["cpu"])):
        if cpu.get("possible", True):
            llcs = tree.setdefault(cpu["package"], {})
            llcs.setdefault(cpu["llc"], {}).setdefault(cpu["core"], []).append(cpu["cpu"])
    return tree


def _spread(items: Sequence[Any], wanted: int) -> list[Any]:
    """Return ``wanted`` of the items, as far apart as possible."""
    return [items[index * len(items) // wanted] for index in range(wanted)]


def map_cpus(shape: Shape, topology: Mapping[str, Any], name: str) -> list[int]:
    """Return the machine's CPU for each guest CPU.

    Guest CPUs are numbered by package, then by cache, with siblings side by side. A cache that
    split_llc splits stands for several caches of the machine.
    """
    split = shape.split_llc or 1
    llcs, cores = shape.nodes * shape.llcs * split, -(-shape.cores // split)
    tree = _tree(topology)
    lacking = f"{name} cannot stand for {shape.words}: it has too few"
    if len(tree) < shape.packages:
        raise UserError(f"{lacking} sockets")
    cpus = []
    for package in list(tree)[: shape.packages]:
        if len(tree[package]) < llcs:
            raise UserError(f"{lacking} last-level caches per socket ({len(tree[package])})")
        for llc in _spread(list(tree[package].values()), llcs):
            if len(llc) < cores:
                raise UserError(f"{lacking} cores per cache ({len(llc)})")
            for core in _spread(list(llc.values()), cores):
                if len(core) < shape.threads:
                    raise UserError(f"{lacking} threads per core ({len(core)})")
                cpus += core[: shape.threads]
    return cpus


def shape_for(topology: Mapping[str, Any], name: str, cpus: int) -> Shape:
    """Return the guest with this many CPUs that stands for a machine: the usual one if it fits."""
    shape = usual_shape(cpus)
    try:
        map_cpus(shape, topology, name)
    except UserError:
        return scale(shape_of(topology), cpus, name)
    return shape


def map_nodes(
    shape: Shape, extra_mb: int, cpus: Sequence[int], topology: Mapping[str, Any]
) -> list[Node]:
    """Return the machine's node for each part of the guest's memory: the node of its CPUs."""
    node_of = {cpu["cpu"]: int(cpu["node"]) for cpu in topology["cpus"]}
    nodes = shape.packages * shape.nodes
    size = memory_mb(shape, extra_mb) // nodes * _MB
    return [
        Node(index * size, (index + 1) * size, node_of[cpus[index * len(cpus) // nodes]])
        for index in range(nodes)
    ]
