# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads the types of variables and of functions' allocations from the debug information.

This file reads only compilation units that may matter, and at most MOST_BYTES of them. The debug
information of a large program takes minutes to read. Beyond the bound names lack only fields. It
counts bytes, not seconds, so that a busy host gives the same names.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import BinaryIO

from elftools.common.exceptions import ELFError
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.elf.elffile import ELFFile

from common.errors import telling
from model.lines.dwarf import (
    contains,
    die_name,
    die_size,
    ends_open,
    fits,
    member_path,
    steps,
    whole_member,
)  # fmt: skip
from model.lines.references import bytes_of, is_of_a_type, referred, type_of
from record.lines.edits import Aligned, Edit, edit_of
from record.lines.split import Splits
from record.lines.units import FAULTS, Units
from record.names.readable import readable

# About 20 seconds: a CPU of 3 GHz reads 1 to 2 MB of debug information in a second.
MOST_BYTES = 24 << 20
# The address of a thread-local variable is this plus the variable's offset in the file's part.
LOCAL = 1 << 62
# A type counts if at most this fraction of accesses crosses its members.
_FEW = 0.2
_DW_OP_ADDR = 0x03
_DW_OP_ADDRX = (0xA1, 0xFB)  # of DWARF 5, and GNU's before it
_DW_OP_DEREF_SIZE = 0x94
_DW_OP_CONST8U = 0x0E
_DW_OP_CONSTX = (0xA2, 0xFC)
_DW_OP_TLS = ([0x9B], [0xE0])  # of DWARF, and GNU's before it
# Objects that the C++ library makes for a thread or a task.
_INTERNAL = re.compile(r"(_State_impl|_Async_state|_Task_state|_Deferred_state)")
_FRAME = ".Frame"  # gcc names a coroutine's frame after the function
# A type with a longer name is shown without namespaces, or else without its template arguments.
_LONGEST = 48
_WORDS = {
    "DW_TAG_structure_type": "struct ",
    "DW_TAG_union_type": "union ",
    "DW_TAG_enumeration_type": "enum ",
}
WALKED = {
    "DW_TAG_namespace", "DW_TAG_module", "DW_TAG_subprogram", "DW_TAG_lexical_block",
    "DW_TAG_class_type", "DW_TAG_structure_type",
}  # fmt: skip
_PLAIN = {"DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_atomic_type"}


def target(die: DIE) -> DIE | None:
    """Return the type of a type definition, a variable or a member, or None."""
    if "DW_AT_type" not in die.attributes:
        return None
    return type_of(die)


def die_language(top: DIE) -> bool:
    """Whether the language names types without 'struct': C++, Rust and Go."""
    language = top.attributes.get("DW_AT_language")
    return language is not None and language.value in (4, 26, 33, 43, 28, 22)


@cache
def _plain(name: str) -> str:
    """Return the name of a coroutine's frame, with the function's name as in the source."""
    function = name.removesuffix(_FRAME)
    return readable([function]).get(function, function) + _FRAME


def type_name(die: DIE | None, cplusplus: bool = False) -> str:
    """Return a type's name as in the source."""
    if die is None:
        return "void"
    if die.tag == "DW_TAG_array_type":
        return f"{type_name(target(die), cplusplus)}[]"
    if die.tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type"):
        return f"{type_name(target(die), cplusplus)} *"
    if die.tag in ("DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_atomic_type"):
        return type_name(target(die), cplusplus)
    name = die_name(die)
    if not name:
        return "struct {}" if die.tag == "DW_TAG_structure_type" else "?"
    if name.startswith("_Z") and name.endswith(_FRAME):
        name = _plain(name)
    if cplusplus:
        name = name if len(name) <= _LONGEST else re.sub(r"\b\w+::", "", name)
        return name if len(name) <= _LONGEST else name.partition("<")[0]
    return f"{_WORDS.get(str(die.tag), '')}{name}"


def bare(die: DIE | None) -> DIE | None:
    """Return a type without typedefs and qualifiers."""
    while die is not None and die.tag in _PLAIN:
        die = target(die)
    return die


