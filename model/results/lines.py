# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The types of cache lines in a run of the simulator, and of the objects' layouts on them."""

from model.results.saved import Count, Hex, NotNegative, Place, Saved, absent

LINE_BYTES = 64


def part_of(part: float, whole: float) -> float:
    """Return a share; 0.0 if the whole is 0."""
    return part / whole if whole else 0.0


class Costs:
    """The figures that every kind of line and access has, and what follows from them."""

    loads: Count | None
    hitm_remote: Count
    hitm_local: Count
    avg_load_cycles: NotNegative

    @property
    def hitm(self) -> int:
        """How often the line was found modified in another cache, near or far."""
        return self.hitm_remote + self.hitm_local

    @property
    def waited(self) -> float:
        """The cycles of all loads, summed."""
        return self.avg_load_cycles * (self.loads or 0)


class Access(Saved, Costs, kw_only=True):
    """The accesses of one instruction to one place of a line."""

    offset: Place
    size: Count
    kind: str
    pc: Hex
    records: Count
    loads: Count | None = None
    stores: Count
    hitm_remote: Count
    hitm_local: Count
    avg_load_cycles: NotNegative
    max_load_cycles: NotNegative
    cpus: Count


class FieldAccess(Saved, Costs, kw_only=True):
    """The accesses to one field of a line, summed."""

    field: str
    offset: Place
    size: Count
    records: Count = absent(0)
    loads: Count = absent(0)
    stores: Count = absent(0)
    hitm_remote: Count = absent(0)
    hitm_local: Count = absent(0)
    avg_load_cycles: NotNegative = absent(0.0)
    max_load_cycles: NotNegative = absent(0.0)

    def add(self, access: Access) -> None:
        """Add an instruction's accesses to those of the field."""
        loads = access.records if access.loads is None else access.loads
        time = self.waited + access.avg_load_cycles * loads
        self.offset = min(self.offset, access.offset)
        self.records += access.records
        self.loads += loads
        self.stores += access.stores
        self.hitm_remote += access.hitm_remote
        self.hitm_local += access.hitm_local
        self.avg_load_cycles = time / self.loads if self.loads else 0.0
        self.max_load_cycles = max(self.max_load_cycles, access.max_load_cycles)


class AnyLine(Saved, Costs, kw_only=True):
    """The members of a cache line in a result and in a report."""

    object: str
    type: str | None
    line: Place
    address: Hex = "0x0"
    home: Place
    records: Count
    loads: Count
    stores: Count
    hitm_remote: Count
    hitm_local: Count
    avg_load_cycles: NotNegative
    max_load_cycles: NotNegative


class CacheLine(AnyLine, kw_only=True):
    """A cache line of an object: ``line`` counts from 1, ``offset`` is its start in the object."""

    accesses: list[Access]
    offset: Place
    fields: list[FieldAccess] = absent([])
