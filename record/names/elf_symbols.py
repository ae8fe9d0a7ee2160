# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads all symbols of a 64-bit little-endian file at once.

elftools makes an object per entry, which takes 50 us: seconds for a large program.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_ENTRY = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_OBJECT, _FUNCTION, _LOCAL, _INDIRECT = 1, 2, 6, 10


@dataclass(frozen=True, slots=True)
class Symbol:
    """One entry of a symbol table. ``address`` and ``size`` are those in the file."""

    name: str
    kind: int
    defined: bool
    address: int
    size: int

    @property
    def is_function(self) -> bool:
        """Whether this is code, including functions that the loader chooses (IFUNC)."""
        return self.kind in (_FUNCTION, _INDIRECT)

    @property
    def is_object(self) -> bool:
        """Whether this is a variable."""
        return self.kind == _OBJECT

    @property
    def is_local(self) -> bool:
        """Whether this is a thread-local variable."""
        return self.kind == _LOCAL


def elf_symbols(elf: ELFFile, table: str) -> Iterator[Symbol]:
    """Yield the symbols of ``.symtab`` or ``.dynsym``; none if the file is of another kind."""
    section = elf.get_section_by_name(table)
    if not isinstance(section, SymbolTableSection) or elf.elfclass != 64 or not elf.little_endian:
        return
    names = section.stringtable.data()
    data = section.data()
    whole = memoryview(data)[: len(data) // _ENTRY.size * _ENTRY.size]
    for at, info, _, section_index, address, size in _ENTRY.iter_unpack(whole):
        end = names.find(b"\0", at)
        name = names[at : end if end >= 0 else len(names)].decode("utf-8", "replace")
        yield Symbol(name, info & 15, section_index != 0, address, size)


def elf_imports(elf: ELFFile) -> dict[int, str]:
    """Return by address the names of the symbols that the loader writes into words of the file."""
    names = [symbol.name for symbol in elf_symbols(elf, ".dynsym")]
    imports = {}
    for table in (".rela.plt", ".rela.dyn"):
        section = elf.get_section_by_name(table)
        data = section.data() if section is not None else b""
        whole = memoryview(data)[: len(data) // _RELOCATION.size * _RELOCATION.size]
        for at, info, _ in _RELOCATION.iter_unpack(whole):
            if 0 < info >> 32 < len(names):
                imports[at] = names[info >> 32]
    return imports
