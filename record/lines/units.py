# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the unit of debug information that contains an instruction."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.ranges import BaseAddressEntry

# Exceptions that the reader of debug information raises if it does not understand a part or lacks
# one. A name without a field is still useful.
FAULTS = (
    DWARFError, ELFError, LookupError, AttributeError, NotImplementedError, TypeError, ValueError,
    AssertionError, OSError, ArithmeticError, MemoryError, RecursionError,
)  # fmt: skip
_MOST = 1 << 15  # units whose first description is read, which takes some 10 seconds


def ranges(die: DIE) -> Iterator[tuple[int, int]]:
    """Yield the address ranges of a function, a block or a unit."""
    low, high = die.attributes.get("DW_AT_low_pc"), die.attributes.get("DW_AT_high_pc")
    if low is not None and high is not None:
        end = int(high.value)
        yield int(low.value), end if high.form == "DW_FORM_addr" else int(low.value) + end
        return
    several = die.attributes.get("DW_AT_ranges")
    lists = die.dwarfinfo.range_lists()
    if several is None or lists is None or not isinstance(die.cu, CompileUnit):
        return
    first = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
    base = int(first.value) if first is not None else 0
    for entry in lists.get_range_list_at_offset(several.value, die.cu):
        if isinstance(entry, BaseAddressEntry):
            base = entry.base_address
        else:
            add = 0 if entry.is_absolute else base
            yield entry.begin_offset + add, entry.end_offset + add


class Units:
    """The units of a file, found by address."""

    def __init__(self, dwarf: DWARFInfo, every: Callable[[], Iterator[CompileUnit]]) -> None:
        self._dwarf = dwarf
        self._every = every
        self._table: Any = None
        self._looked = False  # whether the table was read
        self._code: list[tuple[int, int, DIE]] | None = None  # ranges of units, without a table
        self.cut = False  # more units exist than were read

    def at(self, pc: int) -> Iterator[DIE]:
        """Yield the descriptions of the units that claim to contain an instruction, usually one."""
        if not self._looked:
            self._looked = True
            with suppress(*FAULTS):
                self._table = self._dwarf.get_aranges()
        offset = self._table.cu_offset_at_addr(pc) if self._table is not None else None
        if offset is not None:
            yield self._dwarf.get_CU_at(offset).get_top_DIE()
            return
        if self._code is None:
            self._code = []
            with suppress(*FAULTS):
                self._code.extend(self._all())
        yield from (top for low, high, top in self._code if low <= pc < high)

    def _all(self) -> Iterator[tuple[int, int, DIE]]:
        """Yield the code of each unit, for files without the table, which clang omits."""
        for number, unit in enumerate(self._every()):
            if number == _MOST:
                self.cut = True
                return
            top = unit.get_top_DIE()
            yield from ((low, high, top) for low, high in ranges(top))
