# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write the predictions that 'doctor' uses: doctor/predict/predictions.json.

PYTHONPATH=. .venv/bin/python scripts/doctor_predictions.py [MACHINE...]

The script replaces the named machines, or all of them, one at a time. The same program and machine
files give the same table on any host. rates.py describes how the table is used.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, hypot, log
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

from common.output import write_atomic
from common.tool import run_many
from doctor.predict.points import EXPERIMENT, Spot, lone, observation, request_of
from doctor.predict.rates import FILE, LEVELS, SHARD, between, row_name
from doctor.predict.shape import STOCK
from model.machines.machine_list import list_machines
from model.machines.presets import load_machine
from model.run.experiment import load_experiment
from model.run.model_error import known_error
from model.run.run import RunRequest, plan_run, point_argv
from model.run.uncertain.draws import make_samples
from model.run.uncertain.inputs import experiment_inputs, machine_inputs
from model.run.whole import whole_validation

MACHINES = (
    "altra-max-2s", "epyc-7742-2s", "epyc-7763-2s", "epyc-9654-2s", "epyc-9755-2s",
    "sierra-forest-192", "xeon-480-snc", "xeon-6980p-2s", "xeon-8176-8s", "xeon-8358-2s",
    "xeon-8480-2s",
)  # fmt: skip
SAMPLES = 20
# A row begins with these wake-ups per second per CPU, whose periods do not divide the tick's.
# Between a point below a level and one above it, points are added until their rates or shares are
# within these factors.
_BEGIN = (210.0, 1100.0, 3700.0, 11_300.0, 37_000.0)
_NEAR, _CLOSE, _MOST = 1.08, 1.5, 20
_HEAD = {
    "license": "SPDX-License-Identifier: (MIT OR GPL-2.0-only)",
    "what": "Predicted by the experiment rt-groups. A row "
    "is a number of CPUs, and the real-time wake-ups per second at which sharing costs 0.1, 1, 5, "
    "20 and 50% of their time. The stretch is the 90% interval: see rates.py.",
}


class Key(NamedTuple):
    """A row of the table."""

    kernel: str
    push: bool
    pinned: bool
    spread: bool
    cpus: int


# Wake-ups per second that the simulation reached, and the share of the CPUs' time that they cost.
Points = list[tuple[float, float]]


def counted(cpus: int) -> float:
    """Return the number of wake-ups that are counted per run."""
    return max(2500.0, 5.0 * cpus)


def run(requests: Sequence[RunRequest]) -> list[dict[str, float]]:
    """Return the figures of each request's one variant."""
    plans = [plan_run(request) for request in requests]
    return run_many(
        [point_argv(plan, plan.points[0]) for plan in plans],
        keep=lambda raw: {key: float(value) for key, value in raw["metrics"].items()},
    )


def apart(sizes: set[int]) -> list[int]:
    """Return the sizes without those that are close to the previous one; the largest one stays."""
    kept: list[int] = []
    for size in sorted(sizes):
        if kept and size < 1.2 * kept[-1]:
            if size < max(sizes):
                continue
            kept.pop()
        kept.append(size)
    return kept


