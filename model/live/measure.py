# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stages bench primitives and bench ping-pong: run schedshard-live and make results.

A result has the form of a simulated one, so that tables, compare and report accept both.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common.errors import UserError, check_names
from common.follow import run_followed
from common.formats import LIVE
from common.paths import build_dir
from common.provenance import tool_versions
from model.live.cpus import Allowed, allowed_cpus, check_cpu, placed, thread_counts
from model.live.host import (
    estimated_machine,
    host_facts,
    known_machine,
    live_topology,
    pairs_by_class,
    pairs_from,
)
from model.machines.making.topology import Topology
from model.machines.presets import Machine
from model.run.experiment import Experiment, load_experiment
from model.run.pairs import Pair

LIMIT_SECONDS = 50
MAX_HOLD_NS = 1_000_000
KEPT = ("ns_per_op", "min", "max", "low", "high", "rounds", "disturbed", "all_disturbed")


@dataclass(frozen=True)
class LiveRequest:
    """What to measure.

    None, or an empty tuple, selects the default. ``limit``: no measurement begins later (seconds).
    """

    ops: tuple[str, ...] = ()
    threads: str | None = None
    placement: str = "os"
    hold_ns: float | None = None
    work_ns: float | None = None
    lines: int | None = None
    home: int | None = None
    first: int | None = None
    pairs_a_class: int = 1
    limit: int = LIMIT_SECONDS


@dataclass(frozen=True)
class Host:
    """The measured host. ``known``: its machine file was measured and is not an estimate."""

    topology: Topology
    allowed: Allowed
    machine: Machine
    known: bool


def live_binary() -> Path:
    """Return the path of the tool that measures."""
    return build_dir() / "bench" / "schedshard-live"


def find_host(folder: Path) -> Host:
    """Return this host. If it has no machine file, an estimate is written to ``folder``."""
    topology = live_topology()
    allowed = allowed_cpus(topology)
    known = known_machine(topology)
    machine = known if known is not None else estimated_machine(topology, folder)
    return Host(topology, allowed, machine, known is not None)


def _chosen(experiment: Experiment, ops: tuple[str, ...]) -> list[str]:
    names = [variant.name for variant in experiment.variants]
    check_names(f"operation of {experiment.name}", ops, names)
    return [name for name in names if not ops or name in ops]


def _check_ns(option: str, ns: float | None) -> None:
    if ns is not None and (not math.isfinite(ns) or not 0 <= ns <= MAX_HOLD_NS or ns != int(ns)):
        raise UserError(f"{option} {ns:g}: give whole nanoseconds from 0 to {MAX_HOLD_NS:,}")


def _check_hold(experiment: Experiment, request: LiveRequest) -> None:
    _check_ns("--hold", request.hold_ns)
    _check_ns("--work", request.work_ns)
    if request.hold_ns is None:
        return
    having = [variant.name for variant in experiment.variants if variant.hold]
    lacking = [name for name in request.ops if name not in having]
    if lacking:
        raise UserError(f"{lacking[0]} has no hold time: --hold is for {', '.join(having)}")


def bench_primitives(request: LiveRequest, host: Host | None = None) -> dict[str, Any]:
    """Measure N threads on N CPUs that do one operation in a loop. Return a curve per operation."""
    experiment = load_experiment("primitives")
    _check_hold(experiment, request)
    ops = _chosen(experiment, request.ops)
    if request.hold_ns:
        ops = [name for name in ops if experiment.variant(name).hold]
    with TemporaryDirectory(prefix="schedshard-") as folder:
        host = host or find_host(Path(folder))
        counts = thread_counts(request.threads, host.allowed)
        order = placed(host.allowed, host.topology, request.placement)[: counts[-1]]
        raw = run_followed(
            [
                str(live_binary()), "primitives", "--progress",
                "--op", ",".join(ops),
                "--cpus", ",".join(map(str, order)),
                "--threads", ",".join(map(str, counts)),
                "--hold", f"{int(request.hold_ns or 0)}",
                "--work", f"{int(request.work_ns or 0)}",
                "--lines", str(request.lines or 1),
                "--limit", str(request.limit),
            ],
            "measuring primitives",
        )  # fmt: skip
        result = _result(experiment, host, raw)
    result["cpus"] = len(order)
    result["placement"] = request.placement
    result["order"] = list(order)
    result["hold_ns"] = float(request.hold_ns or 0)
    result["work_ns"] = float(request.work_ns or 0)
    result["objects"] = request.lines or 1
    result["variants"] = _variants(experiment, raw, ("threads",), {})
    return result


