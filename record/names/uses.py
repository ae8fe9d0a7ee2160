# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the types of objects by the pointers through which a program accesses them.

An instruction names a register. The debug information says which variable is in that register, or
in the memory from which it was loaded. The variable's type is that of the object. This gives types
that no allocation declares: those of C++ containers, of Rust's Arc, of Go's heap.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import gcd

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from model.lines.dwarf import contains, die_size, steps
from record.lines.instructions import REGISTERS, Code, Function, Instruction, Place
from record.lines.units import FAULTS
from record.names.elf_symbols import elf_imports
from record.names.locals import Live, Locals, signed
from record.names.modules import Module
from record.names.variables import (
    DebugInfo,
    Typed,
    bare,
    declared,
    die_language,
    target,
    type_name,
)  # fmt: skip

_LONGEST_FUNCTION = 1 << 16
# Hooks whose first argument is the address of one access. The hook of a copy gives only the target.
_HOOK = re.compile(r"__tsan_(?:unaligned_|volatile_)*(?:read|write|atomic|vptr)(?!.*range)")
_STUB = 16  # bytes of a linker's stub that jumps to another file
_MOST = 256  # instructions whose accesses get types: ask for the most frequent ones first
_MOST_VARIABLES = 8  # each costs a search of all debug information
_NEAR = 24  # instructions between an allocating call and the assignment of its result
_WORD = 8  # bytes. The emulator reports larger accesses in parts, which one instruction makes
_DEPTH = 8  # registers and loads between a variable and an access
_FBREG, _CFA, _REG0, _BREG0, _PIECE = 0x91, 0x9C, 0x50, 0x70, 0x93
_BP, _SP = REGISTERS.index("rbp"), REGISTERS.index("rsp")
_POINTERS = {"DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"}


@dataclass(frozen=True)
class Pointer:
    """A value that is the address of a byte in an object of a known type."""

    die: DIE
    offset: int
    step: int = 0  # the address may also be any multiple of this further on

    def moved(self, by: int, step: int = 0) -> "Pointer":
        """Return the address moved by some bytes."""
        return Pointer(self.die, self.offset + by, gcd(self.step, step))

    def inside(self) -> "Pointer | None":
        """Return the address within its object, or None if it may lie in another object.

        From the address of a structure programs may reach what surrounds or follows it. An array of
        numbers or pointers has no such neighbours.
        """
        size = die_size(self.die)
        if not size or self.step % size:
            return None
        if not self.step and not 0 <= self.offset < size and Typed(self.die, "").has_members:
            return None
        return Pointer(self.die, self.offset % size, self.step)


@dataclass(frozen=True)
class Use:
    """An access to an object: the object's type and size, and the offset of the access in it."""

    typed: Typed
    size: int
    offset: int
    many: bool  # one of several in a row


def _pointee(die: DIE | None, offset: int = 0) -> DIE | None:
    """Return the target of the pointer at a byte of a type. A Box counts as a pointer."""
    if die is None:
        return None
    for inner, start, _ in steps(die, offset):
        plain = bare(inner)
        if plain is not None and plain.tag == "DW_TAG_union_type":
            return None  # any of its members
        if plain is not None and plain.tag in _POINTERS:
            return target(plain) if start == offset else None
    return None


def _pieces(code: Sequence[int]) -> dict[str, int]:
    """Return the registers that hold a variable, each with its offset in the variable."""
    if len(code) == 1 and _REG0 <= code[0] < _REG0 + len(REGISTERS):
        return {REGISTERS[code[0] - _REG0]: 0}
    pieces, at, offset = {}, 0, 0
    while at < len(code):
        if _REG0 <= code[at] < _REG0 + len(REGISTERS):
            pieces[REGISTERS[code[at] - _REG0]] = offset
            at += 1
        if at + 1 >= len(code) or code[at] != _PIECE or code[at + 1] >= 0x80:
            return {}
        offset += code[at + 1]
        at += 2
    return pieces


