# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads field names and sizes of structures from a binary's debug information."""

import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.namelut import NameLUTEntry
from elftools.elf.elffile import ELFFile

from common.errors import UserError, os_reason
from model.lines.references import type_of

_WRAPPERS = {"DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_atomic_type"}
AGGREGATES = {"DW_TAG_structure_type", "DW_TAG_union_type", "DW_TAG_class_type"}

_FORTRAN = (0x07, 0x08, 0x0E, 0x22, 0x23, 0x2D)
_COLUMN_MAJOR = 1

_SET = struct.Struct("<IHII")  # of an index: length, version, offset of the unit, its length

_BYTES_OF = ("__aligned_membuf<", "__aligned_buffer<")


def bare_type(type_name: str) -> str:
    """Return a type's name without qualifiers: 'sbm_line' for 'const struct sbm_line[]'."""
    words = type_name.replace("[]", " ").replace("*", " ").split()
    return " ".join(word for word in words if word not in ("struct", "union", "const", "volatile"))


def die_name(die: DIE) -> str:
    """Return the name in a description, '' if it has no name."""
    attribute = die.attributes.get("DW_AT_name")
    return attribute.value.decode("utf-8", "replace") if attribute is not None else ""


def die_size(die: DIE) -> int | None:
    """Return the size of a type in bytes, None if unknown (flexible arrays)."""
    while die.tag in _WRAPPERS:
        if "DW_AT_type" not in die.attributes:
            return None
        die = type_of(die)
    if die.tag == "DW_TAG_array_type":
        element = die_size(type_of(die))
        counts = array_counts(die)
        if element is None or None in counts:
            return None
        total = element
        for count in counts:
            total *= count or 0
        return total
    attribute = die.attributes.get("DW_AT_byte_size")
    if attribute is None:
        # Go's pointers and maps have no size in the debug information.
        return die.cu["address_size"] if die.tag == "DW_TAG_pointer_type" else None
    return int(attribute.value)


def array_counts(die: DIE) -> list[int | None]:
    """Return the number of elements in each dimension, None if it is flexible."""
    counts: list[int | None] = []
    for child in die.iter_children():
        if child.tag != "DW_TAG_subrange_type":
            continue
        bound = child.attributes.get("DW_AT_upper_bound")
        count = child.attributes.get("DW_AT_count")
        if count is not None and isinstance(count.value, int):
            counts.append(count.value)
        elif bound is not None and isinstance(bound.value, int):
            counts.append(bound.value + 1 - _lowest(child))
        else:
            counts.append(None)
    return counts or [None]


def _lowest(subrange: DIE) -> int:
    """Return the index of a dimension's first element: 1 in Fortran unless declared otherwise."""
    low = subrange.attributes.get("DW_AT_lower_bound")
    if low is not None:
        return int(low.value) if isinstance(low.value, int) else 0
    language = subrange.cu.get_top_DIE().attributes.get("DW_AT_language")
    return int(language is not None and language.value in _FORTRAN)


def _indices(die: DIE, index: int) -> list[int]:
    """Return the indices of an array's element, as the source writes them."""
    subranges = [c for c in die.iter_children() if c.tag == "DW_TAG_subrange_type"]
    counts = array_counts(die)
    ordering = die.attributes.get("DW_AT_ordering")
    by_column = ordering is not None and ordering.value == _COLUMN_MAJOR
    fast = counts[:-1] if by_column else counts[:0:-1]
    digits = []
    for count in fast:
        index, low = divmod(index, count or 1)
        digits.append(low)
    digits.append(index)
    numbers = digits if by_column else digits[::-1]
    lows = [_lowest(subrange) for subrange in subranges] or [0]
    return [number + low for number, low in zip(numbers, lows, strict=True)]


def member_start(member: DIE) -> int:
    """Return a member's offset in its structure."""
    if "DW_AT_data_bit_offset" in member.attributes:
        return int(member.attributes["DW_AT_data_bit_offset"].value) // 8
    place = member.attributes.get("DW_AT_data_member_location")
    return int(place.value) if place is not None and isinstance(place.value, int) else 0


