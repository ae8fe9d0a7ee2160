# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Formats a machine file as TOML text, which is checked before it is saved."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit
from tomlkit.items import Item, Table

from common.output import toml_of
from model.machines.cores import Costs
from model.machines.making.classes import CLASSES
from model.machines.making.topology import Topology, regular_form, within
from model.machines.numbers import Range, range_of, value_of
from model.machines.places import needed_latencies
from model.machines.presets import Machine
from model.machines.topo import label

# These latencies apply if nothing was measured. Each is marked as an estimate in [source], with the
# range over the files in machines/.
USUAL_NS = {
    "smt": (10.0, Range(5.0, 13.0)),
    "llc": (40.0, Range(20.0, 75.0)),
    "node": (110.0, Range(75.0, 200.0)),
    "package": (110.0, Range(75.0, 200.0)),
    "remote": (200.0, Range(100.0, 350.0)),
    "memory": (100.0, Range(75.0, 160.0)),
}
# Factors on the next nearer measured latency.
USUAL_STEP = {
    "node": (3.0, Range(1.4, 5.5)),
    "package": (1.1, Range(1.0, 1.5)),
    "remote": (1.9, Range(1.3, 3.5)),
}
USUAL_CYCLES: dict[str, tuple[float, Range]] = {
    "load_hit": (4, Range(3, 5)),
    "store": (1, Range(0.5, 2)),
    "locked": (20, Range(8, 27)),
    "fence": (20, Range(8, 27)),
    "store_buffer": (64, Range(40, 112)),
    "timestamp": (30, Range(18, 50)),
}


@dataclass(frozen=True)
class FoundTier:
    """One [[tier]]: groups of ``count`` cores, llcs, nodes or packages."""

    name: str
    unit: str
    count: int
    ns: float


@dataclass
class Facts:
    """The contents of a machine file. The keys of ``source`` and ``ranges`` are dotted."""

    name: str
    title: str
    kind: str
    clock_ghz: float
    topology: Topology
    latency_ns: dict[str, float]
    op_cycles: dict[str, float]
    source: dict[str, str] = field(default_factory=dict)
    tiers: list[FoundTier] = field(default_factory=list)
    ranges: dict[str, Range] = field(default_factory=dict)
    protocol: dict[str, Any] = field(default_factory=dict)

    def guess(self, key: str, limits: Range, why: str) -> None:
        """Record that a number is an estimate, with its range and the reason."""
        self.ranges[key] = limits
        self.source[key] = f"estimate, {limits.low:g} to {limits.high:g}: {why}"

    def add_costs(self, costs: Costs) -> None:
        """Add costs and a protocol with their sources, without what only siblings have."""
        siblings = self.topology.count("core") < len(self.topology.cpus)
        for key, node in costs.op_cycles.items():
            self.op_cycles[key], limits = value_of(node), range_of(node)
            if limits is not None:
                self.ranges[f"op_cycles.{key}"] = limits
        for key, node in costs.protocol.items():
            if siblings or not key.startswith("smt_"):
                self.protocol[key] = node
        self.source |= {
            key: text
            for key, text in costs.source.items()
            if key.startswith("op_cycles.") or key.removeprefix("protocol.") in self.protocol
        }


