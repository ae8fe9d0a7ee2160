# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How many instructions each basic block has: the program's own, without the instrumentation's.

A block begins after a call of the coverage hook. It ends at the next one, or where control leaves
for good. These do not count, for they are there because of the hooks:

- calls of hooks, and the instructions that set their arguments;
- what saves registers around them: moves between a register and the stack by its pointer, the end
  of a function that restores registers, and a hook's result that goes to another register.
"""

import re
import shutil
import subprocess
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from elftools.elf.elffile import ELFFile

from schedshard.c2c.naming.elf_symbols import elf_symbols
from schedshard.common.errors import UserError, telling

HOOK = "__sanitizer_cov_trace_pc"
# Of a set of callees: locked instructions that no hook stands before, by the function they are in.
ASSEMBLY = "assembly in "
_LOCKED = re.compile(r"(?:lock |xchg).*\((?!%rsp)")
_FREE = ("nop", "endbr64", "data16", "cs", "xchg   %ax,%ax", "pop", "leave")
_SETS = re.compile(r"%[er]?(di|si|dx|cx|8)d?$")
_SPILL = re.compile(
    r"(?:mov[au]ps|movs[sd]|mov[lq]?) +(?:%\w+,(?:0x\w+)?\(%rsp\)|(?:0x\w+)?\(%rsp\),%\w+)$"
)
_FRAME = re.compile(r"(?:add|sub) +\$0x\w+,%rsp$")
_BY_POINTER = ("a call by pointer",)
_UNSEEN, _POINTER, _ENTRY = 1, 2, 4  # as exact/blocks.c has them
_RESULT = re.compile(r"mov +%(?:[er]?ax|al),%\w+$")
# The library has them to name objects; their work is the C library's.
_ALLOCATORS = frozenset(
    ("malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "memalign")
)


def _arguments(hook: str) -> str:
    """The registers that only the hook needs: addresses and memory orders."""
    if not hook.startswith("__tsan_atomic"):
        return "di"
    if "compare" in hook:
        return "di si cx 8"
    return "di si" if hook.endswith("_load") else "di dx"


@dataclass
class Block:
    """A basic block: its address after the hook's call, and what it does."""

    begin: int
    count: int = 0
    pauses: int = 0
    outside: list[str] = field(default_factory=list)  # calls of code without instrumentation
    unseen: bool = False  # it may have a lock that nobody sees (exact/unseen.h)
    pointers: int = 0  # calls whose callee only the run knows
    entry: bool = False  # a function begins with it
    stamps: dict[int, int] = field(default_factory=dict)  # reads of the time-stamp counter: bytes
    after: dict[int, int] = field(default_factory=dict)  # by an access: instructions from there on
    _sets: set[str] = field(default_factory=set)  # registers of arguments set since the last call
    _result: bool = False  # the last instruction was a hook that returns a value

    def hook(self, name: str, follows: int) -> None:
        """A call of a hook stands for nothing: the model has the time of an atomic operation."""
        self.count -= sum(register in self._sets for register in _arguments(name).split())
        # The expected value goes through the stack, and both ways do not count: it is one move.
        self.count += "compare" in name
        self._sets.clear()
        self._result = name.startswith("__tsan_atomic")
        self.after[follows] = self.count

    def instruction(self, text: str) -> None:
        """Any other one; the last operand is what it sets."""
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
        elif text.startswith(("lock ", "xchg", "mfence")):
            self.unseen = True
        found = _SETS.search(text)
        if found is not None:
            self._sets.add(found[1])

    def ended(self) -> "Block":
        """No more comes: the counts are complete."""
        self.count = max(self.count, 0)
        self.after = {at: max(self.count - before, 0) for at, before in self.after.items()}
        return self


def parse(
    lines: Iterable[str], inside: Container[str] = frozenset(), locks: Container[str] = frozenset()
) -> Iterator[Block]:
    """Each block of a disassembly.

    inside: names of other files with instrumentation; locks: of functions that may wait unseen.
    """
    block: Block | None = None
    begins: str | None = None  # a hook was called: a block's, or an access's
    entry = False  # no hook of a block since a function's name
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
                block.unseen |= callee in locks
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
        return {each.name for each in elf_symbols(ELFFile(file), ".dynsym") if each.defined}


def write_blocks(
    paths: Iterable[Path], library: Path, into: Path, others: Iterable[Path] = ()
) -> list[tuple[str, ...]]:
    """The file that the library reads (exact/blocks.c). Return: sets of callees, by number.

    others: libraries without instrumentation that may have locks of their own.
    """
    paths = list(paths)
    inside = set().union(*map(_defined, [*paths, library])) - _ALLOCATORS
    locks = set[str]().union(*map(_defined, others))
    sets: dict[tuple[str, ...], int] = {}
    with into.open("w", encoding="utf-8") as file:
        for path in paths:
            file.write(f"module {path}\n")
            for block in parse(_disassembly(path), inside, locks):
                more, number = "", 0
                flags = _UNSEEN * block.unseen + _ENTRY * block.entry
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