class Typed:
    """A type with its name. It finds members by offset."""

    def __init__(self, die: DIE, name: str, variable: DIE | None = None) -> None:
        self.die = die
        self.name = name
        self._variable = variable

    def edit(self, whole: int, offset: int, aligned: Aligned) -> Edit:
        """Return the edit that aligns the member at ``offset`` of an object of ``whole`` bytes."""
        with suppress(*FAULTS):
            return edit_of(self.die, offset, self._variable, aligned, whole)
        return Edit()

    @property
    def is_internal(self) -> bool:
        """Whether the type is internal to a library: no program's source has an object of it."""
        return bool(_INTERNAL.match(die_name(self.die)))

    @property
    def size(self) -> int | None:
        """Return the size in bytes, or None if unknown."""
        return die_size(self.die)

    @property
    def element(self) -> tuple[str, int] | None:
        """Return an array's element type and that type's size, or None for other types."""
        inner = bare(self.die)
        if inner is None or inner.tag != "DW_TAG_array_type":
            return None
        of = target(inner)
        size = die_size(of) if of is not None else None
        return (self.name.removesuffix("[]"), size) if size else None

    @cached_property
    def _open(self) -> bool:
        with suppress(*FAULTS):
            return ends_open(self.die)
        return False

    def count(self, whole: int, alignment: int) -> int:
        """Return how many such objects an allocation can have, 0 if it has something else.

        Its size may be rounded up to its alignment, or include a flexible array.
        """
        size = self.size
        if not size or self._open:
            return int(bool(size) and whole >= (size or 0))
        alignment &= -2  # without the mark of mapped memory
        rounded = alignment if alignment and not whole % alignment else 1
        return whole // size if whole % size < rounded else 0

    def split(self, offset: int) -> tuple[int, int]:
        """Return the number of the object in a row that contains an offset, and the rest."""
        size = self.size
        return divmod(offset, size) if size and not self._open else (0, offset)

    def field(self, offset: int) -> str:
        """Return the path of the member at an offset."""
        with suppress(*FAULTS):
            index, rest = self.split(offset)
            return (f"[{index}]" if index else "") + member_path(self.die, rest)
        return ""

    def row(self, offset: int) -> tuple[str, int, str] | None:
        """Return element type, element size and path of the array member at an offset, or None."""
        with suppress(*FAULTS):
            for die, _, path in steps(self.die, self.split(offset)[1]):
                inside = die.tag == "DW_TAG_array_type" and die != bare(self.die)
                of = type_of(die) if inside else None
                step = die_size(of) if of is not None else None
                if of is not None and step:
                    return type_name(of, die_language(of.cu.get_top_DIE())), step, path
        return None

    def agrees(self, uses: Iterable[tuple[int, int]]) -> bool:
        """Whether all but a few accesses (offset, bytes) fit the type's members.

        A copy accesses several members at once, or crosses their boundaries anywhere.
        """
        accesses = [(self.split(at)[1], length) for at, length in uses]
        size = self.size
        if not size:
            return False
        with suppress(*FAULTS):
            wrong = sum(
                at < size < at + length or not fits(self.die, at, length) for at, length in accesses
            )
            return wrong <= _FEW * len(accesses)
        return False

    @property
    def has_members(self) -> bool:
        """Whether the type is a structure, a union or a class."""
        with suppress(*FAULTS):
            return member_path(self.die, 0) != ""
        return False

    def contains(self, offset: int, other: "Typed") -> bool:
        """Whether an object of another type, as a member or as the whole, begins at an offset."""
        with suppress(*FAULTS):
            return contains(self.die, offset, other.die)
        return False

    def whole(self, offset: int) -> tuple[int, int, str] | None:
        """Return start, size and path of the library object, such as a lock, around an offset."""
        with suppress(*FAULTS):
            index, rest = self.split(offset)
            member = whole_member(self.die, rest)
            if member is not None:
                start, length, path = member
                before = f"[{index}]" if index else ""
                return offset - rest + start, length, f"{before}{path}"
        return None


