# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the local variable in a function's frame that contains a byte.

Threads contend for locals of the function that started them: a counter in main(), or what a lambda
captured by reference. Other threads know such a variable's address, so it stays in the frame. The
debug information gives its offset from one of three addresses: the frame's end, rsp or rbp.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from elftools.dwarf.die import DIE
from elftools.dwarf.locationlists import BaseAddressEntry as LocationBase
from elftools.dwarf.locationlists import LocationEntry, LocationParser

from model.lines.dwarf import die_name
from record.lines.units import FAULTS, ranges
from record.names.variables import (
    MOST_BYTES,
    DebugInfo,
    Typed,
    declared,
    die_language,
    target,
    type_name,
)  # fmt: skip

_SCOPES = {
    "DW_TAG_namespace", "DW_TAG_class_type", "DW_TAG_structure_type", "DW_TAG_subprogram",
    "DW_TAG_lexical_block", "DW_TAG_inlined_subroutine",
}  # fmt: skip
_VARIABLES = {"DW_TAG_variable", "DW_TAG_formal_parameter"}
_FBREG, _CFA = 0x91, 0x9C
_REG_RBP, _REG_RSP, _BREG_RBP, _BREG_RSP = 0x56, 0x57, 0x76, 0x77


@dataclass(frozen=True)
class Frame:
    """A frame of a function that continues at ``pc``, an address in its file.

    The other addresses are those of the thread's stack.
    """

    pc: int
    sp: int
    bp: int
    end: int  # the caller's sp, which is the canonical frame address of DWARF


Live = tuple[DIE, DIE]  # a variable and its function


@dataclass(frozen=True)
class Local:
    """A variable in a frame."""

    name: str
    address: int
    typed: Typed


def signed(data: list[int]) -> int | None:
    """Return the value of a signed LEB128 number, or None if anything follows it."""
    value = 0
    for at, byte in enumerate(data):
        value |= (byte & 0x7F) << 7 * at
        if not byte & 0x80:
            if at + 1 != len(data):
                return None
            return value - (1 << 7 * (at + 1)) if byte & 0x40 else value
    return None


class Locals:
    """The local variables of one file's functions."""

    def __init__(self, info: DebugInfo) -> None:
        self._info = info
        self._functions: dict[int, list[tuple[int, int, DIE]]] = {}  # by unit: their code
        self._read = 0

    def at(self, frame: Frame, address: int) -> Local | None:
        """Return the variable of a frame that contains a byte, from the innermost active block."""
        local = None
        for child, function in self.live(frame.pc):
            with suppress(*FAULTS):
                described = target(declared(child))
                start = self._start(child, frame, function)
                if described is None or start is None:
                    continue
                name = type_name(described, die_language(function.cu.get_top_DIE()))
                typed = Typed(described, name)
                if start <= address < start + (typed.size or 0):
                    local = Local(die_name(declared(child)) or "?", start, typed)
        return local

    def live(self, pc: int) -> list[Live]:
        """Return the variables of all scopes that contain an instruction, outermost scope first."""
        with suppress(*FAULTS):
            for top in map(self._info.whole, self._info.code.at(pc)):
                function = self._function(top, pc)
                if function is not None:
                    return [(variable, function) for variable in self._inside(function, pc)]
        return []

    def calls(self, pc: int) -> list[DIE]:
        """Return the function that contains an instruction, then those inlined there."""
        with suppress(*FAULTS):
            for top in map(self._info.whole, self._info.code.at(pc)):
                function = self._function(top, pc)
                if function is not None:
                    return [function, *self._inlined(function, pc)]
        return []

    def _inlined(self, scope: DIE, pc: int) -> Iterator[DIE]:
        for child in scope.iter_children():
            if child.tag in _SCOPES and self._runs(child, pc):
                if child.tag == "DW_TAG_inlined_subroutine":
                    yield child
                yield from self._inlined(child, pc)

    def _function(self, top: DIE, pc: int) -> DIE | None:
        """Return the function of a unit that contains an instruction. Each unit is read once."""
        unit = id(top.cu)
        if unit not in self._functions:
            self._functions[unit] = []
            self._read += top.cu.size
            if self._read <= MOST_BYTES:
                scopes = _SCOPES if die_language(top) else _SCOPES - {"DW_TAG_subprogram"}
                self._functions[unit].extend(self._functions_in(top, scopes))
            else:
                self._info.cut = True
        return next((die for low, high, die in self._functions[unit] if low <= pc < high), None)

    def _functions_in(self, die: DIE, scopes: set[str]) -> Iterator[tuple[int, int, DIE]]:
        """Yield the functions with their code. In C no function contains another one."""
        for child in die.iter_children():
            if child.tag == "DW_TAG_subprogram":
                yield from ((low, high, child) for low, high in ranges(child))
            if child.tag in scopes and child.has_children:
                yield from self._functions_in(child, scopes)

    def _inside(self, scope: DIE, pc: int) -> Iterator[DIE]:
        """Yield the variables of a scope and of the active scopes inside, outermost first."""
        for child in scope.iter_children():
            if child.tag in _VARIABLES:
                yield child
            elif child.tag in _SCOPES and child.has_children and self._runs(child, pc):
                yield from self._inside(child, pc)

    def _runs(self, scope: DIE, pc: int) -> bool:
        inside = any(low <= pc < high for low, high in ranges(scope))
        return inside and scope.tag != "DW_TAG_subprogram"

    def _start(self, variable: DIE, frame: Frame, function: DIE) -> int | None:
        code = self.expression(variable, "DW_AT_location", frame.pc)
        if not code:
            return None
        offset = signed(code[1:])
        if offset is None:
            return None
        if code[0] == _BREG_RBP:
            return frame.bp + offset
        if code[0] == _BREG_RSP:
            return frame.sp + offset
        base = self.expression(function, "DW_AT_frame_base", frame.pc)
        bases = {_CFA: frame.end, _REG_RBP: frame.bp, _REG_RSP: frame.sp}
        if code[0] != _FBREG or not base or len(base) != 1 or base[0] not in bases:
            return None
        return bases[base[0]] + offset

    def expression(self, die: DIE, name: str, pc: int) -> list[int]:
        """Return an attribute's DWARF expression at an instruction, [] if it has none there."""
        attribute = die.attributes.get(name)
        if attribute is None:
            return []
        if isinstance(attribute.value, list):
            return list(attribute.value)
        first = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
        base = int(first.value) if first is not None else 0
        parser = LocationParser(die.dwarfinfo.location_lists())
        entries = parser.parse_from_attribute(attribute, die.cu["version"], die)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, LocationBase):
                base = entry.base_address
            elif isinstance(entry, LocationEntry):
                add = 0 if entry.is_absolute else base
                if entry.begin_offset + add <= pc < entry.end_offset + add:
                    return list(entry.loc_expr)
        return []


def covering(frames: Iterable[Frame], address: int) -> list[Frame]:
    """Return the frames that ever contained a byte, the smallest first."""
    return sorted((f for f in frames if f.sp <= address < f.end), key=lambda f: f.end - f.sp)
