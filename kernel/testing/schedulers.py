# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Schedulers of sched_ext from the kernel's tree: compiles them.

They are the examples of tools/sched_ext: programs that load a scheduler in BPF and keep running.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from common.errors import UserError, check_names
from common.programs import libraries, require
from common.progress import working
from kernel.build.make import Make, run_make
from kernel.guest.cpio import Entry, plain
from kernel.layout import Layout
from kernel.source.base import require_base

_SOURCES = "tools/sched_ext"
# Debian 12's tools that support enough of BPF.
BPF_TOOLS = {"CLANG": "clang-19", "LLVM_STRIP": "llvm-strip-19"}
_PART = "schedulers"  # the folder and the log


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


def scheduler_files(layout: Layout, name: str, vmlinux: Path) -> dict[str, Entry]:
    """Return a scheduler and its libraries, by their paths in the guest."""
    program = build_scheduler(layout, name, vmlinux)
    files = {f"/bin/{name}": plain(program, executable=True)}
    for library in libraries(program):
        files[str(library)] = plain(library, executable=True)
    return files
