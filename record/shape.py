# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Chooses the shape of a guest (CPUs, caches, nodes): a usual one, or a machine scaled down.

An emulated machine can have any number of sockets, nodes, caches, cores and threads. On a small
host it can have only some dozens of CPUs. Scaling keeps what matters to the scheduler: several
sockets, several caches in each, sibling threads. The numbers of caches and cores shrink first.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from common.errors import UserError
from model.machines.presets import load_machine, machine_topology

# The emulated interrupt controller has 8-bit ids. The last one addresses all CPUs.
MOST_CPUS, _LAST_APIC_ID = 240, 254
MEMORY_MB = 768
MEMORY_PER_CPU_MB = 8
_NODE_MB = 64


@dataclass(frozen=True)
class Shape:
    """A regular machine, and the boot parameter that splits its caches."""

    packages: int = 1
    nodes: int = 1  # per package
    llcs: int = 1  # per node
    cores: int = 1  # per last-level cache
    threads: int = 1
    split_llc: int = 0
    # Only the shapes of shapes.py set these.
    label: str = ""
    empty: int = 0  # this many of the last places have no CPU
    one_thread: bool = False  # only one thread per core is online: online CPUs' numbers have gaps
    memory_nodes: int = 0  # additional nodes without CPUs
    bare_nodes: int = 0  # this many of the last nodes have CPUs and no memory

    @property
    def levels(self) -> tuple[int, ...]:
        """Return the number of members per level: packages, nodes per package, and so on."""
        return self.packages, self.nodes, self.llcs, self.cores, self.threads

    @property
    def places(self) -> int:
        """Return how many CPUs the machine has room for."""
        return math.prod(self.levels)

    @property
    def cpus(self) -> int:
        """Return how many CPUs are online after the boot."""
        populated = self.places - self.empty
        return populated // self.threads if self.one_thread else populated

    @property
    def last_apic_id(self) -> int:
        """Return the largest APIC id. Each level has separate bits, so some ids are unused."""
        last = 0
        for count in (self.packages, self.nodes * self.llcs, self.cores, self.threads):
            last = last << (count - 1).bit_length() | count - 1
        return last

    @property
    def name(self) -> str:
        """Return the shape's name in file names, such as 64cpu-2x1x1x16x2-split4 or holes."""
        split = f"-split{self.split_llc}" if self.split_llc else ""
        return (self.label or f"{self.cpus}cpu-{'x'.join(map(str, self.levels))}") + split

    @property
    def words(self) -> str:
        """Return the shape in words."""
        levels = (
            (self.packages, "socket"),
            (self.packages * self.nodes, "node"),
            (self.packages * self.nodes * self.llcs, "LLC"),
        )
        counts = ", ".join(f"{n} {what}{'s' if n > 1 else ''}" for n, what in levels)
        split = f", split_llc={self.split_llc}" if self.split_llc else ""
        cpus = f"{self.cpus} CPU{'s' if self.cpus > 1 else ''}"
        return (
            f"{cpus}: {counts}, {self.threads} thread{'s' if self.threads > 1 else ''} a core"
            + (split)
            + "".join(f", {words}" for words in self._odd())
        )

    def _odd(self) -> Iterator[str]:
        """Yield the shape's unusual properties in words."""
        if self.one_thread:
            yield "one of them online"
        if self.empty:
            yield f"{self.empty} places without a CPU"
        if self.memory_nodes:
            yield f"{self.memory_nodes} more node{'s' * (self.memory_nodes > 1)} without CPUs"
        if self.bare_nodes:
            yield f"no memory in {self.bare_nodes} of the nodes"


# The machines of the tests: two sockets; two sockets with eight caches in total; a single CPU.
USUAL: Mapping[int, Shape] = {
    1: Shape(),
    16: Shape(packages=2, cores=4, threads=2),
    64: Shape(packages=2, cores=16, threads=2, split_llc=4),
}


