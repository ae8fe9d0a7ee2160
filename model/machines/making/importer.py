# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes a machine file from a latency table and a description of the topology."""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from common.errors import UserError
from common.inputs import read_input
from model.machines.cores import Costs, core_costs, vendor_costs, vendor_of
from model.machines.making.classes import Evidence, PairClass, Values, describe, weigh
from model.machines.making.document import (
    Facts,
    FoundTier,
    add_usual_cycles,
    add_usual_latencies,
    machine_name,
    machine_toml,
    spans_nodes,
)
from model.machines.making.latencycsv import LatencyTable, parse_latency_csv
from model.machines.making.shapes import EQUAL, SHAPE_RIGHT, Shape, given_shape, shapes
from model.machines.making.topology import Ids, Topology, read_given, regular_form
from model.machines.numbers import Range
from model.machines.topo import label

MAX_BYTES = 512 << 20
USUAL_CLOCK_GHZ = 2.5
USUAL_CLOCKS_GHZ = Range(1.9, 4.0)
CLOCK_IN_NAME = re.compile(r"([0-9]\.[0-9]{1,2})\s*GHz", re.ASCII | re.IGNORECASE)
# A regular shape is named beside a topology only if its misfit is smaller by this factor.
CLEARLY_BETTER = 0.7
UNDECIDED = 3


@dataclass(frozen=True)
class ImportRequest:
    """The arguments of the command."""

    csv: Path
    topology: Path | None = None
    shape: str | None = None
    core: str | None = None
    name: str | None = None


@dataclass
class Imported:
    """The machine file and notes for the user."""

    facts: Facts
    text: str
    evidence: Evidence | None
    notes: list[str] = field(default_factory=list)


def import_machine(request: ImportRequest) -> Imported:
    """Return the text of the machine file for a latency table, with notes.

    Raise a UserError with status UNDECIDED that names the two best shapes, if nothing says which
    CPU is where.
    """
    if request.topology is not None and request.shape is not None:
        raise UserError("--topology and --shape both say where CPUs are: give one of them")
    costs = core_costs(request.core) if request.core is not None else None
    raw = read_input(request.csv, "latency table", MAX_BYTES)
    try:
        table = parse_latency_csv(raw.decode("utf-8"), request.csv.name)
    except UnicodeDecodeError as error:
        raise UserError(
            f"{request.csv.name}: byte {error.start + 1} is not UTF-8 text: a table of "
            "comma-separated numbers is needed"
        ) from error
    notes: list[str] = []
    if request.topology is not None:
        topology, how = _of_file(request.topology, table, notes), request.topology.name
    elif request.shape is not None:
        shape = given_shape(request.shape, table)
        topology, how = shape.topology, f"given as {shape.counts.words}"
    else:
        raise _undecided(table)
    rows, columns, values = table.pairs()
    part = topology.restrict(table.cpus)
    evidence = weigh(rows, columns, values, part, topology)
    notes += disagreement(part, evidence, rows, columns, values)
    origin = f"{request.csv.name} (sha256 {hashlib.sha256(raw).hexdigest()[:16]})"
    facts = _facts(request, topology, f"{how}; latencies of {origin} fit it: ", evidence, notes)
    add_latencies(facts, evidence, origin)
    add_usual_latencies(facts)
    notes += _add_costs(facts, costs, request.csv.stem)
    return Imported(facts, machine_toml(facts), evidence, notes)


def _undecided(table: LatencyTable) -> UserError:
    best = shapes(table.cpus, *table.pairs())[:2]
    named = " or ".join(f"--shape {shape.counts} (misfit {shape.misfit:.1%})" for shape in best)
    fitting = f"{SHAPE_RIGHT}; best {'fit' if len(best) == 2 else 'fits'} {named}"
    return UserError(
        f"no machine file was made, because {table.name} does not say which CPU is where: give "
        "--topology FILE (the machine's 'lscpu -p', sys/ or hwloc XML), or --shape, "
        + (fitting if best else f"{SHAPE_RIGHT}; no regular shape fits"),
        status=UNDECIDED,
    )


def _of_file(path: Path, table: LatencyTable, notes: list[str]) -> Topology:
    """Return a file's topology, or raise a UserError if it lacks CPUs or fits no machine file."""
    topology = read_given(path)
    extra = sorted(set(table.cpus) - set(topology.cpus))
    if extra:
        raise UserError(
            f"{table.name}: CPUs {label(extra)} are not in {path.name}: both files must be "
            "of the same machine"
        )
    if spans_nodes(topology) and regular_form(topology) is None:
        raise UserError(
            f"{path.name}: an LLC spans several NUMA nodes on an irregular machine, which a "
            "machine file cannot hold"
        )
    if len(table.cpus) < len(topology.cpus):
        rest = sorted(set(topology.cpus) - set(table.cpus))
        notes.append(f"CPUs {label(rest)} have no latencies: those of their class are used")
    return topology


def disagreement(
    part: Topology, evidence: Evidence, rows: Ids, columns: Ids, values: Values
) -> list[str]:
    """Return a note if a regular shape explains the latencies clearly better than a topology."""
    best: Shape | None = next(iter(shapes(part.cpus, rows, columns, values)), None)
    if best is None or best.misfit + EQUAL > evidence.misfit * CLEARLY_BETTER:
        return []
    return [
        f"disagreement: the latencies fit {best.counts.words} better (misfit {best.misfit:.1%}) "
        f"than the topology ({evidence.misfit:.1%})"
    ]


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


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


def _add_costs(facts: Facts, costs: Costs | None, processor: str) -> list[str]:
    """Add the costs of a core, else the protocol of the vendor that a processor's name names.

    Return a note in the second case.
    """
    if costs is not None:
        facts.add_costs(costs)
        return []
    costs = vendor_costs(vendor_of(facts.name, processor))
    facts.add_costs(costs)
    add_usual_cycles(facts, "not in a latency table, usual for x86 servers")
    known = f"the one of machines by {costs.title}" if costs.protocol else "the model's default"
    return [f"the protocol is {known}, and costs in a core are usual ones; --core NAME sets both"]


def _facts(
    request: ImportRequest, topology: Topology, how: str, evidence: Evidence, notes: list[str]
) -> Facts:
    stem = request.csv.stem
    facts = Facts(
        name=machine_name(request.name if request.name is not None else stem),
        title=f"Imported from {_printable(stem)}"[:200],
        kind="measured",
        clock_ghz=USUAL_CLOCK_GHZ,
        topology=topology,
        latency_ns={},
        op_cycles={},
        source={"topology": how + describe(evidence) + "".join(f"; {note}" for note in notes)},
    )
    in_name = CLOCK_IN_NAME.search(request.csv.name)
    if in_name is not None and float(in_name[1]) > 0:
        facts.clock_ghz = float(in_name[1])
        facts.source["clock_ghz"] = f"name of the file {request.csv.name}"
    else:
        why = "not in the file's name (such as @2.45GHz), a usual base clock of servers"
        facts.guess("clock_ghz", USUAL_CLOCKS_GHZ, why)
    return facts
