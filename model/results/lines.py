# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines cache lines and their accesses, for the runs of all tools, results and reports."""

from collections.abc import Sequence

from model.results.saved import Count, Hex, NotNegative, Offset, Place, Saved, absent

LINE_BYTES = 64
# Lines rank by HITM plus stalled stores: this many cycles for which stores wait count as one HITM.
_AS_LONG = 100


def part_of(part: float, whole: float) -> float:
    """Return a share; 0.0 if the whole is 0."""
    return part / whole if whole else 0.0


class Traffic(Saved, kw_only=True):
    """What the accesses to a line, or of one instruction, cost.

    ``store_cycles``: the cycles in which CPUs stalled on stores because a store buffer was full.
    """

    records: Count
    loads: Count
    stores: Count
    hitm_remote: Count
    hitm_local: Count
    avg_load_cycles: NotNegative
    max_load_cycles: NotNegative
    store_cycles: NotNegative = 0.0

    @property
    def hitm(self) -> int:
        """How often the line was found modified in another cache, near or far."""
        return self.hitm_remote + self.hitm_local

    @property
    def waited(self) -> float:
        """The cycles of all loads, and of stalls on stores."""
        return self.avg_load_cycles * self.loads + self.store_cycles

    @property
    def heat(self) -> float:
        """The rank: HITM, plus stalls on stores in units of HITM."""
        return self.hitm + self.store_cycles / _AS_LONG

    @property
    def cycles_each(self) -> float:
        """The average cycles of one access."""
        if not self.store_cycles:
            return self.avg_load_cycles
        return self.waited / (self.loads or self.stores or 1)

    def add(self, other: "Traffic") -> None:
        """Add the cost of other accesses."""
        loads = self.loads + other.loads
        loaded = sum(access.avg_load_cycles * access.loads for access in (self, other))
        self.avg_load_cycles = part_of(loaded, loads)
        self.max_load_cycles = max(self.max_load_cycles, other.max_load_cycles)
        self.loads = loads
        self.records += other.records
        self.stores += other.stores
        self.hitm_remote += other.hitm_remote
        self.hitm_local += other.hitm_local
        if other.store_cycles:
            self.store_cycles += other.store_cycles


class Access(Traffic, kw_only=True):
    """The accesses of one instruction to one place of a line."""

    offset: Place
    size: Count
    kind: str
    pc: Hex
    cpus: Count

    @property
    def instruction(self) -> int:
        """The address of the instruction, or the number of its site."""
        return int(self.pc, 16)


class Field(Traffic, kw_only=True):
    """The accesses to one field of a line, summed."""

    field: str
    offset: Place
    size: Count


class Line(Traffic, kw_only=True):
    """A cache line. ``home``: the memory node, or -1 if it is unknown."""

    address: Hex = "0x0"
    home: Place
    accesses: Sequence[Access]

    @property
    def start(self) -> int:
        """The address as a number."""
        return int(self.address, 16)


class CacheLine(Line, kw_only=True):
    """A cache line of an object: ``line`` counts from 1, ``offset`` is its start in the object."""

    object: str
    type: str | None
    line: Offset
    offset: Offset
    fields: list[Field] = absent([])
