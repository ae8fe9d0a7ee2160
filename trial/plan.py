# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Lists what a trial runs, in order. The trial runs this list, and --dry-run shows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common.errors import UserError
from trial.form import Costs, Cpu, Figure, Host
from trial.host import distance, in_order, pairs_by_class
from trial.predict.stored import OPS, PING_PONG
from trial.workloads import WORKLOADS, Workload

RUNS = 5
PAUSE = 0.5  # seconds of looking whether the machine is idle, between two steps
_SLOWEST, _SLACK = 10, 60  # a program may take _SLOWEST times its seconds, plus _SLACK
_LONGER = 1.5  # a trial that takes so many times the wanted time says so
LIVE, MEASURE = "schedshard-live", "schedshard-measure"
TOOLS = (LIVE, MEASURE)
_NS = "ns per operation"
# Pairs of CPUs per class: for ping-pong, whose median counts, and for the machine file.
_PAIRS, _COST_PAIRS = 3, 48
_HOMES = 8
# Measuring the costs takes at least this many seconds, a third of them for operations.
_LEAST_COSTS = 6
_TURNS = 3
# The share of the whole time for costs, and the shares of a run for ping-pong and for workloads.
_COSTS, _TURNING, _WORKING = 0.15, 0.25, 0.5
Figures = list[Figure]


@dataclass(frozen=True)
class Step:
    """A program to run for about ``seconds``.

    ``read`` makes figures of its output and of the seconds it took. ``workload`` is the name of a
    workload, "" for one of our programs, which the trial's file contains. ``again``: it is repeated
    for the whole time.
    """

    title: str
    argv: tuple[str, ...]
    seconds: float
    read: Callable[[str, float], Figures]
    workload: str = ""
    again: bool = False

    @property
    def limit(self) -> float:
        """Return the seconds after which the program is stuck."""
        return self.seconds * _SLOWEST + _SLACK


@dataclass(frozen=True)
class Plan:
    """All steps. ``once`` measures costs, for a machine file. ``skipped``: one line each.

    ``counted`` are the CPUs whose events are counted, if any.
    """

    once: Step
    steps: tuple[Step, ...]
    skipped: tuple[str, ...]
    counted: tuple[int, ...] = ()


def data_of(text: str, tool: str) -> Mapping[str, Any]:
    """Return the JSON that a tool printed."""
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise UserError(f"{tool} printed no measurements", status=1)
    return data


def costs_of(text: str) -> Costs:
    """Return what schedshard-measure printed."""
    data = data_of(text, MEASURE)
    return Costs(
        {str(key): float(ns) for key, ns in data["ops_ns"].items() if ns > 0},
        tuple((int(p["a"]), int(p["b"]), float(p["ns"])) for p in data["pairs"] if p["ns"] > 0),
        tuple(float(p["ns"]) for p in data["homes"] if p["ns"] > 0),
    )


