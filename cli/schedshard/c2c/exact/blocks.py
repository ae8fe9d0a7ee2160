# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How many instructions each basic block has: the program's own, without the instrumentation's.

A block begins after a call of the coverage hook. It ends at the next one, or where control leaves
for good. Its calls of hooks do not count, nor the instructions that set their arguments.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from schedshard.common.errors import UserError, telling

HOOK = "__sanitizer_cov_trace_pc"
_INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(\S+) *([^#<]*)(?:.*<([^>]+)>)?")
_LEAVES = ("jmp", "ret", "hlt", "ud2", "bnd")
_FREE = ("nop", "endbr64", "data16", "cs", "xchg")
_SETS = re.compile(r"%[er]?(di|si|dx|cx|8)d?$")


def _callee(name: str | None) -> str:
    return (name or "").partition("@")[0].partition("+")[0]


def _arguments(hook: str) -> str:
    """The registers that only the hook needs: addresses and memory orders."""
    if not hook.startswith("__tsan_atomic"):
        return "di"
    if "compare" in hook:
        return "di si cx 8"
    return "di si" if hook.endswith("_load") else "di dx"


class _Block:
    """The block under way."""

    def __init__(self) -> None:
        self.begin: int | None = None
        self.count = 0
        self.sets: set[str] = set()  # registers of arguments that were set since the last call

    def call(self, hook: str) -> None:
        """A call of a hook stands for nothing: the model has the time of an atomic operation."""
        self.count -= sum(register in self.sets for register in _arguments(hook).split())
        # The expected value goes through memory: a store and a load for one move.
        self.count -= "compare" in hook
        self.sets.clear()

    def instruction(self, operands: str) -> None:
        """Any other one; the last operand is what it sets."""
        self.count += 1
        found = _SETS.search(operands.strip())
        if found is not None:
            self.sets.add(found[1])


def parse(lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Address after the hook's call, and instructions, of each block of a disassembly."""
    block, begins = _Block(), False
    for line in lines:
        found = _INSTRUCTION.match(line)
        if found is None:
            continue
        address, mnemonic, callee = int(found[1], 16), found[2], _callee(found[4])
        if begins:
            block, begins = _Block(), False
            block.begin = address
        if mnemonic.startswith("call") and callee == HOOK:
            if block.begin is not None:
                yield block.begin, max(block.count, 0)
            block, begins = _Block(), True
        elif mnemonic.startswith("call") and callee.startswith("__tsan_"):
            block.call(callee)
        elif mnemonic.startswith(_LEAVES):
            if block.begin is not None:
                yield block.begin, max(block.count + 1, 0)
            block = _Block()
        elif not mnemonic.startswith(_FREE):
            block.instruction(found[3])
    if block.begin is not None:
        yield block.begin, max(block.count, 0)


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


def write_blocks(paths: Iterable[Path], into: Path) -> Path:
    """The file that the library reads (exact/blocks.c)."""
    with into.open("w", encoding="utf-8") as file:
        for path in paths:
            file.write(f"module {path}\n")
            for address, count in parse(_disassembly(path)):
                file.write(f"{address:x} {count}\n")
    return into
