# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Split debug information: units whose descriptions lie in a .dwo file or in a .dwp package.

The program keeps a skeleton of each unit: the file's name, an identity, and the place of its
addresses. The reader of debug information knows the form of a split unit. It knows neither which
sections belong to the unit, nor the places in them that the skeleton implies. This file supplies
both.

DWARF 4 has GNU's variant: other names, no headers of the tables, and two forms of attributes that
the reader knows only by their numbers of DWARF 5. Location lists are left out.
"""

import struct
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from elftools.common.exceptions import DWARFError, ELFError
from elftools.common.utils import struct_parse
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE, AttributeValue
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.dwarf.structs import DWARFStructs
from elftools.dwarf.typeunit import TypeUnit
from elftools.elf.elffile import ELFFile

from record.lines.references import signed

# Columns of a package's index (DWARF 5, 7.3.5.3), and the section of each.
_COLUMNS = {
    1: "info", 2: "types", 3: "abbrev", 4: "line", 5: "loclists", 6: "str_offsets", 8: "rnglists",
}  # fmt: skip
_SECTIONS = (*_COLUMNS.values(), "str")
_NONE = (
    "debug_aranges_sec", "debug_frame_sec", "eh_frame_sec", "debug_loc_sec", "debug_ranges_sec",
    "debug_pubtypes_sec", "debug_pubnames_sec", "debug_line_str_sec", "debug_sup_sec",
    "gnu_debugaltlink_sec",
)  # fmt: skip
# Offset of the first byte behind the header in a unit's part of these sections.
_BASES = {
    "DW_AT_str_offsets_base": ("str_offsets", 8),
    "DW_AT_loclists_base": ("loclists", 12),
    "DW_AT_rnglists_base": ("rnglists", 12),
}
_NAMES, _FOLDER = ("DW_AT_dwo_name", "DW_AT_GNU_dwo_name"), "DW_AT_comp_dir"
_IDENTITY = "DW_AT_GNU_dwo_id"
_KINDS = ("cu", "tu")  # of a package's indices: of units, of types
_VERSIONS = (2, 5)  # of such an index: GNU's, DWARF 5's
# GNU's forms of an index of addresses and of strings, and DWARF 5's in two bytes.
_FORMS = {0x1F01: b"\x9b\x00", 0x1F02: b"\x9a\x00"}
_NUMBER = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8).the_Dwarf_uleb128

_Parts = dict[str, bytes]


def _sections(elf: ELFFile) -> _Parts:
    """Return the content of each section.

    Compilers write several sections of one name, which are joined.
    """
    found: _Parts = {}
    for section in elf.iter_sections():
        name = section.name.removeprefix(".debug_").removesuffix(".dwo")
        if section.name == f".debug_{name}.dwo" and name in _SECTIONS:
            found[name] = found.get(name, b"") + section.data()
    return found


def _usual_forms(table: bytes) -> bytes:
    """Return a table of abbreviations of DWARF 4 with forms of DWARF 5 in place of GNU's."""
    made, read = bytearray(table), BytesIO(table)

    def number() -> int:
        return int(struct_parse(_NUMBER, read))

    while read.tell() < len(table):
        if not number():
            continue
        number()
        read.read(1)  # whether there are children
        attribute = form = 1
        while attribute or form:
            attribute, at = number(), read.tell()
            form = number()
            if form in _FORMS:
                made[at : read.tell()] = _FORMS[form]
    return bytes(made)


def _identity(top: DIE) -> int | None:
    """Return the identity of a skeleton, or of the unit that it stands for."""
    said = top.attributes.get(_IDENTITY)
    found = said.value if said is not None else top.cu.header.get("dwo_id")
    return int(found) if found is not None else None


