# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Decodes the instructions of a file's functions, and finds what writes a register."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

# In the order of DWARF's register numbers.
REGISTERS = (
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
)  # fmt: skip
_LOST_IN_CALLS = {"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"}
_OLD = {"ax": "rax", "bx": "rbx", "cx": "rcx", "dx": "rdx"}
_FRAME, _CALL = "the frame", "a call"  # beside registers: what an instruction writes
_ANYTHING = frozenset((*REGISTERS, _FRAME, _CALL))
_BYTES = "??"  # bytes that the decoder does not know
_STRINGS = ("movs", "stos", "lods", "scas", "cmps")
_UNDEFINED = {"ud0", "ud1"}  # the decoder does not count their operands
_ENDS = {"jmp", "ret", "ud2", "hlt", "int3", *_UNDEFINED}


def _whole(name: str) -> str:
    """Return the 64-bit register that contains a register: 'rax' for 'al'."""
    if name[:1] == "r" and name[1:2].isdigit():
        return name.rstrip("bwd")
    short = name.removeprefix("e")
    if short in _OLD:
        return _OLD[short]
    if len(short) == 2 and short[1] in "hl" and f"{short[0]}x" in _OLD:
        return _OLD[f"{short[0]}x"]
    short = short.removesuffix("l") if len(short) == 3 else short
    return f"r{short}" if short in ("si", "di", "bp", "sp") else name


@dataclass(frozen=True)
class Place:
    """A memory operand: ``base + index * scale + add``; '' stands for no register."""

    base: str
    index: str
    scale: int
    add: int
    size: int

    @property
    def slot(self) -> str:
        """Return the name of a word in the function's frame, which is used like a register."""
        word = self.base == "rsp" and not self.index and self.add % 8 == 0 and self.size == 8
        return f"rsp+{self.add}" if word else ""

    @property
    def covers(self) -> set[str]:
        """Return which words of the frame a store here may change: all words if it has an index."""
        if self.base != "rsp":
            return set()
        if self.index:
            return {_FRAME}
        first = self.add - self.add % 8
        return {f"rsp+{at}" for at in range(first, self.add + self.size, 8)}


@dataclass(frozen=True)
class Instruction:
    """An instruction. Its operands are registers, numbers, or places in memory."""

    address: int
    size: int
    name: str
    operands: tuple[str | int | Place, ...]
    writes: frozenset[str]
    target: int | None  # where a jump goes

    @property
    def ends(self) -> bool:
        """Whether control never continues at the next instruction."""
        return self.name in _ENDS

    def step(self, register: str) -> int:
        """Return the number that the instruction adds to a register; 0 for other instructions."""
        if len(self.operands) != 2 or self.operands[0] != register:
            return 0
        to, by = self.operands
        if isinstance(by, int):
            return by if self.name == "add" else -by if self.name == "sub" else 0
        if self.name == "lea" and isinstance(by, Place) and by.base == to and not by.index:
            return by.add
        return 0

    @property
    def place(self) -> Place | None:
        """Return the memory operand, or None if there are two or the instruction repeats."""
        places = [operand for operand in self.operands if isinstance(operand, Place)]
        many = len(places) != 1 or (self.name[:4] in _STRINGS and places[0].base in ("rdi", "rsi"))
        return None if many else places[0]

    @property
    def is_table_jump(self) -> bool:
        """Whether this jump may reach any place in its function. Linkers' tables do not count."""
        place = self.place
        return self.name == "jmp" and self.target is None and (place is None or place.base != "rip")


def _operand(decoded: Any, operand: Any) -> str | int | Place:
    from capstone import x86_const as x86  # late: it takes long to load

    if operand.type == x86.X86_OP_REG:
        return str(decoded.reg_name(operand.reg)) if operand.size == 8 else "part"
    if operand.type == x86.X86_OP_IMM:
        return int(operand.imm)
    memory = operand.mem
    base, index = (decoded.reg_name(reg) or "" for reg in (memory.base, memory.index))
    # An address relative to a segment is unknown.
    return Place(
        "segment" if memory.segment else base, index, memory.scale, int(memory.disp), operand.size
    )


def _instruction(decoded: Any) -> Instruction:
    from capstone import x86_const as x86

    _, written = decoded.regs_access()
    writes = {_whole(str(decoded.reg_name(reg))) for reg in written}
    if decoded.group(x86.X86_GRP_CALL):
        writes = {*_LOST_IN_CALLS, _CALL}
    operands = tuple(_operand(decoded, operand) for operand in decoded.operands)
    if operands and isinstance(operands[0], Place):
        writes |= operands[0].covers
    jump = decoded.group(x86.X86_GRP_JUMP) and operands and isinstance(operands[0], int)
    return Instruction(
        decoded.address, decoded.size, decoded.mnemonic.rpartition(" ")[2], operands,
        frozenset(writes), int(operands[0]) if jump else None,  # type: ignore[arg-type]
    )  # fmt: skip