class Common(Typed):
    """A common block of Fortran: variables one after the other in one object."""

    def __init__(self, block: DIE, members: Iterable[tuple[int, str, DIE]]) -> None:
        """Each of ``members`` is a variable's offset in the block, its name and its type."""
        super().__init__(block, f"common /{die_name(block)}/")
        self._members = sorted(members, key=lambda member: member[0])

    def _at(self, offset: int) -> tuple[int, str, Typed] | None:
        for start, name, die in reversed(self._members):
            if start <= offset:
                inside = offset - start < (die_size(die) or 0)
                return (start, f".{name}", Typed(die, "")) if inside else None
        return None

    @property
    def size(self) -> int | None:
        """Return the size in bytes, or None if unknown."""
        start, _, last = self._members[-1]
        size = die_size(last)
        return start + size if size is not None else None

    @property
    def element(self) -> tuple[str, int] | None:
        """Return None: a common block is not an array."""
        return None

    def field(self, offset: int) -> str:
        """Return the variable at an offset, with the path of its member."""
        member = self._at(offset)
        return f"{member[1]}{member[2].field(offset - member[0])}" if member is not None else ""

    def row(self, offset: int) -> tuple[str, int, str] | None:
        """Return element type, element size and name of the array at an offset, or None."""
        member = self._at(offset)
        element = member[2].element if member is not None else None
        if member is None or element is None:
            return None
        inner = bare(member[2].die)
        of = target(inner) if inner is not None else None
        return type_name(of, cplusplus=True), element[1], member[1]

    def whole(self, offset: int) -> tuple[int, int, str] | None:
        """Return None: a common block contains no locks."""
        return None