class _Package:
    """A package: all split units of a program in one file, and the types that several units use."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            elf = ELFFile(file)
            self._whole = _sections(elf)
            indices = {kind: elf.get_section_by_name(f".debug_{kind}_index") for kind in _KINDS}
            self._indices = {kind: each.data() for kind, each in indices.items() if each}
        self._known: dict[int, DIE] = {}

    def parts(self, kind: str, identity: int) -> _Parts | None:
        """Return the sections of one unit, or None if the package does not contain the unit."""
        data = self._indices.get(kind)
        if data is None:
            return None
        version, columns, units, slots = struct.unpack_from("<HxxIII", data)
        if version not in _VERSIONS:
            return None
        keys = struct.unpack_from(f"<{slots}Q", data, 16)
        rows = struct.unpack_from(f"<{slots}I", data, 16 + 8 * slots)
        row = dict(zip(keys, rows, strict=True)).get(identity, 0)
        if not 1 <= row <= units:
            return None
        at = 16 + 12 * slots
        names = struct.unpack_from(f"<{columns}I", data, at)
        offsets = struct.unpack_from(f"<{columns}I", data, at + 4 * columns * row)
        sizes = struct.unpack_from(f"<{columns}I", data, at + 4 * columns * (units + row))
        parts = {"str": self._whole.get("str", b"")}
        for number, offset, size in zip(names, offsets, sizes, strict=True):
            name = _COLUMNS.get(number)
            if name is not None and name in self._whole:
                parts[name] = self._whole[name][offset : offset + size]
        return parts

    def type(self, signature: int, gnu: bool) -> DIE:
        """Return the type with a signature, from any unit. Raise a LookupError without one."""
        if signature not in self._known:
            parts = self.parts("tu", signature)
            if parts is None:
                raise LookupError(signature)
            self._known[signature] = signed(_Split(parts, None, gnu, self), signature)
        return self._known[signature]


class _Split(DWARFInfo):
    """The debug information in some sections. Further types may be in the package they are from."""

    def __init__(
        self,
        parts: _Parts,
        addresses: DebugSectionDescriptor | None,
        gnu: bool,
        package: _Package | None,
    ) -> None:
        self._gnu = gnu
        self._package = package
        if gnu and "abbrev" in parts:
            parts = {**parts, "abbrev": _usual_forms(parts["abbrev"])}
        super().__init__(
            DwarfConfig(little_endian=True, machine_arch="x64", default_address_size=8),
            **{f"debug_{name}_sec": _section(parts, name) for name in _SECTIONS},
            debug_addr_sec=addresses,
            **dict.fromkeys(_NONE),
        )
        for unit in self.iter_CUs():
            self._place(unit, parts)
        for each in self.iter_TUs():
            self._place(self.get_TU_by_sig8(each["signature"]), parts)

    def _place(self, unit: CompileUnit | TypeUnit, parts: _Parts) -> None:
        # The first attempt keeps the description and fails at its names, which need the attributes
        # set below. Nobody asks for the unit's own name afterwards.
        with suppress(DWARFError):
            unit.get_top_DIE()
        for name, (of, begin) in _BASES.items():
            if of in parts:
                unit.get_top_DIE().attributes[name] = _number(name, 0 if self._gnu else begin)

    def get_DIE_by_sig8(self, sig8: int) -> DIE:  # noqa: N802
        """Return the type with a signature. Raise a LookupError without one."""
        try:
            return super().get_DIE_by_sig8(sig8)
        except KeyError:
            if self._package is None:
                raise
            return self._package.type(sig8, self._gnu)


def _section(parts: _Parts, name: str) -> DebugSectionDescriptor | None:
    data = parts.get(name)
    if not data:
        return None
    return DebugSectionDescriptor(BytesIO(data), f".debug_{name}.dwo", 0, len(data), 0)


def _described(dwarf: DWARFInfo, skeleton: DIE, has_lines: bool) -> DIE:
    """Return the unit that a skeleton stands for, with the skeleton's attributes added."""
    for unit in dwarf.iter_CUs():
        top = unit.get_top_DIE()
        if _identity(top) != _identity(skeleton):
            continue
        for name in ("DW_AT_addr_base", "DW_AT_low_pc"):
            if name in skeleton.attributes:
                top.attributes[name] = skeleton.attributes[name]
        if "DW_AT_GNU_addr_base" in skeleton.attributes:
            base = skeleton.attributes["DW_AT_GNU_addr_base"].value
            top.attributes["DW_AT_addr_base"] = _number("DW_AT_addr_base", base)
        if has_lines:
            top.attributes["DW_AT_stmt_list"] = _number("DW_AT_stmt_list", 0)
        return top
    raise DWARFError("the split unit is another one's")


def _number(name: str, value: int) -> AttributeValue:
    return AttributeValue(name, "DW_FORM_sec_offset", value, value, 0, 0)


class Splits:
    """The split units of one file. Each is read once, at the first request."""

    def __init__(self, path: Path, dwarf: DWARFInfo) -> None:
        self._path = path
        self._dwarf = dwarf
        self._known: dict[int, DIE] = {}
        self._package: _Package | None = None

    def whole(self, top: DIE) -> DIE:
        """Return the unit that a skeleton stands for. Any other unit is returned unchanged."""
        if not any(name in top.attributes for name in _NAMES):
            return top
        if top.offset not in self._known:
            self._known[top.offset] = self._read(top)
        return self._known[top.offset]

    def _read(self, skeleton: DIE) -> DIE:
        name = Path(next(filter(None, (_text(skeleton, each) for each in _NAMES)), ""))
        # Search the folder of compilation, then the program's folder, then the program's package.
        beside = self._path.parent
        for path in (Path(_text(skeleton, _FOLDER)) / name, beside / name, beside / name.name):
            if path.is_file():
                with path.open("rb") as file:
                    return self._unit(_sections(ELFFile(file)), skeleton)
        package = self._path.with_name(f"{self._path.name}.dwp")
        if self._package is None and package.is_file():
            self._package = _Package(package)
        if self._package is not None:
            parts = self._package.parts("cu", _identity(skeleton) or 0)
            if parts is not None:
                return self._unit(parts, skeleton)
        raise ELFError(f"no file {name}")

    def _unit(self, parts: _Parts, skeleton: DIE) -> DIE:
        gnu = _IDENTITY in skeleton.attributes
        dwarf = _Split(parts, self._dwarf.debug_addr_sec, gnu, self._package)
        return _described(dwarf, skeleton, bool(parts.get("line")))


def _text(die: DIE, name: str) -> str:
    value = die.attributes[name].value if name in die.attributes else b""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
