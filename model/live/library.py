# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage 'bench library': compares the library with alternatives, here or on simulated machines.

Contended rows are simulated, or measured on this host's CPUs. Rows of one thread are measured on
this host with the machine's shards. The time of a walk or an allocation depends on the number of
shards.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common.errors import UserError
from common.paths import ROOT, bench_binary, build_dir
from common.progress import ticking
from common.provenance import tool_versions
from model.live.host import host_facts
from model.live.library_rows import (
    CRATES,
    MEMORY,
    ONE_THREAD,
    OTHERS,
    POOLS,
    Figure,
    LibraryRow,
    Row,
    compared,
)
from model.live.measure import LiveRequest, bench_primitives, find_host
from model.machines.presets import Machine, cpu_count, load_machine
from model.results.saved import Saved
from model.run.bench import run_bench
from model.run.run import execute, plan_run
from model.run.run_options import RunOptions, make_request
from model.run.uncertain.intervals import interval
from model.run.uncertain.uncertainty import (
    check_interval,
    figures_of,
    plan_study,
    run_plans,
)

FORMAT = "schedshard/library/1"
CAP = 16  # as sbm_create() takes it; pools and slots choose their own
FEW_THREADS = (2, 16)
SAMPLES = 20
LIMIT = 50
WORK_NS = 1000.0
Figures = dict[tuple[str, int], Figure]  # by operation and number of threads


@dataclass(frozen=True)
class LibraryRequest:
    """What to compare. ``machines``: simulated ones instead of this host.

    ``samples`` is the number of samples for intervals: 0 for none, None for SAMPLES. ``limit`` is
    in seconds on this host; None means LIMIT.
    """

    machines: tuple[str, ...] = ()
    samples: int | None = None
    limit: int | None = None
    rust: bool = False


class LibraryMachine(Saved, kw_only=True):
    """The rows of a simulated machine, or of this host, which has no name."""

    name: str | None
    title: str
    cpus: int
    rows: list[LibraryRow]


class Library(Saved, kw_only=True):
    """What `bench library` saves."""

    format: str
    samples: int | None
    machines: list[LibraryMachine]
    host: dict[str, Any]
    provenance: dict[str, str]


def bench_library(request: LibraryRequest) -> Library:
    """Return all rows of all machines, or of this host."""
    if request.rust and request.machines:
        raise UserError("--rust measures on this host: leave --machine out")
    if request.limit is not None and request.machines:
        raise UserError("--limit is for measurements on this host: leave --machine out")
    if request.samples is not None and not request.machines:
        raise UserError("--samples is for simulated machines: give --machine")
    samples = SAMPLES if request.samples is None else request.samples
    if samples:
        check_interval("--samples", samples, "; 0 draws none")
    loaded = [load_machine(name) for name in request.machines]
    made = [_simulated(machine, samples) for machine in loaded] or [_host(request)]
    return Library(
        format=FORMAT,
        samples=samples if loaded else None,
        machines=made,
        host=host_facts(),
        provenance=tool_versions(),
    )


def _operations(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for row in rows for name in (row.ours, *row.peers)))


def _counts(cpus: int) -> list[int]:
    return sorted({*(n for n in FEW_THREADS if n < cpus), cpus})


def _rows(
    rows: Sequence[Row], figures: Figures, cpus: int, counts: Sequence[int], work: float
) -> list[LibraryRow]:
    found = []
    for row in rows:
        for threads in counts:
            own = {name: one for (name, n), one in figures.items() if n == threads}
            found.append(compared(row, own, cpus, threads, work_ns=work))
    return [row for row in found if row is not None]


def _simulated(machine: Machine, samples: int) -> LibraryMachine:
    cpus = cpu_count(machine)
    counts = _counts(cpus)
    made = []
    for rows, work in (((*POOLS, *OTHERS), 0.0), (POOLS, WORK_NS)):
        figures = _predict(machine, _operations(rows), counts, work, samples)
        made += _rows(rows, figures, cpus, counts, work)
    made += _one_thread(machine.path, cpus)
    return LibraryMachine(name=machine.name, title=machine.title, cpus=cpus, rows=made)


