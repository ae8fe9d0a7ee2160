# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Types of objects, from the pointers through which a program accesses them.

An instruction names a register. The debug information says which variable is in it, or in the
place of memory that it was loaded from: the variable's type says what is there. So objects have
types that no allocation declares: those of C++ containers, of Rust's Arc, of Go's heap.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from elftools.dwarf.die import DIE

from schedshard.c2c.naming.locals import Live, Locals, signed
from schedshard.c2c.naming.modules import Module
from schedshard.c2c.naming.variables import (
    FAULTS,
    DebugInfo,
    Typed,
    bare,
    declared,
    die_language,
    target,
    type_name,
)  # fmt: skip
from schedshard.lines.dwarf import die_size, steps
from schedshard.lines.instructions import REGISTERS, Code, Function, Place

_LONGEST_FUNCTION = 1 << 16
_DEPTH = 8  # registers and loads between a variable and an access
_FBREG, _CFA, _REG0, _BREG0, _PIECE = 0x91, 0x9C, 0x50, 0x70, 0x93
_BP, _SP = REGISTERS.index("rbp"), REGISTERS.index("rsp")
_POINTERS = {"DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"}


@dataclass(frozen=True)
class Pointer:
    """A value: the address of a byte of an object of some type."""

    die: DIE
    offset: int
    many: bool  # of one of several objects in a row

    def moved(self, by: int, many: bool = False) -> "Pointer":
        """The address some bytes further on."""
        return Pointer(self.die, self.offset + by, self.many or many)


@dataclass(frozen=True)
class Use:
    """An access: to which byte of which type."""

    typed: Typed
    size: int
    offset: int
    many: bool  # one of several in a row


def _pointee(die: DIE | None, offset: int = 0) -> DIE | None:
    """The target of the pointer at a byte of a type: of a Box as well, which is only a pointer."""
    if die is None:
        return None
    for inner, start, _ in steps(die, offset):
        plain = bare(inner)
        if plain is not None and plain.tag in _POINTERS:
            return target(plain) if start == offset else None
    return None


def _pieces(code: Sequence[int]) -> dict[str, int]:
    """The registers that have a variable, each with the bytes of the variable before it."""
    if len(code) == 1 and _REG0 <= code[0] < _REG0 + len(REGISTERS):
        return {REGISTERS[code[0] - _REG0]: 0}
    found, at, offset = {}, 0, 0
    while at < len(code):
        if _REG0 <= code[at] < _REG0 + len(REGISTERS):
            found[REGISTERS[code[at] - _REG0]] = offset
            at += 1
        if at + 1 >= len(code) or code[at] != _PIECE or code[at + 1] >= 0x80:
            return {}
        offset += code[at + 1]
        at += 2
    return found


