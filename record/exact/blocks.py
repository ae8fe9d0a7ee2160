# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Counts the instructions of each basic block, without those that the instrumentation added.

A block begins after a call of the coverage hook. It ends at the next such call, or where control
leaves the function. The following instructions exist only for the hooks, and do not count:

- calls of hooks, and the instructions that set their arguments;
- instructions that save registers around hooks: moves between a register and the stack by its
  pointer, the restoring at a function's end, and the move of a hook's result.
"""

import re
import shutil
import subprocess
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from elftools.elf.elffile import ELFFile

from common.errors import UserError, telling
from record.names.elf_symbols import elf_symbols

HOOK = "__sanitizer_cov_trace_pc"
# Marks an element of a set of callees: locked instructions without a hook, by their function.
ASSEMBLY = "assembly in "
_LOCKED = re.compile(r"(?:lock |xchg).*\((?!%rsp)")
_FREE = ("nop", "endbr64", "data16", "cs", "xchg   %ax,%ax", "pop", "leave")
_SETS = re.compile(r"%[er]?(di|si|dx|cx|8)d?$")
_SPILL = re.compile(
    r"(?:mov[au]ps|movs[sd]|mov[lq]?) +(?:%\w+,(?:0x\w+)?\(%rsp\)|(?:0x\w+)?\(%rsp\),%\w+)$"
)
_FRAME = re.compile(r"(?:add|sub) +\$0x\w+,%rsp$")
_BY_POINTER = ("a call by pointer",)
_POINTER, _ENTRY = 1, 2  # the flags of record/exact/blocks.c
_RESULT = re.compile(r"mov +%(?:[er]?ax|al),%\w+$")
# The recorder's library replaces these functions to name objects, but calls the C library's.
_ALLOCATORS = frozenset(
    ("malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "memalign")
)


def _arguments(hook: str) -> str:
    """Return the registers that only a hook needs: addresses and memory orders."""
    if not hook.startswith("__tsan_atomic"):
        return "di"
    if "compare" in hook:
        return "di si cx 8"
    return "di si" if hook.endswith("_load") else "di dx"


@dataclass
class Block:
    """A basic block: the address after the hook's call, and its counts."""

    begin: int
    count: int = 0
    pauses: int = 0
    outside: list[str] = field(default_factory=list)  # calls of code without instrumentation
    pointers: int = 0  # calls whose callee is known only at run time
    entry: bool = False  # it begins a function
    stamps: dict[int, int] = field(default_factory=dict)  # rdtsc: address to length in bytes
    after: dict[int, int] = field(default_factory=dict)  # access to instructions from there on
    _sets: set[str] = field(default_factory=set)  # registers of arguments set since the last call
    _result: bool = False  # the last instruction was a hook that returns a value

    def hook(self, name: str, follows: int) -> None:
        """Add a call of a hook, which does not count: the model charges for the operation."""
        self.count -= sum(register in self._sets for register in _arguments(name).split())
        # The expected value goes to the stack and back. Neither move counts, so add an instruction.
        self.count += "compare" in name
        self._sets.clear()
        self._result = name.startswith("__tsan_atomic")
        self.after[follows] = self.count

    def instruction(self, text: str) -> None:
        """Add any other instruction. Its last operand is the register that it sets."""
        result, self._result = self._result, False
        if text.startswith(_FREE):
            return
        if text.endswith("%rsp") and _FRAME.match(text):
            return
        if text.startswith("mov"):
            if "%rsp" in text and _SPILL.match(text):
                return
            if result and _RESULT.match(text):
                return
        self.count += 1
        if text.startswith("pause"):
            self.pauses += 1
        match = _SETS.search(text)
        if match is not None:
            self._sets.add(match[1])

    def ended(self) -> "Block":
        """Complete the counts, and return the block."""
        self.count = max(self.count, 0)
        self.after = {at: max(self.count - before, 0) for at, before in self.after.items()}
        return self


def parse(lines: Iterable[str], inside: Container[str] = frozenset()) -> Iterator[Block]:
    """Yield each block of a disassembly.

    ``inside`` contains the functions of other instrumented files.
    """
    block: Block | None = None
    begins: str | None = None  # the hook that the last line called, of a block or an access
    entry = False  # a function began, and no block of it yet
    function = ""
    for line in lines:
        at, colon, text = line.partition(":\t")
        if not colon:
            if line.endswith((">:", ">:\n")):
                entry, function = True, line.partition("<")[2].rpartition(">")[0]
            continue
        if begins is not None:
            follows = int(at, 16)
            if begins == HOOK:
                if block is not None:
                    yield block.ended()
                block = Block(follows, entry=entry)
                entry = False
            elif block is not None:
                block.hook(begins, follows)
            begins = None
        leaves = text.startswith(("jmp", "ret", "hlt", "ud2", "bnd", "notrack jmp"))
        if text.startswith("call") or leaves:
            name = text.partition("<")[2].partition(">")[0].rstrip("\n")
            callee, imported, _ = name.partition("@")
            if not leaves and callee.startswith(("__tsan_", HOOK)):
                begins = callee
                continue
            if block is None:
                continue
            if imported and not callee.startswith("__tsan_") and callee not in inside:
                block.outside.append(callee)
            elif not leaves and not imported and "*" in text:
                block.pointers += 1
            block.instruction("call")
            if leaves:
                yield block.ended()
                block = None
        elif block is not None:
            block.instruction(text.partition("#")[0].rstrip())
            if _LOCKED.match(text):
                block.outside.append(ASSEMBLY + function)
            if text.startswith("rdtsc"):
                block.stamps[int(at, 16)] = 3 if text.startswith("rdtscp") else 2
    if block is not None:
        yield block.ended()


def _disassembly(path: Path) -> Iterator[str]:
    tool = next((t for t in ("objdump", "llvm-objdump") if shutil.which(t)), None)
    if tool is None:
        raise UserError("objdump is missing: install binutils")
    with telling(f"cannot run {tool}"):
        child = subprocess.Popen(
            [tool, "-d", "--no-show-raw-insn", str(path)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            errors="replace",
        )  # fmt: skip
    assert child.stdout is not None
    with child, child.stdout:
        yield from child.stdout


def _defined(path: Path) -> set[str]:
    with path.open("rb") as file:
        return {symbol.name for symbol in elf_symbols(ELFFile(file), ".dynsym") if symbol.defined}


def write_blocks(paths: Iterable[Path], library: Path, into: Path) -> list[tuple[str, ...]]:
    """Write the file that record/exact/blocks.c reads. Return the numbered sets of callees."""
    paths = list(paths)
    inside = set().union(*map(_defined, [*paths, library])) - _ALLOCATORS
    sets: dict[tuple[str, ...], int] = {}
    with into.open("w", encoding="utf-8") as file:
        for path in paths:
            of = path.stat()
            file.write(f"module {of.st_dev} {of.st_ino}\n")
            for block in parse(_disassembly(path), inside):
                more, number = "", 0
                flags = _ENTRY * block.entry
                calls = len(block.outside)
                if calls:
                    number = sets.setdefault(tuple(block.outside), len(sets))
                elif block.pointers:
                    number = sets.setdefault(_BY_POINTER, len(sets))
                    calls, flags = block.pointers, flags + _POINTER
                if block.pauses or calls or flags:
                    more = f" {block.pauses} {calls} {number} {flags}"
                file.write(f"{block.begin:x} {block.count}{more}\n")
                file.writelines(f"{at:x} {n}\n" for at, n in block.after.items() if n)
                file.writelines(f"tsc {at:x} {size}\n" for at, size in block.stamps.items())
    return list(sets)
