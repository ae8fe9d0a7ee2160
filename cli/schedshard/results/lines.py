# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Cache lines of a run of the simulator, and the types of the objects on them."""

from schedshard.results.saved import Count, Few, Hex, NotNegative, Place, Saved, absent


class Access(Saved, kw_only=True):
    """Accesses by one instruction to one place of a line."""

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

    @property
    def hitm(self) -> int:
        """Modified lines found elsewhere, near and far."""
        return self.hitm_remote + self.hitm_local


class FieldAccess(Saved, kw_only=True):
    """Accesses to one field of a line."""

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

    @property
    def waited(self) -> float:
        """The cycles of all its loads together."""
        return self.avg_load_cycles * self.loads

    def add(self, access: Access) -> None:
        """Count an access to the field."""
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


class CacheLine(Saved, kw_only=True):
    """A line; its number is from 1, and its offset of the object's first byte."""

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
    accesses: list[Access]
    offset: Place
    fields: list[FieldAccess] = absent([])

    @property
    def hitm(self) -> int:
        """Modified lines found elsewhere, near and far."""
        return self.hitm_remote + self.hitm_local

    @property
    def waited(self) -> float:
        """The cycles of all its loads together."""
        return self.avg_load_cycles * self.loads


class Field(Saved, kw_only=True):
    """What lies where in a type."""

    field: str
    offset: Place
    size: Count


class Layout(Saved, kw_only=True):
    """A type on the lines."""

    size: Few
    fields: list[Field]
