# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measures what recording costs: one program native, emulated, under drd, recorded and exact.

The load of a host changes over time. So each repeat runs everything once, and ratios are formed
within a repeat. The output shows their median, minimum and maximum. On a busy host read the CPU
time; the output also shows the elapsed time.
"""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.paths import ROOT, build_dir, own_argv, remake
from common.provenance import tool_versions
from common.show.format import significant
from common.show.sheet import Sheet
from model.machines.presets import cpu_count, load_machine
from record.program.program import EMULATOR, find_emulator

COST = "schedshard/record-cost/1"
PROGRAM = "record-little"
SOURCE = ROOT / "tests" / "record" / "little.c"
QUANTA = (1000, 10_000)
EXACT_CPUS = (16, 128, 384)


@dataclass(frozen=True)
class CostRequest:
    """The arguments: threads, rounds per thread, repeats of the measurement, and the machine."""

    threads: int = 16
    rounds: int = 200
    repeats: int = 5
    machine: str = "epyc-9654-2s"


@dataclass(frozen=True)
class Took:
    """The resources that one run used, and its output."""

    wall: float
    cpu: float
    rss_mb: float
    said: bytes


def _run(words: Sequence[str]) -> Took:
    """Run a command to its end. The memory is that of its largest process."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        pid = os.posix_spawnp(
            words[0], list(words), dict(os.environ),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, err.fileno(), 2),
            ],
        )  # fmt: skip
        _, status, used = os.wait4(pid, 0)
        wall = time.monotonic() - began
        out.seek(0)
        err.seek(0)
        if status:
            last = err.read().decode("utf-8", "replace").strip().splitlines() or ["nothing"]
            raise UserError(f"{words[0]} failed; it said: {last[-1]}", status=1)
        return Took(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, out.read())


def compiled(folder: Path) -> dict[str, Path]:
    """Compile the program with the sanitizer's runtime and for the exact recorder.

    Return nothing without a compiler or the source, as in an installed schedshard.
    """
    compiler = next((name for name in ("gcc", "clang") if shutil.which(name)), None)
    if compiler is None or not SOURCE.is_file():
        return {}
    made = {"libtsan": folder / "libtsan", "exact": folder / "exact"}
    drivers = {"libtsan": [compiler, "-fsanitize=thread"], "exact": own_argv("cc")}
    for name, driver in drivers.items():
        words = [*driver, "-O2", "-g", "-pthread", str(SOURCE), "-o", str(made[name])]
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            why = (done.stderr.splitlines() or ["it failed"])[-1]
            raise UserError(f"{name}: cannot compile {SOURCE.name}: {why}", status=1)
    return made


def _exact(request: CostRequest, rounds: int, made: Mapping[str, Path]) -> dict[str, list[str]]:
    options = [str(request.threads), str(rounds)]
    cpus = cpu_count(load_machine(request.machine))
    found = {"libtsan": [str(made["libtsan"]), *options]}
    for count in EXACT_CPUS:
        if count <= cpus:
            found[f"exact, {count} CPUs"] = [
                *own_argv("c2c", "record", "--exact", "--machine", request.machine),
                *("--cpus", str(count), "--no-advice", "--", str(made["exact"]), *options),
            ]
    return found


def commands(
    request: CostRequest, rounds: int, trace: Path, made: Mapping[str, Path] | None = None
) -> dict[str, list[str]]:
    """Return the commands to compare, by name. ``made`` is the result of compiled()."""
    program = build_dir() / "tests" / "record" / PROGRAM
    if not program.is_file():
        raise UserError(f"{program} is missing: {remake()}")
    alone = [str(program), str(request.threads), str(rounds)]
    found = {"native": alone, "emulated": [find_emulator(), *alone]}
    if shutil.which("valgrind") is not None:
        found["drd"] = ["valgrind", "--tool=drd", "--quiet", *alone]
    if made:
        found.update(_exact(request, rounds, made))
    for quantum in QUANTA:
        found[f"recorded, {quantum:,}"] = [
            *own_argv("c2c", "record", "--machine", request.machine),
            *("--quantum", str(quantum), "--no-advice", "--trace", str(trace), "--", *alone),
        ]
    return found


