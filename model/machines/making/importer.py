# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes a machine file from a latency table, and from a topology file if one is given."""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from common.errors import UserError
from common.inputs import read_input
from common.paths import topo_binary
from common.tool import run_json
from model.machines.making.classes import Evidence, PairClass, describe, weigh
from model.machines.making.document import (
    Facts,
    FoundTier,
    add_usual_cycles,
    add_usual_latencies,
    machine_name,
    machine_toml,
    spans_nodes,
)
from model.machines.making.infer import choose, doubted, infer_topology
from model.machines.making.latencycsv import LatencyTable, parse_latency_csv
from model.machines.making.topology import (
    Ids,
    Topology,
    cpu_list,
    from_tool,
    read_given,
    regular_form,
    renumber,
)
from model.machines.numbers import Range

MAX_BYTES = 512 << 20
USUAL_CLOCK_GHZ = 2.5
USUAL_CLOCKS_GHZ = Range(1.9, 4.0)
CLOCK_IN_NAME = re.compile(r"([0-9]\.[0-9]{1,2})\s*GHz", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class ImportRequest:
    """The arguments of the command."""

    csv: Path
    hwloc_xml: Path | None = None
    topology: Path | None = None
    name: str | None = None
    clock_ghz: float | None = None


@dataclass
class Imported:
    """The machine file and notes for the user."""

    facts: Facts
    text: str
    evidence: Evidence | None
    notes: list[str] = field(default_factory=list)


def import_machine(request: ImportRequest) -> Imported:
    """Return the text of the machine file for a latency table, with notes."""
    raw = _read(request.csv)
    try:
        table = parse_latency_csv(raw.decode("utf-8"), request.csv.name)
    except UnicodeDecodeError as error:
        raise UserError(
            f"{request.csv.name}: byte {error.start + 1} is not UTF-8 text: a table of "
            "comma-separated numbers is needed"
        ) from error
    if request.hwloc_xml is not None and request.topology is not None:
        raise UserError("--hwloc-xml and --topology both say where CPUs are: give one of them")
    inferred = infer_topology(table)
    topology, notes, clear = choose(table, inferred)
    origin = f"{request.csv.name} (sha256 {hashlib.sha256(raw).hexdigest()[:16]})"
    if request.hwloc_xml is not None:
        topology = _hwloc_topology(request.hwloc_xml, table, notes)
        notes = disagreements(topology.restrict(table.cpus), inferred.topology, notes)
    elif request.topology is not None:
        given = read_given(request.topology)
        topology = _of_same_machine(given, request.topology, table, notes)
        notes = disagreements(topology.restrict(table.cpus), inferred.topology, notes)
    part = topology.restrict(table.cpus)
    evidence = weigh(table.symmetric(), part, topology)
    if request.hwloc_xml is None and request.topology is None:
        evidence = evidence if clear else doubted(evidence)
        notes.extend(
            f"groups of {tier.count} LLCs are nearer to each other than to the rest: a tier, not "
            "NUMA nodes, which depend on a firmware setting (an hwloc XML file shows it)"
            for tier in evidence.tiers
            if tier.unit == "llcs"
        )
    facts = _facts(request, topology, evidence, origin, notes)
    return Imported(facts, machine_toml(facts), evidence, notes)


def _read(path: Path) -> bytes:
    return read_input(path, "latency table", MAX_BYTES)


def _hwloc_topology(path: Path, table: LatencyTable, notes: list[str]) -> Topology:
    if not path.is_file():
        raise UserError(f"no hwloc XML file {path}: 'lstopo FILE.xml' on that machine makes one")
    topology = from_tool(run_json([str(topo_binary()), "--hwloc-xml", str(path)]))
    return _of_same_machine(topology, path, table, notes)


def _of_same_machine(
    topology: Topology, path: Path, table: LatencyTable, notes: list[str]
) -> Topology:
    """Return the topology, or raise a UserError if it lacks CPUs or fits no machine file."""
    extra = sorted(set(table.cpus) - set(topology.cpus))
    if extra:
        raise UserError(
            f"{table.name}: CPUs {cpu_list(extra)} are not in {path.name}: both files must be "
            "of the same machine"
        )
    if spans_nodes(topology) and regular_form(topology) is None:
        raise UserError(
            f"{path.name}: an LLC spans several NUMA nodes on an irregular machine, which a "
            "machine file cannot hold"
        )
    notes.clear()
    if len(table.cpus) < len(topology.cpus):
        rest = sorted(set(topology.cpus) - set(table.cpus))
        notes.append(f"no latencies of CPUs {cpu_list(rest)}: those of their class are used")
    return topology


def disagreements(said: Topology, inferred: Topology, notes: list[str]) -> list[str]:
    """Return where latencies and file disagree. Nodes do not count, as firmware chooses them."""
    found = list(notes)
    for level in ("core", "llc", "package"):
        a = renumber(said.ids(level), said.cpus)
        b = renumber(inferred.ids(level), inferred.cpus)
        if np.array_equal(a, b):
            continue
        wrong = _unlike(a, b)
        where = [cpu for cpu, bad in zip(said.cpus, wrong.tolist(), strict=True) if bad]
        found.append(
            f"disagreement: {said.count(level)} groups by {level} in the file of the topology, "
            f"{inferred.count(level)} by latency; they differ for CPUs {cpu_list(where)}"
        )
    return found


def _unlike(a: Ids, b: Ids) -> Ids:
    """Return the members that have different neighbours in two groupings."""
    return np.asarray(((a[:, None] == a[None, :]) != (b[:, None] == b[None, :])).any(axis=1))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _clock(request: ImportRequest) -> tuple[float, str | None]:
    """Return the clock and its source, None for a guess."""
    if request.clock_ghz is not None:
        return request.clock_ghz, "given on the command line"
    in_name = CLOCK_IN_NAME.search(request.csv.name)
    if in_name is not None and float(in_name.group(1)) > 0:
        return float(in_name.group(1)), f"name of the file {request.csv.name}"
    return USUAL_CLOCK_GHZ, None


def add_latencies(facts: Facts, evidence: Evidence, origin: str) -> None:
    """Add the medians of classes and tiers, with the spread of their pairs as the range.

    ``origin`` names the measurement in [source].
    """

    def limits(item: PairClass) -> Range:
        # rounded as in the file, so that the median stays inside
        return Range(*(round(ns, 1) for ns in (item.low, item.high)))

    for name, item in evidence.classes.items():
        facts.latency_ns[name] = item.median
        if item.pairs > 1:
            facts.ranges[f"latency_ns.{name}"] = limits(item)
    counts = ", ".join(f"{item.name} {item.pairs:,}" for item in evidence.classes.values())
    facts.source["latency_ns"] = (
        f"{origin}: median over the pairs of a class, and their 5th to 95th percentile: {counts}"
    )
    for tier in evidence.tiers:
        key = f"tier.{tier.name}"
        facts.tiers.append(FoundTier(tier.name, tier.unit, tier.count, tier.median))
        facts.ranges[key] = limits(tier)
        facts.source[key] = (
            f"same: {tier.pairs:,} pairs inside groups of {tier.count} {tier.unit}, clearly nearer "
            "than those around them"
        )


def _facts(
    request: ImportRequest, topology: Topology, evidence: Evidence, origin: str, notes: list[str]
) -> Facts:
    clock, clock_source = _clock(request)
    if request.hwloc_xml is not None:
        how = f"hwloc XML file {request.hwloc_xml.name}; latencies of {origin} fit it: "
    elif request.topology is not None:
        how = f"{request.topology.name}; latencies of {origin} fit it: "
    else:
        how = f"grouping by latency of {origin}: "
    stem = request.csv.stem
    facts = Facts(
        name=machine_name(request.name if request.name is not None else stem),
        title=f"Imported from {_printable(stem)}"[:200],
        kind="measured",
        clock_ghz=clock,
        topology=topology,
        latency_ns={},
        op_cycles={},
        source={"topology": how + describe(evidence) + "".join(f"; {note}" for note in notes)},
    )
    if clock_source is not None:
        facts.source["clock_ghz"] = clock_source
    else:
        why = "not given (--clock-ghz), a usual base clock of servers"
        facts.guess("clock_ghz", USUAL_CLOCKS_GHZ, why)
    add_latencies(facts, evidence, origin)
    add_usual_latencies(facts)
    add_usual_cycles(facts, "not in a latency table, usual for x86 servers")
    return facts
