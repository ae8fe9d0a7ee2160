# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draws samples of all uncertain inputs together, and makes each sample's machine and experiment.

Latencies keep their order: a CPU that is farther away is never nearer in a sample. Where ranges
overlap, the values drawn for these latencies are sorted, and the smallest goes to the nearest.
Before the draw, the neighbours limit each range: it begins no lower than the range of a nearer
latency, and ends no higher than that of a farther one. So every value stays in its range, and a
latency without a range keeps its value.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from model.machines.numbers import number_nodes, set_number, value_of
from model.machines.presets import Machine
from model.run.experiment import Experiment
from model.run.uncertain.inputs import PARAM, Input, distance_order

if TYPE_CHECKING:
    import numpy as np

Values = dict[str, float]


@dataclass(frozen=True)
class Sample:
    """One sample: its draws, and the inputs of its run."""

    values: Values
    machine: Machine
    experiment: Experiment
    seed: int


def seeds(seed: int, count: int) -> list[int]:
    """Return a seed of the simulator for each sample."""
    import numpy as np  # late, as in intervals.py

    return [int(state) for state in np.random.SeedSequence(seed).generate_state(count)]


def spread(inputs: Sequence[Input], unit: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return points of the unit cube (a row per sample) as values of the inputs (a column each)."""
    import numpy as np

    low = np.array([input_.low for input_ in inputs])
    value = np.array([input_.value for input_ in inputs])
    high = np.array([input_.high for input_ in inputs])
    below = low + 2 * unit * (value - low)
    above = value + (2 * unit - 1) * (high - value)
    return np.asarray(np.where(unit < 0.5, below, above))


def nested(inputs: Sequence[Input], data: Mapping[str, Any]) -> list[Input]:
    """Return the inputs, with latencies' ranges limited by nearer and farther latencies."""
    known = {key: value_of(node, key) for key, node in number_nodes(data)}
    by_name = {input_.name: input_ for input_ in inputs}
    chain = [
        by_name.get(key) or Input(key, known[key], known[key], known[key], "")
        for key in ordered_keys(data)
    ]
    low = 0.0
    for input_ in chain:
        low = max(low, input_.low)
        by_name[input_.name] = replace(input_, low=low)
    high = math.inf
    for input_ in reversed(chain):
        high = min(high, input_.high)
        by_name[input_.name] = replace(by_name[input_.name], high=high)
    return [by_name[input_.name] for input_ in inputs]


def ordered_keys(data: Mapping[str, Any]) -> list[str]:
    """Return the keys of latencies that keep their order.

    They are those whose values in the file are in order.
    """
    known = {key: value_of(node, key) for key, node in number_nodes(data)}
    kept: list[str] = []
    for key in distance_order(data):
        if not kept or known[key] >= known[kept[-1]]:
            kept.append(key)
    return kept


def latin_hypercube(count: int, inputs: int, seed: int) -> np.ndarray[Any, Any]:
    """Return points of the unit cube, a row per sample.

    Each input's range has ``count`` slices, with one point in each. The points equal those of
    scipy.stats.qmc.LatinHypercube, without that package, which nothing else here needs.
    """
    import numpy as np

    (random,) = np.random.default_rng(seed).spawn(1)
    inside = random.uniform(size=(count, inputs))
    slices = np.tile(np.arange(1, count + 1), (inputs, 1))
    for row in slices:
        random.shuffle(row)
    return np.asarray((slices.T - inside) / count)


def draw(inputs: Sequence[Input], data: Mapping[str, Any], count: int, seed: int) -> list[Values]:
    """Return ``count`` samples of all inputs, a Latin hypercube that depends only on the seed."""
    if not inputs:
        return [{} for _ in range(count)]
    import numpy as np

    unit = latin_hypercube(count, len(inputs), seed)
    drawn = spread(nested(inputs, data), unit)
    column = {input_.name: index for index, input_ in enumerate(inputs)}
    chain = [column[key] for key in ordered_keys(data) if key in column]
    drawn[:, chain] = np.sort(drawn[:, chain], axis=1)
    for index, input_ in enumerate(inputs):
        if input_.whole:
            drawn[:, index] = np.round(drawn[:, index])
    return [{name: float(row[index]) for name, index in column.items()} for row in drawn]


def sampled_machine(machine: Machine, values: Values) -> Machine:
    """Return the machine with these values for its ranged numbers."""
    data = copy.deepcopy(machine.data)
    data.setdefault("source", {})
    for name, value in values.items():
        if not name.startswith(PARAM):
            set_number(data, name, value, "drawn from the range of this number")
    return replace(machine, data=data)


def sampled_experiment(experiment: Experiment, values: Values) -> Experiment:
    """Return the experiment with these values for its ranged inputs."""
    return replace(
        experiment,
        params=tuple(
            replace(param, value=values.get(PARAM + param.name, param.value))
            for param in experiment.params
        ),
    )


def make_samples(
    machine: Machine,
    experiment: Experiment,
    inputs: Sequence[Input],
    count: int,
    seed: int,
) -> list[Sample]:
    """Return ``count`` samples of ``inputs``; the same arguments give the same samples."""
    drawn = draw(inputs, machine.data, count, seed)
    return [
        Sample(
            values, sampled_machine(machine, values), sampled_experiment(experiment, values), own
        )
        for values, own in zip(drawn, seeds(seed, count), strict=True)
    ]