def _predict(
    machine: Machine, ops: tuple[str, ...], counts: Sequence[int], work: float, samples: int
) -> Figures:
    options = RunOptions(
        "primitives", str(machine.path), cap=CAP, ops=ops, work_ns=work,
        threads=",".join(map(str, counts)),
    )  # fmt: skip
    request = make_request(options)
    plan = plan_run(request)
    with ticking(f"{machine.name}, {work:g} ns of work", len(plan.points)) as tick:
        known = figures_of(plan, execute(plan, tick))
    drawn: list[Mapping[Any, float | None]] = []
    if samples:
        with TemporaryDirectory(prefix="schedshard-") as folder:
            study = plan_study(request, samples, Path(folder))
            with ticking(f"{machine.name}, {samples} samples", study.points) as tick:
                raws = run_plans(study.plans, tick)
            drawn = [figures_of(one, raw) for one, raw in zip(study.plans, raws, strict=True)]
    found: Figures = {}
    for key, value in known.items():
        name, threads, figure = key
        if figure != "ns_per_op" or value is None:
            continue
        each = tuple(float(one[key] or 0.0) for one in drawn)
        low, high = value, value
        if each:
            spread = interval(each)
            low, high = spread.low, spread.high
        found[name, int(threads or 0)] = Figure(value, low, high, each)
    return found


def _host(request: LibraryRequest) -> LibraryMachine:
    with TemporaryDirectory(prefix="schedshard-") as folder:
        host = find_host(Path(folder))
        cpus = host.allowed.most
        counts = sorted({1, *_counts(cpus)})
        made = []
        for rows, work in (((*POOLS, *OTHERS), 0.0), (POOLS, WORK_NS)):
            asked = LiveRequest(
                ops=_operations(rows), threads=",".join(map(str, counts)), work_ns=work,
                limit=LIMIT if request.limit is None else request.limit,
            )  # fmt: skip
            figures = {
                (variant["name"], point["threads"]): Figure(
                    point["ns_per_op"], point["low"], point["high"]
                )
                for variant in bench_primitives(asked, host)["variants"]
                for point in variant["points"]
            }
            made += _rows(rows, figures, cpus, counts, work)
        made += _one_thread(host.machine.path, cpus)
        if request.rust:
            made += _crates(cpus, counts)
    return LibraryMachine(name=None, title=host.machine.title, cpus=cpus, rows=made)


def _one_thread(machine: Path, cpus: int) -> list[LibraryRow]:
    """Return the rows of one thread, measured on this host with the shards of a machine."""
    raw = run_bench([str(bench_binary()), "--machine", str(machine)])
    try:
        timed: dict[tuple[str, str | None], dict[str, Figure]] = {}
        sized: dict[str, Figure] = {}
        for one in raw["rows"]:
            unit = one["ns"] / one["ratio"]
            figure = Figure(one["ns"], unit * one["ratio_low"], unit * one["ratio_high"])
            timed.setdefault((one["op"], one["density"]), {})[one["variant"]] = figure
            if one["bytes"]:
                sized[one["variant"]] = Figure(one["bytes"], one["bytes"], one["bytes"])
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise UserError(f"schedshard-bench printed no rows: {error!r}", status=1) from error
    found = [compared(row, timed.get((op, where), {}), cpus, 1) for op, where, row in ONE_THREAD]
    found += [compared(row, sized, cpus, None, "bytes") for row in MEMORY]
    return [row for row in found if row is not None]


def _crates(cpus: int, counts: Sequence[int]) -> list[LibraryRow]:
    """Return the rows of the crate, measured by rust/bench.

    Cargo builds it and fetches its peers.
    """
    manifest = ROOT / "rust/bench/Cargo.toml"
    if not manifest.is_file() or shutil.which("cargo") is None:
        raise UserError("--rust: it needs a checkout with rust/bench, and cargo")
    argv = ["cargo", "run", "--release", "--quiet", "--manifest-path", str(manifest), "--"]
    where = {"SCHEDSHARD_LIB_DIR": str(build_dir() / "lib"), "SCHEDSHARD_STATIC": "1"}
    ran = subprocess.run(
        [*argv, *map(str, counts)],
        env={**os.environ, **where},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["no reason"])[-1]
        raise UserError(f"--rust: cargo failed: {last}", status=1)
    return crate_rows(ran.stdout, cpus)


def crate_rows(text: str, cpus: int) -> list[LibraryRow]:
    """Return the rows in rust/bench's output: a heading per number of threads, then figures."""
    figures: Figures = {}
    threads = 0
    for line in text.splitlines():
        if heading := re.match(r"(\d+) threads, ns", line):
            threads = int(heading[1])
        elif one := re.match(r"  (\S.*?) +([\d.]+) +([\d.]+) +([\d.]+)$", line):
            value, low, high = (float(one[n]) for n in (2, 3, 4))
            figures[one[1], threads] = Figure(value, low, high)
    counts = sorted({threads for _, threads in figures})
    return _rows(CRATES, figures, cpus, counts, 0.0)
