# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compiles programs for record --exact, and runs them."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from calling import call_apart
from common.paths import build_dir
from model.machines.presets import load_machine
from record.exact.run import Ran, Runs
from record.program.machine_view import cpus_in_order
from record.program.program import find_program
from record.report.replaying import Job

HERE = Path(__file__).parent
MACHINE = "epyc-7763-2s"
call = call_apart
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]

NEEDED = pytest.mark.skipif(
    platform.machine() != "x86_64"
    or not (build_dir() / "record" / "exact" / "libschedshard-exact.so").is_file(),
    reason="needs a build of x86-64",
)
NEEDS_DISPATCH = pytest.mark.skipif(
    tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (5, 11),
    reason="needs the kernel's dispatch of system calls",
)


def compiled(into: Path, compiler: str, *words: str, language: str = "c") -> Path:
    """Compile a program with `schedshard cc` or `schedshard c++`, and return its path."""
    into.parent.mkdir(exist_ok=True)
    usual = ("-O2", "-g", "-pthread", "-D_GNU_SOURCE")
    verb = "cc" if language == "c" else "c++"
    done = call(verb, *usual, *words, "-o", str(into), CC=compiler, CXX=compiler)
    assert done.returncode == 0, done.stderr
    return into


def each_compiler(source: str, *words: str, compilers: Sequence[str] = COMPILERS) -> Any:
    """Make a module's fixture: a program from a source of this folder, once per compiler."""

    @pytest.fixture(scope="module", params=compilers)
    def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
        into = tmp_path_factory.mktemp(request.param) / Path(source).stem
        return compiled(into, request.param, *words, str(HERE / source))

    return made


def one_compiler(source: str) -> Any:
    """Make the same fixture with the first compiler only."""
    return each_compiler(source, compilers=COMPILERS[:1])


def record(program: Path, *words: str, cpus: int = 16, options: tuple[str, ...] = ()) -> Any:
    """Record a program exactly; return the command's output, errors and status."""
    return call(
        *("record", "--exact", "--machine", MACHINE, "--cpus", str(cpus), "--no-advice"),
        *("--json", *options, "--", str(program), *words),
    )


def runs(program: Path, folder: Path, *words: str, cpus: int = 16, seed: int = 1) -> Ran:
    """Record a program exactly, in this process and without a report."""
    machine = load_machine(MACHINE)
    executable = find_program((str(program), *words))
    job = Job(machine, tuple(cpus_in_order(machine, "numbered")[:cpus]), seed=seed)
    return Runs(executable, folder, folder, output_to_stderr=False).begin(job)


def runs_as_natively(
    program: Path, folder: Path, capfd: pytest.CaptureFixture[str], *words: str
) -> str:
    """Check that a program prints the same natively and recorded, and return that."""
    native = subprocess.run(
        [program, *words], capture_output=True, text=True, check=True, timeout=240
    )
    done = runs(program, folder, *words)
    assert (done.status, capfd.readouterr().out) == (0, native.stdout)
    return native.stdout