def machine_name(text: str) -> str:
    """Return text as the name of a machine file: a-z, 0-9 and -, at most 64 characters."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower())
    return name[:64].strip("-") or "machine"


def add_usual_latencies(facts: Facts) -> None:
    """Estimate the latencies of distances that occur on the machine but were not measured."""
    latency = facts.latency_ns
    needed = [key for key in needed_latencies(facts.topology.places()) if key != "memory"]
    for key in [key for key in latency if key not in (*needed, "home_remote", "memory")]:
        del latency[key]
    for key in needed:
        if key in latency:
            continue
        nearer = [near for near in CLASSES[: CLASSES.index(key)] if near in latency]
        if key in USUAL_STEP and nearer and nearer[-1] != "smt":
            near = latency[nearer[-1]]
            step, limits = USUAL_STEP[key]
            latency[key] = round(near * step, 1)
            facts.guess(
                f"latency_ns.{key}",
                Range(round(near * limits.low, 1), round(near * limits.high, 1)),
                f"not measured, {step:g} times latency_ns.{nearer[-1]}; range: {limits.low:g} "
                f"and {limits.high:g} times",
            )
        else:
            latency[key], limits = USUAL_NS[key]
            facts.guess(f"latency_ns.{key}", limits, "not measured, usual for x86 servers")
    if "memory" not in latency:
        latency["memory"], limits = USUAL_NS["memory"]
        facts.guess(
            "latency_ns.memory", limits, "not measured, local DRAM of servers is usually 85 to 120 "
            "ns away",
        )  # fmt: skip
    if "remote" not in latency:
        latency.pop("home_remote", None)
    facts.ranges = {
        key: limits
        for key, limits in facts.ranges.items()
        if not key.startswith("latency_ns.") or key.removeprefix("latency_ns.") in latency
    }


def add_usual_cycles(facts: Facts, why: str) -> None:
    """Estimate the costs of operations that were not measured."""
    for key, (value, limits) in USUAL_CYCLES.items():
        if key not in facts.op_cycles:
            facts.op_cycles[key] = value
            facts.guess(f"op_cycles.{key}", limits, why)


def machine_toml(facts: Facts) -> str:
    """Return the text of the machine file."""
    document = tomlkit.document()
    document.add("schema", tomlkit.item(1))
    document.add("name", tomlkit.item(facts.name))
    document.add("title", tomlkit.item(facts.title))
    document.add("kind", tomlkit.item(facts.kind))
    document.add("clock_ghz", _number(facts, "clock_ghz", facts.clock_ghz, 3))
    document.add("topology", _topology_table(facts.topology))
    latency = tomlkit.table()
    for key in (*CLASSES, "memory"):
        if key in facts.latency_ns:
            latency.add(key, _number(facts, f"latency_ns.{key}", facts.latency_ns[key], 1))
    document.add("latency_ns", latency)
    if facts.tiers:
        tiers = tomlkit.aot()
        for tier in facts.tiers:
            table = tomlkit.table()
            table.add("name", tier.name)
            table.add(tier.unit, tier.count)
            table.add("ns", _number(facts, f"tier.{tier.name}", tier.ns, 1))
            tiers.append(table)
        document.add("tier", tiers)
    cycles = tomlkit.table()
    for key in USUAL_CYCLES:
        cycles.add(key, _number(facts, f"op_cycles.{key}", facts.op_cycles[key], 1))
    document.add("op_cycles", cycles)
    if facts.protocol:
        protocol = tomlkit.table()
        for key, node in facts.protocol.items():
            item = tomlkit.inline_table() if isinstance(node, dict) else tomlkit.item(node)
            if isinstance(node, dict):
                item.update(node)
            protocol.add(key, item)
        document.add("protocol", protocol)
    source = tomlkit.table()
    for key, text in facts.source.items():
        source.add(tomlkit.key(key) if "." not in key else tomlkit.items.SingleKey(key), text)
    document.add("source", source)
    return tomlkit.dumps(document)


def _number(facts: Facts, key: str, value: float, digits: int) -> Item:
    """Return a number as TOML, with its range if it has one. Latencies are above 0."""

    def rounded(number: float) -> float:
        if key.startswith("op_cycles."):
            return int(number) if float(number).is_integer() else round(number, digits)
        return max(round(number, digits), 0.1)

    limits = facts.ranges.get(key)
    if limits is None or rounded(limits.low) == rounded(limits.high):
        return tomlkit.item(rounded(value))
    table = tomlkit.inline_table()
    table.add("value", rounded(value))
    table.add("low", rounded(limits.low))
    table.add("high", rounded(limits.high))
    return table


def _topology_table(topology: Topology) -> Table:
    table = tomlkit.table()
    form = regular_form(topology)
    if form is not None:
        table.add("packages", form.packages)
        table.add("nodes_per_package", form.nodes_per_package)
        if form.llcs_per_package % form.nodes_per_package:
            table.add("llcs_per_package", form.llcs_per_package)
        else:
            table.add("llcs_per_node", form.llcs_per_package // form.nodes_per_package)
        table.add("cores_per_llc", form.cores_per_llc)
        table.add("threads_per_core", form.threads_per_core)
        table.add("cores_per_l2", form.cores_per_l2)
        table.add("numbering", form.numbering)
        return table
    tables = tomlkit.aot()
    for llc in range(topology.count("llc")):
        tables.append(_llc_table(topology, llc))
    table.add("llc", tables)
    return table


def _llc_table(topology: Topology, llc: int) -> Table:
    """Return a table [[topology.llc]]: its place and CPUs, and cores and L2s that are shared."""
    members = np.flatnonzero(topology.llc == llc)
    cpus = np.array(topology.cpus)
    first = members[int(cpus[members].argmin())]
    table = tomlkit.table()
    table.add("package", int(topology.package[first]))
    table.add("node", int(topology.node[first]))
    table.add("cpus", label(cpus[members].tolist()))
    for key, ids in (("cores", topology.core[members]), ("l2", topology.l2[members])):
        groups = [sorted(cpus[members[ids == group]].tolist()) for group in np.unique(ids)]
        single = len(members) if key == "cores" else np.unique(topology.core[members]).size
        if len(groups) < single:
            table.add(key, [label(group) for group in sorted(groups)])
    return table


def spans_nodes(topology: Topology) -> bool:
    """Whether an LLC spans several nodes, which only the regular form can express."""
    return bool(np.unique(within(topology.llc, topology.node)).size > topology.count("llc"))


def validated(text: str) -> Machine:
    """Return the machine of a file's text, or raise a UserError that says what is wrong with it."""
    data = toml_of(text)
    machine = Machine(data["name"], Path("machine file"), data)
    machine.flat_text  # noqa: B018 - checks it
    return machine
