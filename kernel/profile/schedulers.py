# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Schedulers of sched_ext from the kernel's tree: compiles and loads them, and names their code.

They are the examples of tools/sched_ext: programs that load a scheduler in BPF and keep running.
"""

import re
import shutil
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path

from common.errors import UserError, check_names
from common.programs import call, libraries, require
from common.progress import working
from kernel.build.make import Make, run_make
from kernel.guest.cpio import Entry, plain
from kernel.layout import Layout
from kernel.source.base import require_base
from record.lines.symbols import Frame

_SOURCES = "tools/sched_ext"
# Debian 12's tools that support enough of BPF.
BPF_TOOLS = {"CLANG": "clang-19", "LLVM_STRIP": "llvm-strip-19"}
_PART = "schedulers"  # the folder and the log
# The range of BPF code on x86: the addresses of modules, at the largest extent.
CODE = (0xFFFF_FFFF_A000_0000, 0xFFFF_FFFF_FF00_0000)
# A line of kernel/guest/scx.sh. The kernel puts a hash into the names of programs.
_LINE = re.compile(r"# bpf ([0-9a-f]{16}) (?:bpf_prog_[0-9a-f]{16}_)?(\S+)$")


def known_schedulers(layout: Layout) -> tuple[str, ...]:
    """Return the names of the schedulers that the base contains."""
    require_base(layout)
    sources = (layout.base / _SOURCES).glob("*.bpf.c")
    return tuple(sorted(path.name.removesuffix(".bpf.c") for path in sources))


def check_schedulers(layout: Layout, names: Iterable[str]) -> None:
    """Raise a UserError if the base lacks a scheduler, or the host a tool to compile one."""
    if not (wanted := tuple(names)):
        return
    check_names("scheduler of sched_ext", wanted, known_schedulers(layout))
    require(*BPF_TOOLS.values())


def build_scheduler(layout: Layout, name: str, vmlinux: Path) -> Path:
    """Compile a scheduler with the types of a kernel with BTF, once per base.

    Return the program.
    """
    check_schedulers(layout, [name])
    folder = layout.work / _PART / require_base(layout)[:16]
    program = folder / "build" / "bin" / name
    with layout.locked(_PART):
        if program.is_file():
            return program
        for other in (layout.work / _PART).glob("*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
        variables = [f"VMLINUX_BTF={vmlinux}", *(f"{k}={v}" for k, v in BPF_TOOLS.items())]
        make = Make(
            layout.base / _SOURCES, layout.make_folder(folder), _PART, variables=tuple(variables)
        )
        with working(f"compiling {name}, and what loads programs of BPF"):
            run_make(layout, make, [name])
        if not program.is_file():
            log = layout.shown(layout.log(_PART))
            raise UserError(f"{name} was compiled, and is not there (whole log: {log})", status=1)
    return program


def _build_preloaded(layout: Layout, folder: Path) -> Path:
    """Compile the library with which libbpf works on a kernel without a network."""
    source = layout.inputs / "guest" / "scx-no-net.c"
    library = folder / "scx-no-net.so"
    with layout.locked(_PART):
        call(
            ["gcc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", library, source],
            what=f"compiling {source.name} for the guest",
        )
    return library


def scheduler_files(layout: Layout, name: str, vmlinux: Path) -> dict[str, Entry]:
    """Return a scheduler and its libraries, by their paths in the guest."""
    program = build_scheduler(layout, name, vmlinux)
    preloaded = _build_preloaded(layout, program.parent)
    files = {
        f"/bin/{name}": plain(program, executable=True),
        f"/lib/{preloaded.name}": plain(preloaded, executable=True),
    }
    for library in libraries(program):
        files[str(library)] = plain(library, executable=True)
    return files


class Programs:
    """The BPF programs in a guest, with the names from its log."""

    def __init__(self) -> None:
        self._found: dict[int, str] = {}

    def hear(self, line: str) -> None:
        """Read a line of the log. A guest that boots again has other addresses."""
        if "# guest release " in line:
            self._found.clear()
        if match := _LINE.search(line):
            self._found[int(match[1], 16)] = match[2]

    def frames(self, pcs: Iterable[int]) -> dict[int, tuple[Frame, ...]]:
        """Return the names of those addresses that lie in BPF code."""
        starts = sorted(self._found)
        named: dict[int, tuple[Frame, ...]] = {}
        for pc in pcs:
            if not CODE[0] <= pc < CODE[1]:
                continue
            index = bisect_right(starts, pc) - 1
            name = self._found[starts[index]] if index >= 0 else "?"
            named[pc] = (Frame(name, "BPF"),)
        return named