def bench_ping_pong(request: LiveRequest, host: Host | None = None) -> dict[str, Any]:
    """Measure pairs of CPUs that alternate. Return a point per latency class, or per other CPU."""
    experiment = load_experiment("ping-pong")
    ops = _chosen(experiment, request.ops)
    with TemporaryDirectory(prefix="schedshard-") as folder:
        host = host or find_host(Path(folder))
        pairs = _pairs(host, request)
        raw = run_followed(
            [
                str(live_binary()), "ping-pong", "--progress",
                "--op", ",".join(ops),
                "--pairs", ",".join(f"{pair.first}:{pair.second}" for pair in pairs),
                *([] if request.home is None else ["--home", str(request.home)]),
                "--limit", str(request.limit),
            ],
            "measuring ping-pong",
        )  # fmt: skip
        result = _result(experiment, host, raw)
    classes = {(pair.first, pair.second): pair.latency_class for pair in pairs}
    result["cpus"] = 2
    result["placement"] = "os"
    result["variants"] = _variants(experiment, raw, ("from", "to"), classes)
    return result


def _pairs(host: Host, request: LiveRequest) -> tuple[Pair, ...]:
    allowed = host.allowed
    if request.first is not None:
        check_cpu(request.first, "--from", allowed, host.topology)
    if allowed.most < 2:
        raise UserError(f"ping-pong needs two CPUs: {allowed.reason}")
    if request.first is not None:
        return pairs_from(host.machine, request.first, allowed.cpus)
    return pairs_by_class(host.machine, allowed.cpus, request.pairs_a_class)


def _result(experiment: Experiment, host: Host, raw: Any) -> dict[str, Any]:
    machine = host.machine
    result: dict[str, Any] = {
        "format": LIVE,
        "label": "measured",
        "experiment": experiment.name,
        "title": experiment.title,
        "machine": {
            "name": "host",
            "title": machine.title,
            "kind": "measured",
            "cpus": len(host.topology.cpus),
        },
        "machine_file": machine.path.read_text(encoding="utf-8") if host.known else None,
        "host": {**host_facts(), "cpus_allowed": host.allowed.most},
        "cap": None,
        "baseline": experiment.baseline,
        "sweep": experiment.sweep,
        "provenance": tool_versions(),
    }
    try:
        result["host"]["compiler"] = str(raw["compiler"])
        result["left_out"] = int(raw["left_out"])
    except (KeyError, TypeError, ValueError) as error:
        raise _garbled(error) from error
    return result


def _garbled(error: Exception) -> UserError:
    return UserError(f"schedshard-live printed no measurements: {error!r}", status=1)


def _variants(
    experiment: Experiment, raw: Any, place: tuple[str, ...], classes: dict[tuple[int, int], str]
) -> list[dict[str, Any]]:
    """Return the variants of a result. Each point contains its place, then its measurement."""
    variants = []
    try:
        for variant in raw["variants"]:
            points = []
            for point in variant["points"]:
                where: dict[str, Any] = {key: int(point[key]) for key in place}
                if classes:
                    where = {"class": classes[where["from"], where["to"]], **where}
                values = {key: point[key] for key in KEPT if key in point}
                if not values["ns_per_op"] > 0:
                    raise ValueError("an operation took no time")
                metrics = {"ns_per_op": values["ns_per_op"]}
                points.append({**where, **values, "metrics": metrics})
            name = str(variant["name"])
            title = experiment.variant(name).title
            variants.append({"name": name, "title": title, "points": points})
    except (KeyError, TypeError, ValueError) as error:
        raise _garbled(error) from error
    measured = [variant for variant in variants if variant["points"]]
    if not measured:
        raise UserError("nothing was measured in time: give a longer --limit", status=1)
    return measured