def _decoded(data: bytes, low: int, begins: Collection[int]) -> Iterator[Instruction]:
    """Yield all instructions.

    A stretch of bytes that cannot be decoded becomes one instruction, which ends at the next
    address where an instruction is known to begin.
    """
    import capstone

    reader = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    reader.detail = True
    at, end = low, low + len(data)
    known = set(begins)
    while at < end:
        for decoded in reader.disasm(data[at - low :], at):
            cut = begins and any(at < begin < at + decoded.size for begin in begins)
            if cut or decoded.mnemonic in _UNDEFINED:
                break
            insn = _instruction(decoded)
            known.update(() if insn.target is None else (insn.target,))
            yield insn
            at += insn.size
        behind = min((start for start in known if at < start < end), default=end)
        if behind > at:
            yield Instruction(at, behind - at, _BYTES, (), _ANYTHING, None)
        at = behind


class Function:
    """The instructions of one function, in order."""

    def __init__(
        self, data: bytes, low: int, from_elsewhere: Iterable[int] = (),
        begins: Collection[int] = (),
    ) -> None:  # fmt: skip
        """Decode a function.

        ``from_elsewhere`` are addresses to which code outside of it jumps, ``begins`` addresses at
        which instructions are known to begin.
        """
        self.all = list(_decoded(data, low, begins))
        self._starts = [insn.address for insn in self.all]
        # Bytes that cannot be decoded may also jump anywhere.
        self._sure = not any(insn.is_table_jump or insn.name == _BYTES for insn in self.all)
        # Another function may know the address of the frame.
        self._escapes = any(
            insn.name == "lea" and isinstance(insn.operands[-1], Place)
            and insn.operands[-1].base == "rsp" and insn.operands[0] != "rsp"
            for insn in self.all
        )  # fmt: skip
        # By jump target: the first and the last instruction that jump there.
        self._jumps: dict[int, tuple[int, int]] = {}
        jumps = [(insn.target, number) for number, insn in enumerate(self.all)]
        for target, number in [*jumps, *((at, -1) for at in from_elsewhere)]:
            at = self.index(target) if target is not None else None
            if at is not None:
                first, last = self._jumps.get(at, (number, number))
                self._jumps[at] = min(first, number), max(last, number)

    @property
    def targets(self) -> list[int]:
        """Return the targets of the function's jumps."""
        return [insn.target for insn in self.all if insn.target is not None]

    def index(self, address: int) -> int | None:
        """Return the index of the instruction at an address, or None."""
        at = bisect_right(self._starts, address) - 1
        return at if at >= 0 and self._starts[at] == address else None

    def writer(self, register: str, before: int) -> tuple[int, int] | None:
        """Return the index of the instruction that wrote a register's value before another one.

        A slot of the frame counts as a register, as long as the frame does not move. The index is
        -1 for the value at the function's start. The second number is the step by which loops may
        have moved the value any number of times, or 0. None: there may be several writers.
        """
        if not self._sure:
            return None
        changes = {register}
        if register.startswith("rsp+"):
            changes |= {"rsp", _FRAME} | ({_CALL} if self._escapes else set())
        step = 0
        for at in range(before, -1, -1):
            if at in self._jumps:
                moved = self._moved(register, changes, at)
                if moved is None:
                    return None
                step = gcd(step, moved)
            if at == 0:
                return -1, step
            if self.all[at - 1].ends:
                return None
            if changes & self.all[at - 1].writes:
                return (at - 1, step) if register in self.all[at - 1].writes else None
        return None

    def _moved(self, register: str, changes: set[str], head: int) -> int | None:
        """Return the step by which the loop at an index moves a register, or None if it may not.

        The loop's own jump brings the same value, or one that is some steps further on.
        """
        first, last = self._jumps[head]
        if first < head:
            return None
        for at in range(head + 1, last + 1):
            if (
                at in self._jumps
                and not head <= min(self._jumps[at]) <= max(self._jumps[at]) <= last
            ):
                return None  # code outside jumps into the loop
        steps = [insn.step(register) for insn in self.all[head : last + 1] if changes & insn.writes]
        return None if 0 in steps else gcd(0, *steps)

    def has_frame(self) -> bool:
        """Whether the function begins by setting rbp to its frame."""
        return any(insn.name == "mov" and insn.operands == ("rbp", "rsp") for insn in self.all[:4])


class Code:
    """The code of a file, open."""

    def __init__(self, path: Path) -> None:
        self._functions: dict[int, Function] = {}
        self._begins: dict[int, set[int]] = {}  # of instructions in a function
        self._parts: list[tuple[int, bytes]] = []
        with path.open("rb") as file:
            elf = ELFFile(file)
            if elf.get_machine_arch() == "x64":
                self._parts.extend(_parts(elf, path.stat().st_size))

    def function(
        self, low: int, size: int, from_elsewhere: Iterable[int] = (), at: int | None = None
    ) -> Function:
        """Return a function's instructions; none if the file does not contain it.

        ``at`` is an address at which an instruction is known to begin.
        """
        known = self._functions.get(low)
        if known is None or (at is not None and known.index(at) is None):
            begins = self._begins.setdefault(low, set())
            begins.update(() if known is None or at is None else (at,))
            data = b""
            for start, part in self._parts:
                if start <= low < start + len(part):
                    data = part[low - start : low - start + size]
            known = self._functions[low] = Function(data, low, from_elsewhere, begins)
        return known


def _parts(elf: ELFFile, size: int) -> Iterator[tuple[int, bytes]]:
    for segment in elf.iter_segments():
        code = segment["p_type"] == "PT_LOAD" and segment["p_flags"] & 1
        if code and segment["p_offset"] + segment["p_filesz"] <= size:
            yield int(segment["p_vaddr"]), segment.data()
