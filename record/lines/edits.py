# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Describes the edit of the source that puts an object or a member on a line of its own."""

from pathlib import PurePosixPath

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE

from model.lines.dwarf import AGGREGATES, bare_of, die_name, die_size, is_opaque, member_at, steps
from model.lines.references import type_of
from record.lines.symbols import PATHS_OF_LIBRARIES

_LINE = 64
_CPLUSPLUS, _RUST, _GO = (0x04, 0x1A, 0x21, 0x2B), 0x1C, 0x16
_C = (0x01, 0x02, 0x0C, 0x1D, 0x2C)


def _place(die: DIE) -> str | None:
    """Return where a type, a member or a variable is declared: ' (file:line)', '' if unknown.

    Return None for a declaration of a library.
    """
    file, line = die.attributes.get("DW_AT_decl_file"), die.attributes.get("DW_AT_decl_line")
    unit = die.cu
    program = die.dwarfinfo.line_program_for_CU(unit) if isinstance(unit, CompileUnit) else None
    if file is None or line is None or program is None:
        return ""
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


def _of_objects(of: DIE) -> str:
    """Return the edit that aligns each object of a structure."""
    place, name, language = _place(of), die_name(of), _language(of)
    if place is None or not name:
        return ""
    if language == _GO:
        rest = -(die_size(of) or 0) % _LINE
        return f"`_ [{rest}]byte` at the end of `{name}`{place}" if rest else ""
    if not place:
        return ""
    if language == _RUST:
        return f"`#[repr(align({_LINE}))]` on `{name}`{place}"
    if language in _CPLUSPLUS:
        return f"`alignas({_LINE})` on `{name}`{place}"
    return f"`_Alignas({_LINE})` on the first member of `{name}`{place}" if language in _C else ""


def _of_member(declared: DIE) -> str:
    """Return the edit that aligns a member or a variable."""
    place, name, language = _place(declared), die_name(declared), _language(declared)
    if not place or not name:
        return ""
    if language == _RUST:
        return f"a type with `#[repr(align({_LINE}))]` for `{name}`{place}"
    if language in _CPLUSPLUS:
        return f"`alignas({_LINE})` on `{name}`{place}"
    return f"`_Alignas({_LINE})` on `{name}`{place}" if language in _C else ""


def edit_of(die: DIE, offset: int, variable: DIE | None, *, objects: bool) -> str:
    """Return the edit, or '' if the debug information does not say where to make it.

    ``die``: the type of an object. ``variable``: the object's declaration, if it is a variable.
    ``objects``: align each object of the type, or each element of the array around ``offset``. Else
    align the member at ``offset``.
    """
    size = die_size(die)
    at = offset % size if size else offset
    member = variable
    for of, start, _ in steps(die, at):
        if of.tag == "DW_TAG_array_type" and objects:
            element = bare_of(type_of(of))
            if element.tag in AGGREGATES and not is_opaque(element):
                return _of_objects(element)
            place = _place(member) if member is not None else ""
            return f"elements of a type with `alignas({_LINE})`{place}" if place else ""
        if is_opaque(of):
            break
        inner = member_at(of, at - start) if of.tag in AGGREGATES else None
        if inner is not None and die_name(inner) and _place(inner) is not None:
            member = inner
    if objects:
        return _of_objects(bare_of(die))
    return _of_member(member) if member is not None else ""
