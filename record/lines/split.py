# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads split debug information of DWARF 5: units whose descriptions lie in a .dwo file.

The program keeps a skeleton of each unit: the file's name, an identity, and the place of its
addresses. pyelftools knows the form of a split unit. But it knows neither which sections belong to
the unit, nor the places in them that the skeleton implies. This file adds both.
"""

from contextlib import suppress
from io import BytesIO
from pathlib import Path

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE, AttributeValue
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.elf.elffile import ELFFile

_SECTIONS = ("info", "types", "abbrev", "line", "loclists", "str_offsets", "rnglists", "str")
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
_NAME, _FOLDER = "DW_AT_dwo_name", "DW_AT_comp_dir"

_Parts = dict[str, bytes]


def _sections(elf: ELFFile) -> _Parts:
    """Return the content of each section.

    Compilers write several sections of one name, which are joined.
    """
    sections: _Parts = {}
    for section in elf.iter_sections():
        name = section.name.removeprefix(".debug_").removesuffix(".dwo")
        if section.name == f".debug_{name}.dwo" and name in _SECTIONS:
            sections[name] = sections.get(name, b"") + section.data()
    return sections


class _Split(DWARFInfo):
    """The debug information in some sections."""

    def __init__(self, parts: _Parts, addresses: DebugSectionDescriptor | None) -> None:
        super().__init__(
            DwarfConfig(little_endian=True, machine_arch="x64", default_address_size=8),
            **{f"debug_{name}_sec": _section(parts, name) for name in _SECTIONS},
            debug_addr_sec=addresses,
            **dict.fromkeys(_NONE),
        )
        for unit in self.iter_CUs():
            self._place(unit, parts)

    def _place(self, unit: CompileUnit, parts: _Parts) -> None:
        # pyelftools keeps the description, but fails at its names, because these need the
        # attributes that are set below. Nothing uses the unit's own name afterwards.
        with suppress(DWARFError):
            unit.get_top_DIE()
        for name, (of, begin) in _BASES.items():
            if of in parts:
                unit.get_top_DIE().attributes[name] = _number(name, begin)


def _section(parts: _Parts, name: str) -> DebugSectionDescriptor | None:
    data = parts.get(name)
    if not data:
        return None
    return DebugSectionDescriptor(BytesIO(data), f".debug_{name}.dwo", 0, len(data), 0)


def _described(dwarf: DWARFInfo, skeleton: DIE, has_lines: bool) -> DIE:
    """Return the unit that a skeleton stands for, with the skeleton's attributes added."""
    for unit in dwarf.iter_CUs():
        top = unit.get_top_DIE()
        if top.cu.header.get("dwo_id") != skeleton.cu.header.get("dwo_id"):
            continue
        for name in ("DW_AT_addr_base", "DW_AT_low_pc"):
            if name in skeleton.attributes:
                top.attributes[name] = skeleton.attributes[name]
        if has_lines:
            top.attributes["DW_AT_stmt_list"] = _number("DW_AT_stmt_list", 0)
        return top
    raise DWARFError("the split unit belongs to another skeleton")


def _number(name: str, value: int) -> AttributeValue:
    return AttributeValue(name, "DW_FORM_sec_offset", value, value, 0, 0)


class Splits:
    """The split units of one file. Each is read once, at the first request."""

    def __init__(self, path: Path, dwarf: DWARFInfo) -> None:
        self._path = path
        self._dwarf = dwarf
        self._known: dict[int, DIE] = {}

    def whole(self, top: DIE) -> DIE:
        """Return the unit that a skeleton stands for. Any other unit is returned unchanged."""
        if _NAME not in top.attributes:
            return top
        if top.offset not in self._known:
            self._known[top.offset] = self._read(top)
        return self._known[top.offset]

    def _read(self, skeleton: DIE) -> DIE:
        name = Path(_text(skeleton, _NAME))
        # Search the folder of compilation, then the program's folder.
        beside = self._path.parent
        for path in (Path(_text(skeleton, _FOLDER)) / name, beside / name, beside / name.name):
            if path.is_file():
                with path.open("rb") as file:
                    parts = _sections(ELFFile(file))
                dwarf = _Split(parts, self._dwarf.debug_addr_sec)
                return _described(dwarf, skeleton, bool(parts.get("line")))
        raise ELFError(f"no file {name}")


def _text(die: DIE, name: str) -> str:
    value = die.attributes[name].value if name in die.attributes else b""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