# Types of libraries that are one object to a program, which cannot separate their members.
_WHOLE = re.compile(
    r"^(pthread_\w+_t|sem_t|mtx_t|cnd_t|once_flag|_?_?IO_FILE|_IO_FILE|FILE|gomp_\w+|kmp_\w+"
    r"|(recursive_|timed_|recursive_timed_|shared_|shared_timed_)?mutex|__mutex_base"
    r"|condition_variable(_any)?|barrier(<.*>)?|latch|counting_semaphore<.*>|_Sp_counted_base<.*>"
    r"|_Mutex_base<.*>|locale|basic_[io]*stream<.*>"
    r"|(internal/)?sync\.(RW)?Mutex|sync\.(WaitGroup|Once|Cond|Pool|Map))$"  # Go's
)


# Such types of C++ and Rust, if they belong to the standard libraries.
_CONTAINER = re.compile(
    r"^((forward_)?list|vector|deque|(unordered_)?(multi)?(map|set)|basic_string|function"
    r"|(shared|weak|unique)_ptr|Vec|VecDeque|HashMap|HashSet|BTreeMap|BTreeSet|BinaryHeap)<|^String$"
)
_LOCK = re.compile(r"^(Mutex|RwLock)<")
_STANDARD = {"std", "core", "alloc", "hashbrown"}
# Types of C++ that contain what the program put into them.
_CLEAR = re.compile(r"^(array|optional|_Optional_\w+|_Storage)<")

# Atomic types of C++ and Rust. Programs name such an object, not the value inside it.
_ATOMIC = re.compile(
    r"^(atomic|__atomic_base|Atomic(Ptr)?)<|^Atomic(Bool|[IU](8|16|32|64|128|size))$"
)


def steps(die: DIE, offset: int) -> Iterator[tuple[DIE, int, str]]:
    """Yield the types around an offset, outermost first, each with its start and its path.

    The path leaves out members inside an atomic value: ``.hits``, not ``.hits._M_i``.
    """
    start, path, named = 0, "", True
    while True:
        yield die, start, path
        if die.tag in _WRAPPERS:
            if "DW_AT_type" not in die.attributes:
                return
            die = type_of(die)
        elif die.tag == "DW_TAG_array_type":
            element = type_of(die)
            size = die_size(element)
            if not size:
                return
            index = (offset - start) // size
            start += index * size
            path += "".join(f"[{number}]" for number in _indices(die, index))
            die = element
        elif (inside := _held(die)) is not None:
            die = inside
        elif die.tag in AGGREGATES:
            member = member_at(die, offset - start)
            if member is None:
                return
            named = named and not (_ATOMIC.match(die_name(die)) and (die_size(die) or 0) <= 16)
            clear = bool(_CLEAR.match(die_name(die))) and is_standard(die)
            name = die_name(member)
            start += member_start(member)
            path += f".{name}" if name and named and not clear else ""
            die = type_of(member)
        else:
            return


def _held(die: DIE) -> DIE | None:
    """Return the type in memory that a C++ container declares as bytes, such as a map's node."""
    if die.tag not in AGGREGATES or not die_name(die).startswith(_BYTES_OF):
        return None
    of = template_type(die)
    return of if of is not None and die_size(of) == die_size(die) else None


def template_type(die: DIE) -> DIE | None:
    """Return the first type argument of a template, or None."""
    for child in die.iter_children():
        if child.tag == "DW_TAG_template_type_param" and "DW_AT_type" in child.attributes:
            return type_of(child)
    return None


def member_at(die: DIE, offset: int) -> DIE | None:
    """Return the member or base class at an offset of a structure."""
    open_ended = None
    for child in die.iter_children():
        if child.tag not in ("DW_TAG_member", "DW_TAG_inheritance"):
            continue
        # A static member has no offset, and an empty class has the offset of its neighbour.
        if child.tag == "DW_TAG_member" and "DW_AT_external" in child.attributes:
            continue
        start = member_start(child)
        of = type_of(child)
        size = die_size(of)
        if _is_empty(of):
            continue
        # An array without a known size reaches to the end of the object. A base class without one
        # was declared only, and ends before the next member.
        if start <= offset and size is None:
            open_ended = child
        elif start <= offset < start + (size or 0):
            return child
    return open_ended


