# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Describes the edit of the source that puts an object or a member on a line of its own."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE

from model.lines.dwarf import (
    AGGREGATES,
    bare_of,
    die_name,
    die_size,
    ends_open,
    is_opaque,
    is_standard,
    member_at,
    steps,
)  # fmt: skip
from model.lines.references import type_of
from record.lines.symbols import PATHS_OF_LIBRARIES

_LINE = 64
_CPLUSPLUS, _RUST, _GO = (0x04, 0x1A, 0x21, 0x2B), 0x1C, 0x16
_C = (0x01, 0x02, 0x0C, 0x1D, 0x2C)

# What an edit aligns: the member at an offset, the outermost array there, each element of that
# array, or each object of the type.
Aligned = Literal["member", "array", "element", "object"]
_Arrays = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Edit:
    """An edit in words, '' if unknown, and the offsets of an object at which lines then begin.

    ``begins``: offsets, each with step and count of the arrays around it, the outermost one first.
    """

    words: str = ""
    begins: tuple[tuple[int, _Arrays], ...] = ()

    def starts(self, low: int, high: int) -> set[int]:
        """Return the offsets at which lines begin, for array elements only those in the range."""
        every: set[int] = set()
        for first, arrays in self.begins:
            some = [first]
            for step, count in arrays:
                some = [
                    at + step * n
                    for at in some
                    for n in range(max(0, (low - at) // step), min(count, (high - at) // step + 1))
                ]
            every.update(some)
        return every


def _place(die: DIE) -> str | None:
    """Return where a type, a member or a variable is declared: ' (file:line)', '' if unknown.

    Return None for a declaration of a library.
    """
    file, line = die.attributes.get("DW_AT_decl_file"), die.attributes.get("DW_AT_decl_line")
    unit = die.cu
    program = die.dwarfinfo.line_program_for_CU(unit) if isinstance(unit, CompileUnit) else None
    if file is None or line is None or program is None:
        # Rust does not say where a type or member is declared.
        return None if _language(die) == _RUST and is_standard(die) else ""
    first = int(program.header.version < 5)
    entry = program["file_entry"][file.value - first]
    folders = program["include_directory"]
    number = entry.dir_index - first
    folder = folders[number].decode("utf-8", "replace") if number >= 0 else ""
    path = PurePosixPath(folder, entry.name.decode("utf-8", "replace"))
    if PATHS_OF_LIBRARIES.fullmatch(str(path)):
        return None
    return f" ({path.name}:{line.value})"


def _language(die: DIE) -> int:
    language = die.cu.get_top_DIE().attributes.get("DW_AT_language")
    return int(language.value) if language is not None else 0


def _of_objects(die: DIE, array: DIE | None = None) -> str:
    """Return the edit that aligns each object of a type, or each element of an array."""
    of = bare_of(die)
    # In C a structure may have only the name of its typedef.
    place, name, language = _place(of), die_name(of) or die_name(die), _language(of)
    if of.tag not in AGGREGATES or not name or (array is not None and is_opaque(of)):
        declared = _place(array) if array is not None else ""
        return f"elements of a type with `alignas({_LINE})`{declared}" if declared else ""
    if place is None:
        return ""
    if language == _GO:
        rest = -(die_size(of) or 0) % _LINE
        return f"`_ [{rest}]byte` at the end of `{name}`{place}" if rest else ""
    if not place and language != _RUST:
        return ""
    if language == _RUST:
        return f"`#[repr(align({_LINE}))]` on `{name}`{place}"
    if language in _CPLUSPLUS:
        return f"`alignas({_LINE})` on `{name}`{place}"
    return f"`_Alignas({_LINE})` on the first member of `{name}`{place}" if language in _C else ""


def _of_member(declared: DIE) -> str:
    """Return the edit that aligns a member or a variable."""
    place, name, language = _place(declared), die_name(declared), _language(declared)
    if place is None or not name or not (place or language == _RUST):
        return ""
    if language == _RUST:
        return f"a type with `#[repr(align({_LINE}))]` for `{name}`{place}"
    if language in _CPLUSPLUS:
        return f"`alignas({_LINE})` on `{name}`{place}"
    return f"`_Alignas({_LINE})` on `{name}`{place}" if language in _C else ""


def edit_of(die: DIE, offset: int, variable: DIE | None, aligned: Aligned, whole: int) -> Edit:
    """Return the edit; without words if the debug information does not say where to make it.

    ``die``: the type of an object. ``variable``: the object's declaration, if it is a variable.
    ``whole``: the size of the object, which may be an array of the type.
    """
    size = die_size(die) or 0
    arrays: _Arrays = ((size, whole // size),) if 0 < size < whole and not ends_open(die) else ()
    at = offset % size if arrays else offset
    if aligned == "object" or (arrays and aligned == "element"):
        return Edit(_of_objects(die), ((0, arrays), (size, arrays)))
    if arrays and aligned == "array":
        return Edit()  # an allocation, which no type aligns
    member, inner, back = variable, variable, 0  # back: from an element to the first one
    around: tuple[tuple[int, _Arrays], ...] = ()
    begins = around
    for of, start, _ in steps(die, at):
        first = start - back
        if inner is not None:
            member, begins = inner, (*around, (first, arrays))
        inner = None
        if of.tag == "DW_TAG_array_type":
            if aligned == "array":
                break
            step = die_size(type_of(of)) or 1
            inside = (*arrays, (step, (die_size(of) or whole - start) // step))
            if aligned == "element":
                ends = ((first, inside), (first + step, inside))
                return Edit(_of_objects(type_of(of), member), (*around, *ends))
            arrays, back = inside, back + (at - start) // step * step
        if is_opaque(of):
            break
        if of.tag in AGGREGATES:
            around += ((first, arrays), (first + (die_size(of) or 0), arrays))
            inner = member_at(of, at - start)
            if inner is not None and (not die_name(inner) or _place(inner) is None):
                inner = None
    words = _of_member(member) if member is not None else ""
    return Edit(words, begins) if words else Edit()
