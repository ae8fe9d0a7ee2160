# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Follows references between descriptions of DWARF, including those to type units.

With -fdebug-types-section a type that several files use is described once, in a unit with a
signature. References contain that signature, or lead to a declaration that contains it. DWARF 4 has
a section for such units. In DWARF 5 they are among the others, where pyelftools does not look.
"""

import struct
from collections.abc import Iterator
from io import BytesIO
from weakref import WeakKeyDictionary

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DWARFInfo

_HEAD = struct.Struct("<HBx")  # version, kind of unit; then the place of its abbreviations
_KINDS = {2, 6}  # type, split type
_LONG = 0xFFFFFFFF
# By signature: the unit and the description in it.
_known: WeakKeyDictionary[DWARFInfo, dict[int, tuple[int, int]]] = WeakKeyDictionary()


def referred(die: DIE, name: str) -> DIE:
    """Return the description to which an attribute refers."""
    attribute = die.attributes[name]
    if attribute.form == "DW_FORM_ref_sig8":
        target = signed(die.dwarfinfo, attribute.raw_value)
    else:
        target = die.get_DIE_from_attribute(name)
    return defined(target)


def defined(die: DIE) -> DIE:
    """Return the definition of the type that ``die`` defines or only declares."""
    signature = die.attributes.get("DW_AT_signature")
    return die if signature is None else signed(die.dwarfinfo, signature.raw_value)


def type_of(die: DIE) -> DIE:
    """Return the type of a variable or a member, or the target of a pointer."""
    return referred(die, "DW_AT_type")


def is_of_a_type(unit: CompileUnit) -> bool:
    """Whether a unit describes only one type."""
    return unit.header.get("unit_type") in ("DW_UT_type", "DW_UT_split_type")


def signed(dwarf: DWARFInfo, signature: int) -> DIE:
    """Return the type with a signature, or raise a LookupError."""
    if dwarf not in _known:
        _known[dwarf] = dict(_type_units(dwarf))
    if signature not in _known[dwarf]:
        return dwarf.get_DIE_by_sig8(signature)
    unit, offset = _known[dwarf][signature]
    return dwarf.get_CU_at(unit).get_DIE_from_refaddr(unit + offset)


def _type_units(dwarf: DWARFInfo) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the type units of DWARF 5. Only their headers are read, because they are many."""
    if dwarf.debug_info_sec is None:
        return
    data, at = bytes_of(dwarf.debug_info_sec), 0
    while at + 4 + _HEAD.size <= len(data):
        size, word, head = int.from_bytes(data[at : at + 4], "little"), 4, at + 4
        if size == _LONG:
            size, word, head = int.from_bytes(data[head : head + 8], "little"), 8, head + 8
        version, kind = _HEAD.unpack_from(data, head)
        if version == 5 and kind in _KINDS:
            place = head + _HEAD.size + word
            signature = int.from_bytes(data[place : place + 8], "little")
            offset = int.from_bytes(data[place + 8 : place + 8 + word], "little")
            yield signature, (at, offset)
        at = head + size


def bytes_of(section: DebugSectionDescriptor | None) -> memoryview | bytes:
    """Return the bytes of a section, which are already in memory."""
    if section is None:
        return b""
    if isinstance(section.stream, BytesIO):
        return section.stream.getbuffer()
    section.stream.seek(0)
    return section.stream.read()