class DebugInfo:
    """The debug information of one file, which stays open until close()."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = False  # a part could not be read, so some types are unknown
        self.cut = False  # a part was not read, because there is more than MOST_BYTES
        with telling(f"cannot read {path}"):
            self._elf = ELFFile(path.open("rb"), self._beside)
        try:
            self._dwarf = self._elf.get_dwarf_info()
        except FAULTS:
            self._dwarf = self._elf.get_dwarf_info(follow_links=False)
        self._splits = Splits(path, self._dwarf)
        self.code = Units(self._dwarf, self.units)

    def _beside(self, name: str) -> BinaryIO:
        """Open the file to which dwz moved what several programs share."""
        file = self.path.parent / name
        if not file.is_file():
            raise ELFError(f"no file {file}")
        return file.open("rb")

    def close(self) -> None:
        """Close the file; no field is available afterwards."""
        self._elf.close()

    def whole(self, top: DIE) -> DIE:
        """Return the split unit of a skeleton, or the skeleton itself if the file is missing."""
        try:
            return self._splits.whole(top)
        except FAULTS:
            self.damaged = True
            return top

    def _units(self, may_have: Callable[[CompileUnit], bool]) -> Iterator[tuple[DIE, bool]]:
        units = filter(may_have, self.units())
        while True:
            try:
                top = next(units).get_top_DIE()
            except StopIteration:
                return
            except FAULTS:
                self.damaged = True
                return
            top = self.whole(top)
            yield top, die_language(top)

    @property
    def dwarf(self) -> DWARFInfo:
        """Return the whole debug information."""
        return self._dwarf

    def units(self) -> Iterator[CompileUnit]:
        """Yield the units that may describe variables and functions, and not only one type."""
        return (unit for unit in self._dwarf.iter_CUs() if not is_of_a_type(unit))

    def variables(self, addresses: Iterable[int]) -> dict[int, Typed]:
        """Return the types of the variables that begin at these addresses of the file (LOCAL)."""
        missing = set(addresses)
        types: dict[int, Typed] = {}
        read = 0
        may_have = self._with_addresses(missing)
        for top, cplusplus in self._units(lambda u: may_have(u.cu_offset, u.cu_offset + u.size)):
            if not missing:
                break
            if read > MOST_BYTES:
                self.cut = True
                break
            read += top.cu.size
            try:
                inside = may_have if top.dwarfinfo is self._dwarf else lambda *_: True
                self._walk(top, cplusplus, missing, types, inside)
            except FAULTS:
                self.damaged = True
        return types

    def _with_addresses(self, addresses: Iterable[int]) -> Callable[[int, int], bool]:
        """Return a test for bytes that may describe the variables: they contain an address.

        Reading all units of a C library takes seconds. If the table of addresses contains an
        address, units refer to it by number, and any unit may describe the variable.
        """
        words = [re.escape((at & ~LOCAL).to_bytes(8, "little")) for at in addresses]
        any_word = re.compile(b"|".join(words))
        if any_word.search(bytes_of(self._dwarf.debug_addr_sec)):
            return lambda *_: True
        place = re.compile(b"[%c%c](?:%s)" % (_DW_OP_ADDR, _DW_OP_CONST8U, any_word.pattern))
        data = bytes_of(self._dwarf.debug_info_sec)
        places = [match.start() for match in place.finditer(data)]

        return lambda begin, end: bisect_left(places, begin) < bisect_left(places, end)

    def _walk(
        self, die: DIE, cplusplus: bool, missing: set[int], types: dict[int, Typed],
        may_have: Callable[[int, int], bool],
    ) -> None:  # fmt: skip
        for child in die.iter_children():
            if child.tag == "DW_TAG_variable":
                address = self._address(child)
                described = target(declared(child))
                if address in missing and described is not None:
                    name = type_name(described, cplusplus)
                    types[address] = Typed(described, name, declared(child))
                    missing.discard(address)
            elif child.tag == "DW_TAG_common_block":
                self._common(child, missing, types)
            elif child.tag in WALKED and child.has_children:
                after = child.attributes.get("DW_AT_sibling")
                end = after.value + child.cu.cu_offset if after is not None else None
                if end is None or may_have(child.offset, end):
                    self._walk(child, cplusplus, missing, types, may_have)

    def _common(self, block: DIE, missing: set[int], types: dict[int, Typed]) -> None:
        places = [(self._address(child), child) for child in block.iter_children()]
        members = [
            (at, die_name(child), described)
            for at, child in places
            if at is not None and (described := target(child)) is not None
        ]
        begin = min((at for at, *_ in members), default=None)
        if begin in missing:
            types[begin] = Common(block, [(at - begin, name, of) for at, name, of in members])
            missing.discard(begin)

    def _address(self, variable: DIE) -> int | None:
        """Return the fixed address of a variable, or None if it has none."""
        place = variable.attributes.get("DW_AT_location")
        if place is None or not isinstance(place.value, list) or not place.value:
            return None
        code, *rest = place.value
        local = LOCAL if rest[-1:] in _DW_OP_TLS else 0
        if local:
            rest.pop()
        if code == (_DW_OP_CONST8U if local else _DW_OP_ADDR) and len(rest) == 8:
            return local + int.from_bytes(bytes(rest), "little")
        if code not in (_DW_OP_CONSTX if local else _DW_OP_ADDRX):
            return None
        # In DWARF 5 clang numbers addresses. The number is an unsigned LEB128.
        length = next((n + 1 for n, byte in enumerate(rest) if byte < 0x80), len(rest))
        # With DW_OP_deref_size fewer bytes lie there, from which the variable is computed.
        if rest[length : length + 1] not in ([], [_DW_OP_DEREF_SIZE]):
            return None
        index = sum((byte & 0x7F) << 7 * n for n, byte in enumerate(rest[:length]))
        return local + int(variable.dwarfinfo.get_addr(variable.cu, index))


def declared(die: DIE) -> DIE:
    """Return the declaration of a definition that only adds a location, or the definition."""
    for name in ("DW_AT_specification", "DW_AT_abstract_origin"):
        if "DW_AT_type" not in die.attributes and name in die.attributes:
            return referred(die, name)
    return die