def thread_counts(host: Host) -> list[int]:
    """Return 1, 2, 4, ..., and the numbers that fill a cache, a package, all cores, all CPUs."""
    cpus = len(host.cpus)
    cores = len({cpu.core for cpu in host.cpus})
    filled = {cores // len({getattr(c, level) for c in host.cpus}) for level in ("llc", "package")}
    counts = {1 << n for n in range(cpus.bit_length())} | filled | {cores, cpus}
    return sorted(count for count in counts if 1 <= count <= cpus)


def _points(text: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return each operation's points that other programs did not disturb."""
    return [
        (str(variant["name"]), point)
        for variant in data_of(text, LIVE)["variants"]
        for point in variant["points"]
        if not point["all_disturbed"] and point["ns_per_op"] > 0
    ]


def _contended(text: str, _: float) -> Figures:
    return [
        Figure(name, "host", _NS, (float(point["ns_per_op"]),), int(point["threads"]))
        for name, point in _points(text)
    ]


def _turns(host: Host) -> Callable[[str, float], Figures]:
    by_cpu = {cpu.cpu: cpu for cpu in host.cpus}

    def read(text: str, _: float) -> Figures:
        turns: dict[tuple[str, str], list[float]] = {}
        for name, point in _points(text):
            between = distance(by_cpu[point["from"]], by_cpu[point["to"]])
            turns.setdefault((name, between), []).append(float(point["ns_per_op"]))
        return [
            Figure(name, "host", _NS, (sorted(ns)[len(ns) // 2],), 2, between)
            for (name, between), ns in turns.items()
        ]

    return read


def workload_step(workload: Workload, cpus: Sequence[Cpu], seconds: int) -> Step:
    """Return the step of a workload."""

    def read(text: str, elapsed: float) -> Figures:
        return [
            Figure(workload.name, "host", unit, (value,), part=part)
            for part, unit, value in workload.read(text, elapsed)
            if value > 0
        ]

    argv = tuple(workload.argv(cpus, seconds))
    name = workload.name
    return Step(f"workload {name}", argv, seconds, read, name, workload.again)


def _costs(host: Host, seconds: int) -> Step:
    pairs = pairs_by_class(host.cpus, _COST_PAIRS)
    argv = [MEASURE, "--cpus", ",".join(str(cpu.cpu) for cpu in host.cpus)]
    argv += ["--limit", str(seconds)]
    if pairs:
        flat = [f"{a}:{b}" for of in pairs.values() for a, b in of]
        argv += ["--pairs", ",".join(flat)]
    package = {cpu.cpu: cpu.package for cpu in host.cpus}
    for a, b in [*pairs.get("node", ()), *pairs.get("package", ())][:_HOMES]:
        home = next((cpu for cpu, of in package.items() if of != package[a]), None)
        argv += [] if home is None else ["--home", f"{a}:{b}@{home}"]
    return Step("costs of operations, latencies of pairs", tuple(argv), seconds, lambda *_: [])


def make_plan(host: Host, minutes: float, root: bool, everywhere: bool = False) -> Plan:
    """Return what to run in about ``minutes``. ``root`` adds the scheduler's workloads.

    ``everywhere`` adds those whose programs are not on this host.
    """
    whole = minutes * 60
    missing = {w.name: w.missing(host.cpus) for w in WORKLOADS if root and not everywhere}
    runnable = [w for w in WORKLOADS if root and not missing.get(w.name)]
    run = whole * (1 - _COSTS) / RUNS
    work = run * _WORKING / len(runnable) if runnable else 0.0
    live = run - work * len(runnable)
    order = ",".join(str(cpu.cpu) for cpu in in_order(host.cpus))
    steps = []
    pairs = pairs_by_class(host.cpus, _PAIRS)
    if pairs:
        flat = ",".join(f"{a}:{b}" for of in pairs.values() for a, b in of)
        limit = max(1, int(live * _TURNING))
        words = (
            LIVE, "ping-pong", "--op", ",".join(PING_PONG), "--pairs", flat,
            "--repeats", str(_TURNS), "--limit", str(limit),
        )  # fmt: skip
        steps.append(Step("turns of two CPUs", words, limit, _turns(host)))
    limit = max(1, int(live * (1 - _TURNING)))
    argv = (
        LIVE, "primitives", "--op", ",".join(OPS), "--cpus", order,
        "--threads", ",".join(map(str, thread_counts(host))), "--repeats", str(_TURNS),
        "--limit", str(limit),
    )  # fmt: skip
    steps.append(Step("operations on shared lines", argv, limit, _contended))
    seconds = max(1, int(work))
    steps += [workload_step(w, host.cpus, seconds) for w in runnable]
    skipped = [f"skipped: {name}, because {of} is missing" for name, of in missing.items() if of]
    if not root:
        skipped.append("skipped: the scheduler's workloads, which only root can run")
    once = _costs(host, max(_LEAST_COSTS, int(whole * _COSTS)))
    needed = (once.seconds + RUNS * sum(step.seconds + PAUSE for step in steps)) / 60
    if needed > _LONGER * minutes:
        skipped.append(
            f"this takes about {needed:.1f} minutes, not {minutes:g}, because each of {len(steps)} "
            f"programs runs {RUNS} times for a second or more"
        )
    counted = tuple(cpu.cpu for cpu in host.cpus) if runnable else ()
    return Plan(once, tuple(steps), tuple(skipped), counted)


def described(plan: Plan, sums: Mapping[str, str]) -> Sequence[str]:
    """Return every command of a plan, in order, and what it reads and writes."""
    commands = [f"  once: {' '.join(plan.once.argv)}"]
    for step in plan.steps:
        shown = " ".join(json.dumps(w) if "\n" in w or " " in w else w for w in step.argv)
        commands.append(f"  {RUNS} times: {shown}")
    tools = [f"  {name}: SHA-256 {sum_}" for name, sum_ in sums.items()]
    return [
        f"Commands, in this order; those that run {RUNS} times take turns:", *commands,
        "Programs in this file, built from bench/ of schedshard's sources:", *tools,
        "Reads: /proc/cpuinfo, stat and interrupts, /sys/devices/system/cpu, /sys/class/hwmon and "
        "power_supply. As root also the scheduler's features in /sys/kernel/debug, and events of "
        "the processor, by perf_event_open().",
        "Writes: the file of --out, at the end. Uses no network, and asks no questions.",
        *plan.skipped,
    ]  # fmt: skip