def _measured(runs: Mapping[str, Sequence[Took]], base: str, key: str, name: str) -> dict[str, Any]:
    ratios = [
        getattr(run, key) / getattr(first, key)
        for run, first in zip(runs[name], runs[base], strict=True)
        if getattr(first, key)
    ]
    if not ratios:
        raise UserError("the program was too short to be measured: give more --rounds", status=1)
    return {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}


def cost(request: CostRequest) -> dict[str, Any]:
    """Measure all commands, and memory and trace size also at a quarter and half of the rounds."""
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        trace = Path(folder) / "trace"
        runs: dict[str, list[Took]] = {}
        made = compiled(Path(folder))
        for _ in range(request.repeats):
            for name, words in commands(request, request.rounds, trace, made).items():
                runs.setdefault(name, []).append(_run(words))
        for name, found in runs.items():
            if {run.said for run in found} != {runs["native"][0].said}:
                raise UserError(f"{name}: the program's output differs from a native run", status=1)
        bases = [name for name in ("native", "drd") if name in runs]
        rows = [
            {
                "name": name,
                "cpu_seconds": statistics.median(run.cpu for run in found),
                "wall_seconds": statistics.median(run.wall for run in found),
                "peak_mb": max(run.rss_mb for run in found),
                "against": {
                    base: {key: _measured(runs, base, key, name) for key in ("cpu", "wall")}
                    for base in bases
                },
            }
            for name, found in runs.items()
        ]
        lengths = []
        for part in (4, 2, 1):
            rounds = max(1, request.rounds // part)
            words = list(commands(request, rounds, trace).values())[-2]
            took = _run(words)
            lengths.append(
                {
                    "rounds": rounds,
                    "peak_mb": took.rss_mb,
                    "trace_mb": trace.stat().st_size / (1 << 20),
                }
            )
    return {
        "format": COST,
        "program": f"{PROGRAM} {request.threads} {request.rounds}",
        "machine": request.machine,
        "emulator": EMULATOR,
        "repeats": request.repeats,
        "host_cpus": len(os.sched_getaffinity(0)),
        "rows": rows,
        "lengths": lengths,
        "provenance": tool_versions(),
    }


def _range(value: Mapping[str, float]) -> str:
    low, high = significant(value["min"]), significant(value["max"])
    return f"{significant(value['median'])} ({low} to {high})"


def cost_tables(data: Mapping[str, Any]) -> list[Sheet]:
    """Return two tables: the ratios, and the memory by length of the run."""
    bases = list(data["rows"][0]["against"])
    columns = ["CPU s", "wall s", "peak MiB"]
    columns += ["CPU / native", "wall / native", *("CPU / drd" for base in bases[1:])]
    ratios = Sheet(
        f"{data['program']}: measured on this host, {data['host_cpus']} CPUs, {data['repeats']} "
        "repeats; median (least to most)",
        "", *columns, right=columns,
    )  # fmt: skip
    for row in data["rows"]:
        cells = [significant(row[key]) for key in ("cpu_seconds", "wall_seconds", "peak_mb")]
        cells += [_range(row["against"]["native"][key]) for key in ("cpu", "wall")]
        cells += [_range(row["against"][base]["cpu"]) for base in bases[1:]]
        ratios.add_row(row["name"], *cells)
    numbers = ("peak memory, MiB", "trace, MiB")
    memory = Sheet("Recorded, by length of the run", "rounds", *numbers, right=numbers)
    for each in data["lengths"]:
        memory.add_row(
            str(each["rounds"]), significant(each["peak_mb"]), significant(each["trace_mb"])
        )
    return [ratios, memory]
