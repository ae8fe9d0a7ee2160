# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measures this host's topology, the latencies between its CPUs, and the costs of operations.

With more than a few dozen CPUs it measures a sample of pairs (sampling.py), within a minute.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError
from common.follow import run_followed
from common.paths import build_dir, topo_binary
from common.tool import run_json
from model.machines.making.classes import Evidence, describe, weigh
from model.machines.making.document import (
    Facts,
    add_usual_cycles,
    add_usual_latencies,
    machine_toml,
)
from model.machines.making.importer import Imported, add_latencies, disagreement
from model.machines.making.sampling import sample_pairs
from model.machines.making.topology import Topology, from_tool
from model.machines.numbers import Range
from model.machines.topo import label

# Pairs per package that are measured again with the line's home in another package.
HOMES_PER_PACKAGE = 8
# With fewer CPUs there are too few latencies to question the topology that the host reports.
ENOUGH_TO_DOUBT = 4
# A measurement may take a minute. This is the limit of the tool that measures. The rest is for the
# tool's last pair and for reading the topology.
LIMIT_SECONDS = 50
OPS = ("load_hit", "store", "locked", "fence", "timestamp")


@dataclass(frozen=True)
class MeasureRequest:
    """The arguments of the command. ``cpus`` is None for all that this process may use."""

    cpus: list[int] | None = None
    samples: int = 50


@dataclass(frozen=True)
class Processor:
    """The kernel's facts about the processor."""

    model: str
    virtual: bool = False


def measure_binary() -> Path:
    """Return the path of the tool that measures."""
    return build_dir() / "bench" / "schedshard-measure"


def measure_machine(request: MeasureRequest) -> Imported:
    """Measure this host and return the text of its machine file."""
    topology = from_tool(run_json([str(topo_binary()), "--live"]))
    cpus = _usable(request.cpus, topology)
    argv = [
        str(measure_binary()), "--progress",
        "--cpus", label(cpus),
        "--samples", str(request.samples),
        "--limit", str(LIMIT_SECONDS),
    ]  # fmt: skip
    part = topology.restrict(cpus)
    for a, b, home in foreign_homes(part):
        argv += ["--home", f"{a}:{b}@{home}"]
    if pairs := sample_pairs(part):
        argv += ["--pairs", ",".join(f"{a}:{b}" for a, b in pairs)]
    return host_machine(topology, cpus, run_followed(argv, "measuring"), host_processor())


def _usable(asked: list[int] | None, topology: Topology) -> list[int]:
    """Return the CPUs to measure. Raise a UserError for one that is unknown or not allowed."""
    allowed = sorted(os.sched_getaffinity(0) & set(topology.cpus))
    if not allowed:
        raise UserError("no CPU that this process may use is in the host's topology", status=1)
    if asked is None:
        return allowed
    refused = sorted(set(asked) - set(allowed))
    if refused:
        raise UserError(f"--cpus: this process may not use {label(refused)}, only {label(allowed)}")
    return asked