class Uses:
    """Finds what the instructions of one file access."""

    def __init__(self, module: Module, info: DebugInfo, locals_of: Locals) -> None:
        self._module = module
        self._info = info
        self._locals = locals_of
        self._variables: dict[int, Typed | None] = {}
        self._code: Code | None = None
        self._cold = {f.name: f for f in module.functions if ".cold" in f.name}
        self._live: dict[int, list[Live]] = {}
        self._imports: dict[int, str] | None = None
        self._known: dict[int, Use | None] = {}

    def at(self, pc: int, *, hooked: bool = False) -> Use | None:
        """Return what the instruction at an address of the file accesses, or None if unknown.

        Instructions after the first ``_MOST`` are unknown. ``hooked``: the address is the last byte
        of a call of a hook, which takes the accessed address as its argument.
        """
        if pc not in self._known and len(self._known) < _MOST:
            self._known[pc] = self._accessed(pc + hooked, hooked)
        return self._known.get(pc)

    def stored(self, pc: int) -> Typed | None:
        """Return what the pointer targets to which the call before an address is assigned."""
        from capstone import CsError  # late: it takes long to load

        with suppress(*FAULTS, CsError):
            function = self._function(pc)
            behind = function.index(pc) if function is not None else None
            if function is None or behind is None:
                return None
            results: set[object] = {"rax"}
            for at, insn in enumerate(function.all[behind : behind + _NEAR], behind):
                copies = insn.name == "mov" and insn.operands[-1] in results
                to = insn.operands[0] if copies else None
                if isinstance(to, Place) and not to.slot:
                    use = self._use(self._loaded(function, at, to, _DEPTH))
                    return use.typed if use is not None else None
                results -= insn.writes
                results |= {to.slot if isinstance(to, Place) else to} - {None}
                if insn.ends or not results:
                    break
        return None

    def _accessed(self, pc: int, hooked: bool) -> Use | None:
        from capstone import CsError  # late: it takes long to load

        try:
            function = self._function(pc)
        except (*FAULTS, CsError):
            return None
        index = function.index(pc) if function is not None else None
        if function is None or index is None:
            return None
        place = function.all[index].place
        try:
            if hooked:
                hook = index and _HOOK.match(self._callee(function.all[index - 1]))
                return self._use(self._value(function, index - 1, "rdi", _DEPTH)) if hook else None
            if place is not None and place.size <= _WORD:
                return self._use(self._at_place(function, index, place, _DEPTH))
        except FAULTS:
            self._info.damaged = True
        return None

    def _use(self, pointer: Pointer | None) -> Use | None:
        pointer = pointer.inside() if pointer is not None else None
        size = die_size(pointer.die) if pointer is not None else None
        # A pointer to bytes says nothing about what is there.
        if pointer is None or not size or size == 1:
            return None
        name = type_name(pointer.die, die_language(pointer.die.cu.get_top_DIE()))
        return Use(Typed(pointer.die, name), size, pointer.offset, pointer.step > 0)

    def _callee(self, call: Instruction) -> str:
        """Return the function of another file that a call reaches, directly or through a stub."""
        if self._code is None or not call.operands:
            return ""
        stub = call.operands[0]
        if isinstance(stub, int):
            jumps = [insn for insn in self._code.function(stub, _STUB).all if insn.name == "jmp"]
            call = jumps[0] if jumps else call
        place = call.place
        if place is None or place.base != "rip":
            return ""
        if self._imports is None:
            with self._module.path.open("rb") as file:
                self._imports = elf_imports(ELFFile(file))
        return self._imports.get(call.address + call.size + place.add, "")

    def _function(self, pc: int) -> Function | None:
        symbol = self._module.code(pc)
        if symbol is None or not 0 < symbol.size <= _LONGEST_FUNCTION:
            return None
        if self._code is None:
            self._code = Code(self._module.path)
        cold = self._cold.get(f"{symbol.name}.cold")
        targets = self._code.function(cold.address, cold.size).targets if cold else ()
        return self._code.function(symbol.address, symbol.size, targets, pc)

    # ---- values ----

    def _at_place(self, function: Function, index: int, place: Place, depth: int) -> Pointer | None:
        """Return the address of a memory operand."""
        pointer = self._value(function, index, place.base, depth)
        if pointer is not None:
            step = place.scale * self._factor(function, index, place.index, depth)
            return pointer.moved(place.add, step if place.index else 0)
        if not place.index or place.scale != 1:
            return None
        pointer = self._value(function, index, place.index, depth)
        step = self._factor(function, index, place.base, depth) if place.base else 0
        return pointer.moved(place.add, step) if pointer is not None else None

    def _value(self, function: Function, index: int, register: str, depth: int) -> Pointer | None:
        """Return the pointer in a register before an instruction."""
        if depth == 0 or not (register in REGISTERS or register.startswith("rsp+")):
            return None
        part = self._in_register(function.all[index].address, register)
        definition = function.writer(register, index)
        if definition is None:
            return part
        writer, step = definition
        pointer = None
        if part is None and writer + 1 < index:
            pointer = self._in_register(function.all[writer + 1].address, register)
        if pointer is None and writer >= 0:
            pointer = self._written(function, writer, register, depth - 1)
        pointer = pointer.moved(0, step) if pointer is not None else None
        return pointer if part is None or self._has(pointer, part) else part

    def _has(self, pointer: Pointer | None, part: Pointer) -> bool:
        """Whether a pointer to an object points to its member ``part``, a variable in a register.

        Such a variable is ``this`` of a member's method that was inlined.
        """
        whole, member = self._use(pointer), self._use(part)
        if whole is None or member is None or whole.size <= member.size:
            return False
        return whole.typed.contains(whole.offset - member.offset, member.typed)

    def _written(self, function: Function, index: int, register: str, depth: int) -> Pointer | None:
        """Return the pointer that an instruction writes to its first operand."""
        insn = function.all[index]
        if len(insn.operands) != 2:
            return None
        to, of = insn.operands
        if (to.slot if isinstance(to, Place) else to) != register:
            return None
        if insn.name == "mov" and isinstance(of, str):
            return self._value(function, index, of, depth)
        if insn.name == "mov" and isinstance(of, Place):
            return self._loaded(function, index, of, depth)
        if insn.step(register):
            pointer = self._value(function, index, register, depth)
            return pointer.moved(insn.step(register)) if pointer is not None else None
        if insn.name == "lea" and isinstance(of, Place):
            return self._at_place(function, index, of, depth)
        if insn.name == "add" and not isinstance(of, int):
            return self._sum(function, index, register, of, depth)
        return None

    def _sum(
        self, function: Function, index: int, register: str, of: str | Place, depth: int
    ) -> Pointer | None:
        """Return the sum of a pointer and a multiple of something, in either order."""
        pointer = self._value(function, index, register, depth)
        if pointer is not None:
            step = self._factor(function, index, of, depth) if isinstance(of, str) else 1
            return pointer.moved(0, step)
        if isinstance(of, Place):
            pointer = self._loaded(function, index, of, depth)
        else:
            pointer = self._value(function, index, of, depth)
        step = self._factor(function, index, register, depth)
        return pointer.moved(0, step) if pointer is not None else None

    def _factor(self, function: Function, index: int, register: str, depth: int) -> int:
        """Return a divisor of a register's value, 1 if none is known."""
        definition = function.writer(register, index) if register and depth else None
        if definition is None or definition[0] < 0:
            return 1
        writer, step = definition
        insn = function.all[writer]
        of = insn.operands[1:]

        def factor(name: object) -> int:
            known = isinstance(name, str) and name in REGISTERS
            return self._factor(function, writer, str(name), depth - 1) if known else 1

        if insn.name in ("mov", "movsxd") and isinstance(of[0], str):
            multiple = factor(of[0])
        elif insn.name in ("shl", "sal") and of and isinstance(of[0], int) and of[0] < 32:
            multiple = factor(register) << of[0]
        elif insn.name == "imul" and len(of) == 2 and isinstance(of[1], int):
            multiple = abs(of[1]) * factor(of[0])
        elif insn.name == "lea" and isinstance(of[0], Place) and not of[0].add:
            place = of[0]
            multiple = place.scale * factor(place.index)
            if place.base == place.index:
                multiple = (place.scale + 1) * factor(place.index)
            elif place.base:
                multiple = gcd(multiple, factor(place.base))
        elif insn.name in ("add", "sub") and isinstance(of[0], str):
            multiple = gcd(factor(register), factor(of[0]))
        else:
            multiple = 1
        return gcd(multiple, step)

    def _loaded(self, function: Function, index: int, place: Place, depth: int) -> Pointer | None:
        """Return the pointer that a place in memory contains."""
        insn = function.all[index]
        if place.base == "rip":
            return self._in_variable(insn.address + insn.size + place.add)
        if place.slot:
            pointer = self._value(function, index, place.slot, depth)
            return pointer or self._in_frame(insn.address, place.add, _SP)
        if place.base == "rbp" and not place.index and function.has_frame():
            return self._in_frame(insn.address, place.add, _BP)
        pointer = self._at_place(function, index, place, depth)
        pointer = pointer.inside() if pointer is not None else None
        return _pointer(_pointee(pointer.die, pointer.offset)) if pointer is not None else None

    # ---- variables ----

    def _variables_at(self, pc: int) -> list[Live]:
        if pc not in self._live:
            self._live[pc] = self._locals.live(pc)
        return self._live[pc]

    def _in_register(self, pc: int, register: str) -> Pointer | None:
        """Return the pointer in a register, according to the variables that the register contains.

        If these point to several objects, return the pointer to the one that contains the others.
        """
        candidates = []
        for variable, _ in self._variables_at(pc):
            pieces = _pieces(self._locals.expression(variable, "DW_AT_location", pc))
            if register in pieces:
                of = _pointee(target(declared(variable)), pieces[register])
                size = die_size(of) if of is not None else None
                if of is not None and size and size > 1:
                    candidates.append((size, of))
        if not candidates:
            return None
        largest = max(candidates, key=lambda pair: pair[0])[1]
        if all(contains(largest, 0, of) for _, of in candidates):
            return Pointer(largest, 0)
        return None

    def _in_frame(self, pc: int, place: int, by: int) -> Pointer | None:
        """Return the pointer in a frame, at an offset from rbp or rsp."""
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
        """Return the pointer in a variable of the file."""
        symbol = self._module.variable(address + self._module.bias)
        if symbol is None:
            return None
        if symbol.address not in self._variables and len(self._variables) < _MOST_VARIABLES:
            types = self._info.variables({symbol.address})
            self._variables[symbol.address] = types.get(symbol.address)
        typed = self._variables.get(symbol.address)
        if typed is None:
            return None
        return _pointer(_pointee(typed.die, address - symbol.address))


