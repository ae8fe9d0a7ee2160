# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Lists a run's uncertain inputs, the numbers with a range of its machine and its experiment.

A machine's number has its dotted key as name, and an experiment's input ``param.NAME``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model.machines.numbers import WHOLE, number_nodes, range_of, source_of, value_of
from model.machines.presets import Machine
from model.run.experiment import Experiment

PARAM = "param."
# From the nearest CPU to the farthest. Each entry also has the unit of the tiers that follow it.
_DISTANCES = (
    ("latency_ns.smt", "cores"),
    ("latency_ns.llc", "llcs"),
    ("latency_ns.node", "nodes"),
    ("latency_ns.package", "packages"),
    ("latency_ns.remote", ""),
    ("latency_ns.home_remote", ""),
)


@dataclass(frozen=True)
class Input:
    """One number, its range, and the reason of the range.

    ``whole``: samples are rounded. Half of the probability lies between ``low`` and ``value``, half
    between ``value`` and ``high``, each side uniform. So ``value`` is the median.
    """

    name: str
    value: float
    low: float
    high: float
    why: str
    whole: bool = False


def machine_inputs(machine: Machine) -> list[Input]:
    """Return the ranged numbers of a machine file, in its order."""
    sources = machine.data.get("source", {})
    inputs = []
    for key, node in number_nodes(machine.data):
        limits = range_of(node, key)
        if limits is not None:
            value, why = value_of(node, key), source_of(key, sources)
            inputs.append(Input(key, value, limits.low, limits.high, why, key in WHOLE))
    return inputs


def experiment_inputs(experiment: Experiment, without: str | None = None) -> list[Input]:
    """Return the ranged inputs of an experiment, in its order, except ``without``."""
    return [
        Input(PARAM + p.name, p.value, p.low, p.high, p.source, p.whole)
        for p in experiment.params
        if p.low is not None and p.high is not None and p.name != without
    ]


def distance_order(data: Mapping[str, Any]) -> list[str]:
    """Return the keys of a machine's latencies between CPUs, from the nearest to the farthest."""
    known = {key for key, _ in number_nodes(data)}
    keys = []
    for key, unit in _DISTANCES:
        keys += [key] if key in known else []
        joined = [tier for tier in data.get("tier", ()) if unit and unit in tier]
        joined.sort(key=lambda tier: int(tier[unit]))
        keys += [f"tier.{tier['name']}" for tier in joined]
    return keys
