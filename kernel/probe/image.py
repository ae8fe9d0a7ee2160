# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads symbols and debug information of a kernel image.

A kernel's debug information is large, so pyelftools reads only the requested compilation units.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from elftools.common.exceptions import ELFError
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from common.errors import UserError, os_reason
from record.names.variables import DebugInfo
from record.watch import Function


@dataclass(frozen=True)
class Symbol:
    """A symbol of the image. ``size`` is 0 if the image does not give it."""

    name: str
    address: int
    size: int
    kind: str  # STT_FUNC, STT_OBJECT, STT_NOTYPE


class Image:
    """An open image; a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
            self._elf = ELFFile(self._file)
            self._symbols = list(self._read_symbols())
        except OSError as error:
            raise UserError(f"cannot read {path}: {os_reason(error)}") from error
        except ELFError as error:
            raise UserError(f"{path} is not an ELF image: {error}") from error
        if not self._symbols:
            raise UserError(f"{path} has no symbols: take the vmlinux that the image was made of")
        self._by_name: dict[str, list[Symbol]] = {}
        for symbol in self._symbols:
            self._by_name.setdefault(symbol.name, []).append(symbol)
        self._placed = sorted(
            (s for s in self._symbols if s.size and s.kind == "STT_OBJECT"), key=lambda s: s.address
        )
        self._starts = [symbol.address for symbol in self._placed]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Descriptions of types are not available afterwards."""
        if "types" in self.__dict__:
            self.types.close()
        self._file.close()

    def _read_symbols(self) -> Iterator[Symbol]:
        table = self._elf.get_section_by_name(".symtab")
        if not isinstance(table, SymbolTableSection):
            return
        for entry in table.iter_symbols():
            kind = entry["st_info"]["type"]
            if entry.name and kind in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE"):
                yield Symbol(entry.name, entry["st_value"], entry["st_size"], kind)

    def find(self, name: str) -> Symbol | None:
        """Return the largest symbol with a name, or None."""
        return max(self._by_name.get(name, ()), key=lambda s: s.size, default=None)

    def address(self, name: str) -> int:
        """Return the address of a symbol. Raise a UserError if the image lacks it."""
        symbol = self.find(name)
        if symbol is None:
            raise UserError(f"{self.path} has no symbol '{name}'")
        return symbol.address

    def function(self, name: str) -> list[tuple[int, int]]:
        """Return the ranges of a function, the main one first; none if it exists only inlined."""
        names = (name, f"{name}.cold", f"{name}.isra.0", f"{name}.constprop.0", f"{name}.part.0")
        symbols = [self.find(name) for name in names]
        return [(s.address, s.address + s.size) for s in symbols if s and s.size]

    def text(self) -> tuple[int, int]:
        """Return the range of the kernel's own code."""
        return self.address("_stext"), self.address("_etext")

    def variable_at(self, address: int) -> Symbol | None:
        """Return the variable that contains an address, or None."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        symbol = self._placed[index]
        return symbol if address < symbol.address + symbol.size else None

    def per_cpu(self) -> tuple[int, int]:
        """Return the range of per-CPU variables, before a CPU's offset is added."""
        return self.address("__per_cpu_start"), self.address("__per_cpu_end")

    # ---- debug information ----

    def dwarf(self) -> DWARFInfo:
        """Return the debug information. Raise a UserError if the image has none."""
        if not self._elf.has_dwarf_info():
            raise UserError(f"{self.path} has no debug information: set CONFIG_DEBUG_INFO_DWARF5")
        return self._elf.get_dwarf_info()

    @cached_property
    def types(self) -> DebugInfo:
        """The debug information, found by address."""
        return DebugInfo(self.path)

    def units(self, parts: Sequence[str]) -> Iterator[CompileUnit]:
        """Yield the compilation units whose source path contains one of ``parts``."""
        for unit in self.dwarf().iter_CUs():
            name = unit.get_top_DIE().attributes.get("DW_AT_name")
            path = name.value.decode("utf-8", "replace") if name is not None else ""
            if any(part in path for part in parts):
                yield unit


def functions_named(image: Image, groups: Mapping[str, Sequence[str]]) -> list[Function]:
    """Return the functions to count under each name. Those that the image lacks are omitted."""
    return [
        Function(name, tuple(ranges))
        for name, members in groups.items()
        for member in members
        if (ranges := image.function(member))
    ]