def is_opaque(die: DIE) -> bool:
    """Whether a program uses a type as a whole: an atomic value, a lock, or a container."""
    name = die_name(die)
    known = _WHOLE.match(name) or (_CONTAINER.match(name) and is_standard(die))
    return bool(known or (_ATOMIC.match(name) and (die_size(die) or 0) <= 16))


def _is_empty(die: DIE) -> bool:
    """Whether a class has no data, so a neighbour uses its one byte."""
    die = bare_of(die)
    if die.tag not in AGGREGATES or die_size(die) not in (0, 1):
        return False
    # In an enumeration of Rust the byte says which variant it is.
    if any(child.tag == "DW_TAG_variant_part" for child in die.iter_children()):
        return False
    return all(
        _is_empty(type_of(child))
        for child in die.iter_children()
        if child.tag in ("DW_TAG_member", "DW_TAG_inheritance")
        and "DW_AT_external" not in child.attributes
    )


def member_path(die: DIE, offset: int) -> str:
    """Return the member at an offset: '.word', '[3].word', '' for a type without members."""
    *_, (last, start, path) = steps(die, offset)
    return f"{path}.(padding)" if last.tag in AGGREGATES and offset > start else path


def fits(die: DIE, offset: int, size: int) -> bool:
    """Whether an access begins and ends at boundaries of members."""
    *_, (first, start, _) = steps(die, offset)
    *_, (last, begin, _) = steps(die, offset + size - 1)
    ends = begin + (die_size(last) or 0)
    return start == offset and ends == offset + size and first.tag not in AGGREGATES


def _names(die: DIE) -> set[str]:
    """Return all names of a type."""
    return {die_name(alias) for alias in _unwrapped(die)} - {""}


def _unwrapped(die: DIE) -> Iterator[DIE]:
    """Yield a type and the types behind its typedefs and qualifiers."""
    yield die
    while die.tag in _WRAPPERS and "DW_AT_type" in die.attributes:
        die = type_of(die)
        yield die


def bare_of(die: DIE) -> DIE:
    """Return a type without typedefs and qualifiers."""
    *_, last = _unwrapped(die)
    return last


def _same(die: DIE, other: DIE) -> bool:
    """Whether two descriptions mean the same type, or numbers of the same size."""
    plain, like = bare_of(die), bare_of(other)
    if die_size(plain) != die_size(like):
        return False
    kinds = {bare.tag in AGGREGATES or bare.tag == "DW_TAG_array_type" for bare in (plain, like)}
    if kinds == {False}:
        return True
    return kinds == {True} and (bool(_names(die) & _names(other)) or plain is like)


def contains(die: DIE, offset: int, other: DIE) -> bool:
    """Whether an object of type ``other`` begins at an offset: the whole or a nested member."""
    if offset == 0 and _same(die, other):
        return True
    plain = bare_of(die)
    if plain.tag == "DW_TAG_array_type":
        element = type_of(plain)
        size = die_size(element)
        return bool(size) and contains(element, offset % (size or 1), other)
    inside = _held(plain)
    if inside is not None:
        return contains(inside, offset, other)
    for child in plain.iter_children() if plain.tag in AGGREGATES else ():
        if child.tag not in ("DW_TAG_member", "DW_TAG_inheritance"):
            continue
        if "DW_AT_external" in child.attributes or "DW_AT_type" not in child.attributes:
            continue
        start, of = member_start(child), type_of(child)
        size = die_size(of)
        within = start <= offset and (size is None or offset < start + size)
        if within and contains(of, offset - start, other):
            return True
    return False


def is_standard(die: DIE) -> bool:
    """Whether a type is in a namespace of a standard library."""
    outer = die.get_parent()
    while outer is not None:
        if outer.tag == "DW_TAG_namespace" and die_name(outer) in _STANDARD:
            return True
        outer = outer.get_parent()
    return False


def _lock_of(die: DIE, offset: int) -> tuple[int, int] | None:
    """Return the start and size of what a lock of Rust has besides the data that it protects."""
    if not _LOCK.match(die_name(die)) or not is_standard(die):
        return None
    members = [child for child in die.iter_children() if child.tag == "DW_TAG_member"]
    parts = [(member_start(m), die_size(type_of(m)) or 0, die_name(m)) for m in members]
    if any(name == "data" and at <= offset < at + size for at, size, name in parts):
        return None
    own = [(at, at + size) for at, size, name in parts if name != "data"]
    low = min((at for at, _ in own), default=0)
    return low, max((end for _, end in own), default=0) - low