def foreign_homes(part: Topology) -> list[tuple[int, int, int]]:
    """Return pairs of two LLCs of one package, each with a home CPU in another package."""
    homes = []
    packages = np.unique(part.package).tolist()
    for package in packages:
        others = [i for i, at in enumerate(part.package.tolist()) if at != package]
        firsts = [
            int(np.flatnonzero(part.llc == llc)[0])
            for llc in np.unique(part.llc[part.package == package]).tolist()
        ]
        pairs = [(a, b) for i, a in enumerate(firsts) for b in firsts[:i]]
        if not others or not pairs:
            continue
        for k in range(min(len(pairs), HOMES_PER_PACKAGE)):
            a, b = pairs[k * len(pairs) // min(len(pairs), HOMES_PER_PACKAGE)]
            home = others[k * len(others) // HOMES_PER_PACKAGE]
            homes.append((part.cpus[a], part.cpus[b], part.cpus[home]))
    return homes


def host_machine(
    topology: Topology, cpus: list[int], result: Any, processor: Processor
) -> Imported:
    """Return the machine file for a topology and the output of schedshard-measure."""
    try:
        ops = {key: float(value) for key, value in result["ops_ns"].items()}
        pairs = [(int(p["a"]), int(p["b"]), float(p["ns"])) for p in result["pairs"]]
        homes = [float(p["ns"]) for p in result["homes"]]
        cycle = ops["cycle"]
        op_cycles = {key: round(ops[key] / cycle, 1) for key in OPS}
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise UserError(
            f"schedshard-measure printed no measurements: {error!r}", status=1
        ) from error
    notes: list[str] = []
    left_out = int(result.get("left_out", 0))
    if left_out:
        notes.append(f"{left_out} of {left_out + len(pairs)} pairs were left out: time was up")
    evidence = _pair_evidence(topology, cpus, pairs, notes)
    if processor.virtual and evidence is not None:
        notes.append(
            "a virtual machine: its CPUs may move between cores that are near or far, so the "
            "latencies are those of this moment"
        )
    how = f"measured by schedshard-measure on CPU {label(cpus)}"
    facts = Facts(
        name="host",
        title=f"This host: {processor.model}"[:200],
        kind="measured" if evidence is not None else "estimate",
        clock_ghz=1.0 / cycle,
        topology=topology,
        latency_ns={"memory": ops["memory"]},
        op_cycles=op_cycles,
        source={
            "clock_ghz": f"{how}: {cycle:.4f} ns per addition that waits for the one before",
            "topology": "stated by the host (/sys)"
            + (f"; {describe(evidence)}" if evidence is not None else "")
            + "".join(f"; {note}" for note in notes),
            "latency_ns.memory": f"{how}: random walk through far more than the caches hold",
            "op_cycles": f"{how}: lower quartiles of {result.get('samples')} runs, at clock_ghz",
        },
    )
    add_usual_cycles(facts, "not measured, cores of today have 50 to 112 entries")
    if evidence is not None:
        runs = f"lower quartile of {result.get('samples')} runs per pair"
        add_latencies(facts, evidence, f"{how}, half a compare-and-swap round trip, {runs}")
    if homes:
        facts.latency_ns["home_remote"] = float(np.median(homes))
        low, high = np.percentile(homes, [5, 95]).round(1).tolist()
        facts.ranges["latency_ns.home_remote"] = Range(low, high)
        facts.source["latency_ns.home_remote"] = (
            f"{how}: median of {len(homes)} pairs whose line was on a node of another package"
        )
    switch = ops.get("yield_switch", 0.0)
    if switch > 0:
        notes.append(f"a switch between two threads by sched_yield takes {switch:.0f} ns")
    add_usual_latencies(facts)
    return Imported(facts, machine_toml(facts), evidence, notes)


def _pair_evidence(
    topology: Topology, cpus: list[int], pairs: list[tuple[int, int, float]], notes: list[str]
) -> Evidence | None:
    if not pairs:
        notes.append("only one CPU was measured: there is no pair, latencies are estimates")
        return None
    index = {cpu: i for i, cpu in enumerate(cpus)}
    part = topology.restrict(cpus)
    if len(cpus) < len(topology.cpus):
        rest = sorted(set(topology.cpus) - set(cpus))
        notes.append(f"CPUs {label(rest)} were not measured: latencies of their class are used")
    rows = np.array([index[a] for a, _, _ in pairs], dtype=np.int64)
    columns = np.array([index[b] for _, b, _ in pairs], dtype=np.int64)
    values = np.array([ns for _, _, ns in pairs])
    evidence = weigh(rows, columns, values, part, topology)
    whole = len(pairs) == len(cpus) * (len(cpus) - 1) // 2
    if whole and len(cpus) >= ENOUGH_TO_DOUBT:
        notes.extend(disagreement(part, evidence, rows, columns, values))
    return evidence


def read_processor(cpuinfo: str) -> Processor:
    """Return the processor's name and whether this is a virtual machine, from /proc/cpuinfo."""
    model, virtual = "unknown processor", False
    for line in reversed(cpuinfo.splitlines()):
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "Processor") and value.strip():
            model = "".join(c if c.isprintable() else "?" for c in value.strip())
        virtual = virtual or (key.strip() == "flags" and "hypervisor" in value.split())
    return Processor(model, virtual)


def host_processor() -> Processor:
    """Return this host's processor."""
    try:
        return read_processor(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return read_processor("")
