# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make schedshard-trial: trial/ in one file, which needs only Python 3.9 or later.

trial_alone.py    write build/trial/schedshard-trial.pyz

The file contains the programs that measure, linked statically for x86-64 and arm64. They are made
of bench/, lib/, core/ and model/primitives/, by gcc and its cross compiler of Debian. The same
sources and compilers make the same file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipapp
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from doctor_alone import ROOT, fix, main_of, modules

OUT = ROOT / "build" / "trial"
FILE = OUT / "schedshard-trial.pyz"
START = "trial.command"
COMPILERS = {"x86_64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc"}
FLAGS = (
    "-std=gnu11", "-O3", "-D_GNU_SOURCE", "-static", "-s", "-pthread", "-Wl,--build-id=none",
    *(f"-I{folder}" for folder in (
        "core", "port/user", "port", "lib", "lib/include", "lib/include/schedshard",
        "model/primitives", "bench",
    )),
)  # fmt: skip
# The topology's reader and what core/ asks of its user; not the tool with JSON, nor machine files.
LIBRARY = (
    "alloc", "checked", "claim_wait", "create", "err", "locks", "numa", "plans", "topo_build",
    "topo_keep", "topo_sysfs",
)  # fmt: skip
SHARED = ("lib/command_line.c", "lib/cpulist.c", "bench/sample.c")
PROGRAMS = {
    "schedshard-live": (
        *SHARED, "port/user/barrier.c", "core/*.c", *(f"lib/{name}.c" for name in LIBRARY),
        "bench/crew.c", "bench/live*.c", "model/primitives/*.c",
    ),
    "schedshard-measure": (*SHARED, "bench/measure*.c"),
}  # fmt: skip
MAIN = main_of("schedshard-trial", START)


def sources(name: str) -> list[str]:
    """Return the C files of a program, relative to the project."""
    return sorted(
        str(path.relative_to(ROOT)) for pattern in PROGRAMS[name] for path in ROOT.glob(pattern)
    )


def compile_program(arch: str, name: str, into: Path) -> None:
    """Compile a program for an architecture into a folder."""
    into.mkdir(parents=True, exist_ok=True)
    compiler = COMPILERS[arch]
    if shutil.which(compiler) is None:
        sys.exit(f"trial_alone: {compiler} is missing: './make trial' installs it")
    argv = [compiler, *FLAGS, *sources(name), "-o", str(into / name)]
    if subprocess.run(argv, cwd=ROOT, check=False).returncode != 0:
        sys.exit(f"trial_alone: {compiler} failed, its message is above")


def make(target: Path, tree: Path) -> None:
    """Write the one file; ``tree`` is a folder for what it contains."""
    shutil.rmtree(tree, ignore_errors=True)
    stored = ROOT / "trial" / "predict" / "curves.json"
    for path in (*modules(START), stored):
        copy = tree / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    shutil.copyfile(ROOT / "VERSION", tree / "common" / "VERSION")
    (tree / "__main__.py").write_text(MAIN, encoding="ascii")
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for done in [
            pool.submit(compile_program, arch, name, tree / "trial" / "programs" / arch)
            for arch in COMPILERS for name in PROGRAMS
        ]:  # fmt: skip
            done.result()
    fix(tree)
    zipapp.create_archive(tree, target, "/usr/bin/env python3", compressed=True)


def main() -> None:
    """Write the file, and print its sums and those of the programs in it."""
    OUT.mkdir(parents=True, exist_ok=True)
    make(FILE, OUT / "pyz")
    for path in (*sorted((OUT / "pyz" / "trial" / "programs").glob("*/*")), FILE):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(OUT)}")


if __name__ == "__main__":
    main()
