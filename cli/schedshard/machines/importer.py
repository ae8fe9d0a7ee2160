# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""From a latency table, and an hwloc XML file if there is one, to a machine file."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from schedshard.errors import UserError, os_reason
from schedshard.machines.classes import Evidence, describe, weigh
from schedshard.machines.document import (
    Facts,
    add_usual_latencies,
    machine_name,
    machine_toml,
    spans_nodes,
)
from schedshard.machines.infer import infer_topology
from schedshard.machines.latencycsv import LatencyTable, parse_latency_csv
from schedshard.machines.topology import (
    Ids,
    Topology,
    cpu_list,
    from_tool,
    regular_form,
    renumber,
)
from schedshard.paths import topo_binary
from schedshard.tool import run_json

MAX_BYTES = 512 << 20
USUAL_CLOCK_GHZ = 2.5
CLOCK_IN_NAME = re.compile(r"([0-9]\.[0-9]{1,2})\s*GHz", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class ImportRequest:
    """What the user asks for."""

    csv: Path
    hwloc_xml: Path | None = None
    name: str | None = None
    clock_ghz: float | None = None


@dataclass
class Imported:
    """The machine file and what the user should know about it."""

    facts: Facts
    text: str
    evidence: Evidence | None
    notes: list[str] = field(default_factory=list)


def import_machine(request: ImportRequest) -> Imported:
    """Turn a latency table into the text of a machine file."""
    raw = _read(request.csv)
    try:
        table = parse_latency_csv(raw.decode("utf-8"), request.csv.name)
    except UnicodeDecodeError as error:
        raise UserError(
            f"{request.csv.name}: byte {error.start + 1} is no UTF-8 text: a table of "
            "comma-separated numbers is needed"
        ) from error
    inferred = infer_topology(table)
    notes = list(inferred.notes)
    topology = inferred.topology
    origin = f"{request.csv.name} (sha256 {hashlib.sha256(raw).hexdigest()[:16]})"
    if request.hwloc_xml is not None:
        topology = _hwloc_topology(request.hwloc_xml, table, notes)
        notes = disagreements(topology.restrict(table.cpus), inferred.topology, notes)
    part = topology.restrict(table.cpus)
    evidence = weigh(table.symmetric(), part)
    facts = _facts(request, topology, evidence, origin, notes)
    return Imported(facts, machine_toml(facts), evidence, notes)


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path}: larger than {MAX_BYTES >> 20} MB, no latency table")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read latency table {path}: {os_reason(error)}") from error


def _hwloc_topology(path: Path, table: LatencyTable, notes: list[str]) -> Topology:
    if not path.is_file():
        raise UserError(f"no hwloc XML file {path}: 'lstopo FILE.xml' on that machine makes one")
    topology = from_tool(run_json([str(topo_binary()), "--hwloc-xml", str(path)]))
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
        notes.append(f"no latencies of CPUs {cpu_list(rest)}: taken as those of their class")
    return topology


def disagreements(said: Topology, inferred: Topology, notes: list[str]) -> list[str]:
    """Where latencies tell another grouping than the file; nodes are firmware's choice."""
    found = list(notes)
    for level in ("core", "llc", "package"):
        a = renumber(said.ids(level), said.cpus)
        b = renumber(inferred.ids(level), inferred.cpus)
        if np.array_equal(a, b):
            continue
        wrong = _unlike(a, b)
        where = [cpu for cpu, bad in zip(said.cpus, wrong.tolist(), strict=True) if bad]
        found.append(
            f"disagreement: {said.count(level)} groups by {level} in the hwloc file, "
            f"{inferred.count(level)} by latency; they differ for CPUs {cpu_list(where)}"
        )
    return found


def _unlike(a: Ids, b: Ids) -> Ids:
    """Members that have other neighbours in one grouping than in the other."""
    return np.asarray(((a[:, None] == a[None, :]) != (b[:, None] == b[None, :])).any(axis=1))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _clock(request: ImportRequest) -> tuple[float, str]:
    if request.clock_ghz is not None:
        return request.clock_ghz, "given on the command line"
    in_name = CLOCK_IN_NAME.search(request.csv.name)
    if in_name is not None and float(in_name.group(1)) > 0:
        return float(in_name.group(1)), f"name of the file {request.csv.name}"
    return USUAL_CLOCK_GHZ, "estimate: not given (--clock-ghz), a usual base clock of servers"


def _facts(
    request: ImportRequest, topology: Topology, evidence: Evidence, origin: str, notes: list[str]
) -> Facts:
    clock, clock_source = _clock(request)
    if request.hwloc_xml is not None:
        how = f"hwloc XML file {request.hwloc_xml.name}; latencies of {origin} fit it: "
    else:
        how = f"grouping by latency of {origin}: "
    counts = ", ".join(
        f"{item.name} {item.pairs:,} pairs ({item.low:.0f}-{item.high:.0f})"
        for item in evidence.classes.values()
    )
    stem = request.csv.stem
    facts = Facts(
        name=machine_name(request.name if request.name is not None else stem),
        title=f"Imported from {_printable(stem)}"[:200],
        kind="measured",
        clock_ghz=clock,
        topology=topology,
        latency_ns={name: item.median for name, item in evidence.classes.items()},
        op_cycles={},
        source={
            "clock_ghz": clock_source,
            "topology": how + describe(evidence) + "".join(f"; {note}" for note in notes),
            "latency_ns": f"medians over pairs of {origin}, 5th-95th percentile in ns: {counts}",
            "op_cycles": "estimate: not in a latency table, usual for x86 servers",
        },
    )
    add_usual_latencies(facts)
    return facts
