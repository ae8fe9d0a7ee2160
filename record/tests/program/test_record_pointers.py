# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Variables near a thread's pointer keep their names."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from recording import built

from record.names.elf_symbols import elf_symbols
from record.names.modules import Modules
from record.names.objects import Objects

_HEAP = 0xC000000000
GO = """
package main

import "runtime"

func main() { runtime.Gosched() }
"""
C = "char before[64] = {1}, after[64] = {2}; int main(void) { return 0; }\n"


def objects(program: Path, pointer: int, locals_: Sequence[Sequence[int]] = ()) -> Objects:
    """Return the objects of a program that is not position-independent, with one thread."""
    with program.open("rb") as file:
        low = min(segment["p_vaddr"] for segment in ELFFile(file).iter_segments("PT_LOAD"))
    meta = {
        "objects": (), "sites": (), "threads": [(0, 7, 0)], "stacks": [(7, 0, pointer)],
        "regions": [(_HEAP, 0x4000000, False)], "locals": locals_,
    }  # fmt: skip
    return Objects(meta, Modules([(low, low + 0x1000, 0, str(program))]))


def name(of: Objects, address: int) -> str:
    """Return the name of the object at an address."""
    thing = of.name_of(address)
    assert thing is not None
    return thing.name


def symbols(program: Path) -> dict[str, int]:
    """Return the addresses of a program's symbols."""
    with program.open("rb") as file:
        return {symbol.name: symbol.address for symbol in elf_symbols(ELFFile(file), ".symtab")}


@pytest.mark.skipif(shutil.which("go") is None, reason="needs go")
def test_go_keeps_its_variables(tmp_path: Path) -> None:
    """Regression: the scheduler, which lies behind the first thread's pointer, had that name."""
    built(tmp_path, "go build -o p p.go", GO)
    at = symbols(tmp_path / "p")
    pointer = at["runtime.m0"] + 0x88
    assert pointer < at["runtime.sched"] < pointer + 2304
    assert name(objects(tmp_path / "p", pointer), at["runtime.sched"]) == "runtime.sched"
    # The other threads' pointers lie in Go's heap, beside objects of the program.
    of = objects(tmp_path / "p", _HEAP + 0x88)
    assert name(of, _HEAP + 0x400) == "Go's heap"


def test_a_variable_behind_a_pointer(tmp_path: Path) -> None:
    """Regression: the report called the variable thread-local, as pointers of the C library are."""
    (tmp_path / "p.c").write_text(C, encoding="utf-8")
    subprocess.run(["gcc", "-no-pie", "p.c", "-o", "p"], check=True, cwd=tmp_path)
    at = symbols(tmp_path / "p")
    low, high = sorted((at["before"], at["after"]))
    near = "after" if high == at["after"] else "before"
    assert name(objects(tmp_path / "p", low), high) == near
    # Elsewhere 2304 bytes are the C library's.
    assert name(objects(tmp_path / "p", _HEAP), _HEAP + 8) == "thread-local memory of thread 0"