def _pointer(die: DIE | None) -> Pointer | None:
    return Pointer(die, 0) if die is not None else None


UsesAt = Iterable[tuple[int, Use]]  # uses, each with the offset at which the used object begins


def agreed(
    uses: UsesAt, declared_as: Typed | None, size: int, alignment: int = 0
) -> tuple[Typed | None, bool]:
    """Return the type on which all uses of an allocation agree, and whether they refute all types.

    ``declared_as`` is the target of the pointer on the allocating line. That type is preferred,
    because it may be a larger type, derived from the used one. ``size`` and ``alignment`` are the
    allocation's.
    """
    uses = list(uses)
    first = sorted((use for at, use in uses if at == 0), key=lambda use: -use.size)
    refuted = False
    for typed in (declared_as, *(use.typed for use in first)):
        count = typed.count(size, alignment) if typed is not None else 0
        if typed is None or not count:
            continue
        places = [(*typed.split(at), use.typed) for at, use in uses]
        if not all(n < count and typed.contains(at, used) for n, at, used in places):
            refuted = True
        elif typed is declared_as or count == 1 or _is_row(typed, uses):
            # Otherwise it may be the base or the first member of something larger.
            return typed, False
    return None, refuted


def _is_row(typed: Typed, uses: UsesAt) -> bool:
    """Whether the uses show several objects in a row."""
    size = typed.size or 1
    return any(use.many or (at >= size and typed.has_members) for at, use in uses)


def apart(uses: UsesAt) -> list[tuple[int, Use]]:
    """Return the objects in memory without allocations, by address, if their uses do not conflict.

    An object inside another one counts as its member.
    """
    different = {(at, use.typed.name, use.size): use for at, use in uses}
    starts: list[int] = []  # of the objects, in order
    objects: dict[int, Use] = {}
    refuted: set[int] = set()
    for (at, _, size), use in sorted(different.items(), key=lambda e: (-e[0][2], e[0][:2])):
        low = bisect_right(starts, at)
        if low and starts[low - 1] + objects[starts[low - 1]].size > at:
            low -= 1
        over = starts[low : bisect_left(starts, at + size)]
        if not over:
            starts.insert(low, at)
            objects[at] = use
        refuted.update(s for s in over if not objects[s].typed.contains(at - s, use.typed))
    return [(at, objects[at]) for at in starts if at not in refuted]