class Uses:
    """What the instructions of one file access."""

    def __init__(self, module: Module, info: DebugInfo, locals_of: Locals) -> None:
        self._module = module
        self._info = info
        self._locals = locals_of
        self._variables: dict[int, Typed | None] = {}
        self._code = Code(module.path)
        self._live: dict[int, list[Live]] = {}

    def at(self, pc: int) -> Use | None:
        """What an instruction accesses, by its address in the file; None if that is not known."""
        with suppress(*FAULTS):
            function = self._function(pc)
            index = function.index(pc) if function is not None else None
            if function is None or index is None:
                return None
            place = function.all[index].place
            found = self._at_place(function, index, place, _DEPTH) if place is not None else None
            size = die_size(found.die) if found is not None else None
            # A pointer to bytes says nothing about what is there.
            if found is None or not size or size == 1:
                return None
            if not 0 <= found.offset < size:
                found = found.moved(found.offset // size * -size, many=True)
            name = type_name(found.die, die_language(found.die.cu.get_top_DIE()))
            return Use(Typed(found.die, name), size, found.offset, found.many)
        return None

    def _function(self, pc: int) -> Function | None:
        symbol = self._module.code(pc)
        if symbol is None or not 0 < symbol.size <= _LONGEST_FUNCTION:
            return None
        return self._code.function(symbol.address, symbol.size)

    # ---- values ----

    def _at_place(self, function: Function, index: int, place: Place, depth: int) -> Pointer | None:
        """The address of an operand in memory."""
        found = self._value(function, index, place.base, depth)
        if found is None and place.index:
            found = self._value(function, index, place.index, depth)
        return found.moved(place.add, bool(place.index)) if found is not None else None

    def _value(self, function: Function, index: int, register: str, depth: int) -> Pointer | None:
        """What a register has before an instruction."""
        if depth == 0 or not (register in REGISTERS or register.startswith("rsp+")):
            return None
        found = self._in_register(function.all[index].address, register)
        if found is not None:
            return found
        found_at = function.writer(register, index)
        if found_at is None:
            return None
        writer, step = found_at
        if writer + 1 < index:
            found = self._in_register(function.all[writer + 1].address, register)
        if found is None and writer >= 0:
            found = self._written(function, writer, depth - 1)
        if found is None or not step:
            return found
        size = die_size(found.die)
        return found.moved(0, many=True) if size and step % size == 0 else None

    def _written(self, function: Function, index: int, depth: int) -> Pointer | None:
        """What an instruction writes to its first operand, a register."""
        each = function.all[index]
        if len(each.operands) != 2:
            return None
        to, of = each.operands
        if isinstance(to, Place):  # a slot of the frame
            if each.name != "mov" or not isinstance(of, str):
                return None
            return self._value(function, index, of, depth)
        if not isinstance(to, str) or to not in each.writes:
            return None
        if each.name == "mov" and isinstance(of, str):
            return self._value(function, index, of, depth)
        if each.name == "mov" and isinstance(of, Place):
            return self._loaded(function, index, of, depth)
        if each.step(to):
            found = self._value(function, index, to, depth)
            return found.moved(each.step(to)) if found is not None else None
        if each.name == "lea" and isinstance(of, Place):
            return self._at_place(function, index, of, depth)
        if each.name == "add":
            found = self._value(function, index, to, depth)
            if found is None and isinstance(of, Place):
                found = self._loaded(function, index, of, depth)
            elif found is None and isinstance(of, str):
                found = self._value(function, index, of, depth)
            return found.moved(0, many=True) if found is not None else None
        return None

    def _loaded(self, function: Function, index: int, place: Place, depth: int) -> Pointer | None:
        """The pointer in a place of memory."""
        each = function.all[index]
        if place.base == "rip":
            return self._in_variable(each.address + each.size + place.add)
        if place.slot:
            found = self._value(function, index, place.slot, depth)
            return found or self._in_frame(each.address, place.add, _SP)
        if place.base == "rbp" and not place.index and function.has_frame():
            return self._in_frame(each.address, place.add, _BP)
        found = self._at_place(function, index, place, depth)
        size = die_size(found.die) if found is not None else None
        if found is None or not size:
            return None
        return _pointer(_pointee(found.die, found.offset % size))

    # ---- variables ----

    def _variables_at(self, pc: int) -> list[Live]:
        if pc not in self._live:
            self._live[pc] = self._locals.live(pc)
        return self._live[pc]

    def _in_register(self, pc: int, register: str) -> Pointer | None:
        """The innermost variable's that is in a register."""
        found = None
        for variable, _ in self._variables_at(pc):
            code = self._locals.expression(variable, "DW_AT_location", pc)
            pieces = _pieces(code)
            if register in pieces:
                of = _pointee(target(declared(variable)), pieces[register])
                found = _pointer(of) or found
        return found

    def _in_frame(self, pc: int, place: int, by: int) -> Pointer | None:
        """The pointer that lies in a frame, some bytes from where rbp or rsp points to."""
        for variable, function in reversed(self._variables_at(pc)):
            code = self._locals.expression(variable, "DW_AT_location", pc)
            start = signed(code[1:]) if code else None
            if start is None:
                continue
            if code[0] == _FBREG:
                base = self._locals.expression(function, "DW_AT_frame_base", pc)
                if base == [_CFA] and by == _BP:
                    start += 16  # the return address and the caller's rbp
                elif base != [_REG0 + by]:
                    continue
            elif code[0] != _BREG0 + by:
                continue
            described = target(declared(variable))
            size = die_size(described) if described is not None else None
            if size and start <= place < start + size:
                return _pointer(_pointee(described, place - start))
        return None

    def _in_variable(self, address: int) -> Pointer | None:
        """The pointer in a variable of the file."""
        symbol = self._module.variable(address + self._module.bias)
        if symbol is None:
            return None
        if symbol.address not in self._variables:
            found = self._info.variables({symbol.address})
            self._variables[symbol.address] = found.get(symbol.address)
        typed = self._variables[symbol.address]
        if typed is None:
            return None
        return _pointer(_pointee(typed.die, address - symbol.address))


def _pointer(die: DIE | None) -> Pointer | None:
    return Pointer(die, 0, False) if die is not None else None


def agreed(told: Sequence[tuple[int, Use]], declared_as: Typed | None, size: int) -> Typed | None:
    """The type of an allocation that all its uses agree on, or None.

    ``told``: uses, each with the byte of the allocation in which the used object begins.
    ``declared_as``: what the pointer on the allocating line points to. It is preferred, since it
    may be a larger type: one that is derived from what is used. ``size``: of the allocation.
    """
    if not told:
        return declared_as
    first = sorted((use for at, use in told if at == 0), key=lambda use: -use.size)
    for typed in (declared_as, *(use.typed for use in first)):
        if typed is None or not typed.size or size % typed.size:
            continue
        # A base class's pointer is one to the begin of a larger object as well.
        several = any(at >= typed.size or use.many for at, use in told)
        if typed is not declared_as and size != typed.size and not several:
            continue
        if all(typed.contains(at % typed.size, use.typed) for at, use in told):
            return typed
    return None


def apart(told: Sequence[tuple[int, Use]]) -> list[tuple[int, Use]]:
    """Objects in memory without allocations: (address, what it is), those that do not conflict.

    An object inside another one is that one's member.
    """
    found: list[tuple[int, Use]] = []
    refuted: set[int] = set()
    for at, use in sorted(told, key=lambda each: (-each[1].size, each[0])):
        over = [n for n, (start, kept) in enumerate(found) if _overlap(at, use, start, kept)]
        if not over:
            found.append((at, use))
        refuted.update(
            n for n in over if not found[n][1].typed.contains(at - found[n][0], use.typed)
        )
    return sorted(
        ((at, use) for n, (at, use) in enumerate(found) if n not in refuted),
        key=lambda each: each[0],
    )


def _overlap(at: int, use: Use, start: int, kept: Use) -> bool:
    return at < start + kept.size and start < at + use.size