def usual_shape(cpus: int) -> Shape:
    """Return the test machine with this many CPUs. It has two sockets if the number allows that."""
    if cpus in USUAL:
        return USUAL[cpus]
    if not 1 <= cpus <= MOST_CPUS:
        raise UserError(f"--cpus {cpus}: an emulated machine has 1 to {MOST_CPUS} CPUs")
    if cpus % 4 == 0:
        return Shape(packages=2, cores=cpus // 4, threads=2)
    return Shape(cores=cpus)


def _members(cpus: list[dict[str, int]], outer: tuple[str, ...], inner: str) -> int:
    """Return the most common number of different ``inner`` in an ``outer``."""
    groups: dict[tuple[int, ...], set[int]] = {}
    for cpu in cpus:
        groups.setdefault(tuple(cpu[key] for key in outer), set()).add(cpu[inner])
    return Counter(map(len, groups.values())).most_common(1)[0][0]


def shape_of(topology: Mapping[str, Any]) -> Shape:
    """Return the regular machine most like a topology that schedshard-topo printed."""
    cpus = [cpu for cpu in topology["cpus"] if cpu.get("possible", True)]
    return Shape(
        packages=len({cpu["package"] for cpu in cpus}),
        nodes=_members(cpus, ("package",), "node"),
        llcs=_members(cpus, ("package", "node"), "llc"),
        cores=_members(cpus, ("package", "node", "llc"), "core"),
        threads=_members(cpus, ("package", "node", "llc", "core"), "cpu"),
    )


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


def _smaller(full: Shape, cpus: int) -> Iterator[Shape]:
    """Yield all machines with exactly this many CPUs that exceed ``full`` at no level."""
    for packages in _divisors(cpus):
        left = cpus // packages
        for nodes in _divisors(left):
            for llcs in _divisors(left // nodes):
                for cores in _divisors(left // nodes // llcs):
                    shape = Shape(packages, nodes, llcs, cores, left // nodes // llcs // cores)
                    fits = all(a <= b for a, b in zip(shape.levels, full.levels, strict=True))
                    if fits and shape.last_apic_id <= _LAST_APIC_ID:
                        yield shape


def _likeness(full: Shape, shape: Shape) -> tuple[float, ...]:
    """Return a key that is larger for shapes more like ``full``.

    Its order: sockets, threads, nodes, then the balance of caches and cores.
    """
    cores = math.log(full.cores / shape.cores)
    llcs = math.log(full.llcs / shape.llcs)
    several = min(full.packages, 2), min(full.threads, 2)
    return (
        min(shape.packages, several[0]), min(shape.threads, several[1]), min(shape.cores, 2),
        shape.packages, shape.nodes, -abs(cores - llcs),
    )  # fmt: skip


def scale(full: Shape, cpus: int, name: str) -> Shape:
    """Return the machine with this many CPUs that is most like ``full``."""
    most = min(full.cpus, MOST_CPUS)
    if not 1 <= cpus <= most:
        raise UserError(f"--cpus {cpus}: a guest like {name} can have 1 to {most} CPUs")
    shapes = list(_smaller(full, cpus))
    if not shapes:
        near = (n for d in range(1, most) for n in (cpus - d, cpus + d) if 1 <= n <= most)
        nearest = next(n for n in near if any(_smaller(full, n)))
        raise UserError(f"--cpus {cpus}: {name} cannot have {cpus} CPUs; try {nearest}")
    return max(shapes, key=lambda shape: _likeness(full, shape))


def choose_shape(machine: str | None, cpus: int | None, split_llc: int | None) -> Shape:
    """Return the guest that the options describe, by default one with 16 CPUs."""
    if machine is None:
        shape = usual_shape(16 if cpus is None else cpus)
    else:
        loaded = load_machine(machine)
        full = shape_of(machine_topology(loaded))
        if cpus is None:
            cpus = next(n for n in range(min(full.cpus, 64), 0, -1) if any(_smaller(full, n)))
        shape = scale(full, cpus, loaded.name)
    return shape if split_llc is None else replace(shape, split_llc=split_llc)


def memory_mb(shape: Shape, extra_mb: int = 0) -> int:
    """Return the memory of the guest in MB, a multiple that its nodes can share evenly."""
    unit = _NODE_MB * (shape.packages * shape.nodes - shape.bare_nodes + shape.memory_nodes)
    wanted = MEMORY_MB + MEMORY_PER_CPU_MB * shape.cpus + extra_mb
    return -(-wanted // unit) * unit