def whole_member(die: DIE, offset: int) -> tuple[int, int, str] | None:
    """Return start, size and path of the library object around an offset, or None."""
    for part, start, path in steps(die, offset):
        name = die_name(part)
        lock = _lock_of(part, offset - start)
        if lock is not None:
            return start + lock[0], lock[1], path
        if _WHOLE.match(name) or (_CONTAINER.match(name) and is_standard(part)):
            return start, die_size(part) or 0, path
    return None


def index_of(elf: ELFFile, names: Iterable[str]) -> Iterator[tuple[str, NameLUTEntry]]:
    """Yield those names that an index of types has (.debug_pubtypes), faster than pyelftools."""
    wanted = {name.encode(): name for name in names}
    section = elf.get_section_by_name(".debug_pubtypes")
    data, at = section.data() if section is not None else b"", 0
    while at < len(data):
        length, _, unit, _ = _SET.unpack_from(data, at)
        end = at + 4 + length
        at += _SET.size
        while offset := int.from_bytes(data[at : at + 4], "little"):
            zero = data.index(0, at + 4)
            if name := wanted.get(data[at + 4 : zero]):
                yield name, NameLUTEntry(cu_ofs=unit, die_ofs=offset + unit)
            at = zero + 1
        at = end


class Layouts:
    """The structures of one binary, by name."""

    def __init__(self, binary: Path, wanted: Iterable[str], *, indexed: bool = False) -> None:
        """Find the ``wanted`` types of a binary; ``indexed``: first in its index of types.

        Reading all units takes a second for the simulator. The index is only for binaries of this
        project, because nothing checks it.
        """
        self._types: dict[str, DIE] = {}
        names = {bare_type(name) for name in wanted} - {""}
        try:
            # The file stays open, because DIEs read it lazily.
            self._file = binary.open("rb")
            elf = ELFFile(self._file)
            if elf.has_dwarf_info():
                # Only object files have relocations, for which pyelftools searches all sections.
                dwarf = elf.get_dwarf_info(elf["e_type"] == "ET_REL")
                for name, entry in index_of(elf, names) if indexed else ():
                    if name not in self._types:
                        self._keep(name, dwarf.get_DIE_from_lut_entry(entry))
                self._find(dwarf, names - self._types.keys())
        except OSError as error:
            raise UserError(f"cannot read {binary}: {os_reason(error)}") from error
        except (ELFError, DWARFError) as error:
            raise UserError(f"{binary} has no readable debug information: {error}", 1) from error

    def _find(self, dwarf: DWARFInfo, missing: set[str]) -> None:
        for unit in dwarf.iter_CUs() if missing else ():
            for die in unit.get_top_DIE().iter_children():
                if (name := die_name(die)) in missing and self._keep(name, die):
                    missing.discard(name)
            if not missing:
                return

    def _keep(self, name: str, die: DIE) -> bool:
        """Keep a type if the description is complete. Return whether the type was kept."""
        if die.tag == "DW_TAG_typedef" or (die.tag in AGGREGATES and die_size(die) is not None):
            self._types[name] = die
        return name in self._types

    def close(self) -> None:
        """Close the file; no field is available afterwards."""
        self._file.close()

    def field(self, type_name: str, offset: int) -> str:
        """Return the path of the field at an offset of an object or array of a type.

        Return '' if the binary does not describe the type.
        """
        die = self._types.get(bare_type(type_name))
        if die is None:
            return ""
        size = die_size(die)
        if size and offset >= size and not ends_open(die):
            index, rest = divmod(offset, size)
            return f"[{index}]{member_path(die, rest)}"
        return member_path(die, offset).removeprefix(".")


def ends_open(die: DIE) -> bool:
    """Whether a structure ends in a flexible array, so objects may be longer."""
    members = [child for child in bare_of(die).iter_children() if child.tag == "DW_TAG_member"]
    return bool(members) and die_size(type_of(members[-1])) is None