def keys(row: Mapping[str, Any]) -> list[Key]:
    """Return the rows of a machine: kernel, push, pinned, spread, CPUs.

    With schedshard's series the cost depends on the CPUs of a group. So its rows are for groups of
    that size, which all CPUs are in (rates.py).
    """
    cpus, cache, package = row["cpus"], row["cpus"] // row["llcs"], row["cpus"] // row["packages"]
    # Two CPUs may be one core, inside which no line moves. With a quarter more CPUs than a cache or
    # package has, a third of the wake-ups follow one elsewhere; with twice as many, half do.
    beyond = {size for unit in (cache, package) for size in (unit, unit * 5 // 4, unit * 2)}
    near = apart({size for size in {2, 4, 8, 32, cpus} | beyond if size <= cpus})
    far = apart({2, 8, 32, cpus}) if row["packages"] > 1 else []
    made = [Key(SHARD, False, False, False, size) for size in (2, 8, 32)]
    made.append(Key(SHARD, False, True, False, 8))
    for push, pinned in ((True, False), (False, False), (False, True)):
        made += [Key(STOCK, push, pinned, False, size) for size in near]
        made += [Key(STOCK, push, pinned, True, size) for size in far]
    return made


def spot_of(key: Key, per_cpu: float, have: int) -> Spot:
    """Return a row's load with these wake-ups per second and CPU."""
    cpus, group = (have, key.cpus) if key.kernel == SHARD else (key.cpus, 0)
    return Spot(*key[:3], key.spread and cpus < have, cpus, per_cpu * cpus, group)


def missing(points: Mapping[float, tuple[float, float]]) -> list[float]:
    """Return rates to add to a row, near the levels."""
    wanted = []
    for low, high in pairwise(sorted(points)):
        a, b = points[low], points[high]
        near = min(b[0] / a[0], high / low) < _NEAR or b[1] < _CLOSE * a[1]
        if not near and any(a[1] < level <= b[1] for level in LEVELS):
            wanted.append((low * high) ** 0.5)
    return wanted[: max(0, _MOST - len(points))]


def share_of(spot: Spot, figures: Mapping[str, float], alone: float) -> tuple[float, float]:
    """Return the rate that a load reached, and its cost beyond that of a lone thread."""
    now = observation(spot, figures)
    return now.rate, max(now.kernel_ns - alone, 1.0) * now.rate * 1e-9 / spot.cpus


def rising(points: Mapping[float, tuple[float, float]]) -> Points:
    """Return the points without those at which the rate or the share does not rise."""
    kept: Points = []
    for _, (rate, share) in sorted(points.items()):
        if not kept or (rate > kept[-1][0] and share > kept[-1][1]):
            kept.append((rate, share))
    return kept


def rate_at(points: Points, share: float) -> float:
    """Return the rate that leads to a share. A wake-up beyond the points costs as much as there."""
    for (x, low), (y, high) in pairwise(points):
        if low <= share <= high:
            return between(x, y, log(share / low) / log(high / low))
    rate, last = points[0 if share < points[0][1] else -1]
    return rate * share / last


def row_of(cpus: int, points: Points) -> list[int]:
    """Return a row: rates at the first level, and at those up to twice the last simulated share.

    Where lines are saturated, two levels may round to the same rate: the second gets one more.
    """
    rates = [0]
    for level in (LEVELS[0], *(level for level in LEVELS[1:] if level <= 2 * points[-1][1])):
        rates.append(max(int(float(f"{rate_at(points, level):.3g}")), rates[-1] + 1))
    return [cpus, *rates[1:]]


def machine_points(row: Mapping[str, Any]) -> dict[Key, Points]:
    """Return the simulated points of all rows of a machine."""
    machine, have = load_machine(row["name"]), row["cpus"]
    [figures] = run([request_of(lone(), machine, have, counted(1))])
    alone = observation(lone(), figures).kernel_ns
    held: dict[Key, dict[float, tuple[float, float]]] = {key: {} for key in keys(row)}
    wanted = [(key, rate) for key in held for rate in _BEGIN]
    while wanted:
        spots = [spot_of(key, rate, have) for key, rate in wanted]
        results = run([request_of(spot, machine, have, counted(spot.cpus)) for spot in spots])
        for (key, per_cpu), spot, figures in zip(wanted, spots, results, strict=True):
            rate, share = share_of(spot, figures, alone)
            held[key][per_cpu] = rate * key.cpus / spot.cpus, share
        wanted = [(key, rate) for key, own in held.items() for rate in missing(own)]
    return {key: rising(own) for key, own in held.items()}


def stretch(row: Mapping[str, Any], points: Mapping[Key, Points]) -> list[float]:
    """Return the 5th and 95th percentile of samples' speeds, with the model's own error.

    A sample's speed: the rate at which the file's own values give its cost, over the sample's rate.
    """
    machine, experiment = load_machine(row["name"]), load_experiment(EXPERIMENT)
    inputs = [*machine_inputs(machine), *experiment_inputs(experiment)]
    samples = make_samples(machine, experiment, inputs, SAMPLES, 1)
    cpus = row["cpus"]
    whole = [Key(STOCK, push, False, False, cpus) for push in (True, False)]
    probes = [
        (key, spot_of(key, rate_at(points[key], level) / cpus, cpus))
        for key in whole for level in LEVELS[:3]
    ]  # fmt: skip
    spots = [lone(), *(spot for _, spot in probes)]
    requests = [
        replace(
            request_of(spot, machine, cpus, counted(spot.cpus)),
            machine=sample.machine, experiment=sample.experiment, seed=sample.seed,
        )
        for sample in samples for spot in spots
    ]  # fmt: skip
    results = iter(run(requests))
    speeds: list[list[float]] = [[] for _ in probes]
    for _ in samples:
        alone = observation(lone(), next(results)).kernel_ns
        for (key, spot), own in zip(probes, speeds, strict=True):
            rate, share = share_of(spot, next(results), alone)
            own += [rate_at(points[key], share) / rate] if share < points[key][-1][1] else []
    low = high = 1.0
    for own in speeds:
        cut = quantiles(own, n=20, method="inclusive") if len(own) > SAMPLES / 2 else [1, 1]
        low, high = min(low, cut[0]), max(high, cut[-1])
    return [float(f"{_with_model(end):.3g}") for end in (low, high)]


def _with_model(factor: float) -> float:
    """Return a factor, widened by the independent error of the model's rules."""
    wide = exp(hypot(log(factor), log(known_error("workload").factor)))
    return 1 / wide if factor <= 1 else wide


def machine_entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a machine's entry in the file."""
    began = time.monotonic()
    points = machine_points(row)
    rates: dict[str, list[list[int]]] = {}
    for key, own in points.items():
        rates.setdefault(row_name(*key[:4]), []).append(row_of(key.cpus, own))
    kept = ("name", "title", "kind", "cpus", "packages", "nodes", "llcs")
    entry = {key: row[key] for key in kept}
    count = sum(map(len, points.values()))
    entry |= {"stretch": stretch(row, points), "rates": rates}
    print(f"{row['name']}: {count} points, {time.monotonic() - began:.0f} s", flush=True)
    return entry


def validation() -> dict[str, Any]:
    """Return the score of whole workloads, and the error factor of operations, which widens."""
    whole = whole_validation("exact")
    kept = {key: whole[key] for key in ("curves", "machines")}
    return {**kept, "factor": round(known_error("workload").factor, 2), "said": whole["said"]}


def text(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the file's text: a line per kind of load."""
    first = {**_HEAD, "validation": validation()}
    lines = ["{", *(f' "{key}": {json.dumps(value)},' for key, value in first.items())]
    lines.append(' "machines": [')
    for number, entry in enumerate(entries, 1):
        head = json.dumps({key: value for key, value in entry.items() if key != "rates"})
        made = [
            f'   "{name}": {json.dumps(rows, separators=(",", ":"))}'
            for name, rows in entry["rates"].items()
        ]
        lines.append(f'  {head[:-1]}, "rates": {{')
        lines += [",\n".join(made), "  }}" + ("," if number < len(entries) else "")]
    return "\n".join([*lines, " ]", "}"]) + "\n"


def main(names: Sequence[str]) -> None:
    """Predict the machines, and write the file."""
    rows = {row["name"]: row for row in list_machines() if row["name"] in MACHINES}
    old = json.loads(FILE.read_text(encoding="utf-8"))["machines"] if FILE.is_file() else []
    entries = {entry["name"]: entry for entry in old if entry["name"] in MACHINES}
    # Predict small machines first. Until a machine is predicted the file keeps its old entry.
    for name in names or sorted(MACHINES, key=lambda name: int(rows[name]["cpus"])):
        entries[name] = machine_entry(rows[name])
        write_atomic(Path(str(FILE)), text([entries[m] for m in MACHINES if m in entries]))


if __name__ == "__main__":
    main(sys.argv[1:])
