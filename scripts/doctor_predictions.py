# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write the predictions that 'doctor' uses: doctor/predict/predictions.json.

PYTHONPATH=. .venv/bin/python scripts/doctor_predictions.py [MACHINE...]

It replaces the named machines, or all of them, one at a time. The same program and machine files
give the same table on any host. surface.py describes how the table is used.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import exp, hypot, log, sqrt
from pathlib import Path
from statistics import quantiles
from typing import Any

from common.output import write_atomic
from common.tool import run_many
from doctor.predict.points import EXPERIMENT, Seen, Spot, lone, request_of, seen
from doctor.predict.predict import MODEL_ERROR
from doctor.predict.shape import STOCK
from doctor.predict.surface import FILE, SHARD, Asked, Point, Surface
from model.machines.machine_list import list_machines
from model.machines.presets import load_machine
from model.run.experiment import load_experiment
from model.run.model_error import known_error
from model.run.run import RunRequest, plan_run, point_argv
from model.run.uncertain.draws import make_samples
from model.run.uncertain.inputs import experiment_inputs, machine_inputs

MACHINES = (
    "altra-max-2s", "epyc-7742-2s", "epyc-7763-2s", "epyc-9654-2s", "epyc-9755-2s",
    "sierra-forest-192", "xeon-480-snc", "xeon-6980p-2s", "xeon-8176-8s", "xeon-8358-2s",
    "xeon-8480-2s",
)  # fmt: skip
SAMPLES = 20
# A curve begins with these wake-ups per second per CPU. If two neighbouring points differ in cost
# by more than the factor _STEP, a point is added between them, unless their rates are within _NEAR.
_BEGIN = (20.0, 1000.0, 4000.0, 12000.0, 40000.0)
_STEP, _NEAR, _MOST = 1.5, 1.08, 16
# A step up to a cost below this many nanoseconds is noise.
_NOISE = 300.0
_KIND = "workload"
_HEAD = {
    "license": "SPDX-License-Identifier: (MIT OR GPL-2.0-only)",
    "what": "What a real-time wake-up costs: written by scripts/doctor_predictions.py. A point is "
    "wake-ups per second, nanoseconds of the kernel's time, nanoseconds of delay; both beyond "
    "those of a thread that is alone.",
}
Key = tuple[str, bool | None, bool | None, bool | None, int]


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
    """Return the curves of a machine: kernel, push, pinned, spread, CPUs; None stands for both.

    With schedshard's series the cost depends on the CPUs of a group. So its curves are for groups
    of that size, which all CPUs are in (surface.py).
    """
    cpus, cache, package = row["cpus"], row["cpus"] // row["llcs"], row["cpus"] // row["packages"]
    # Two CPUs may be one core, in which nothing travels. With a quarter more CPUs than a cache or
    # a package has, a third of the wake-ups follow one from outside; with twice as many, half do.
    beyond = {size for each in (cache, package) for size in (each, each * 5 // 4, each * 2)}
    near = apart({size for size in {2, 4, 8, 32, cpus} | beyond if size <= cpus})[:-1]
    far = apart({2, 8, 32, cpus})[:-1] if row["packages"] > 1 else []
    made: list[Key] = [(SHARD, None, False, None, size) for size in (2, 8, 32)]
    made.append((SHARD, None, True, None, 8))
    for push, pinned in ((True, False), (False, False), (None, True)):
        made += [(STOCK, push, pinned, False if far else None, size) for size in near]
        made += [(STOCK, push, pinned, True, size) for size in far]
        made.append((STOCK, push, pinned, None, cpus))
    return made


def spot_of(key: Key, per_cpu: float, have: int) -> Spot:
    """Return the load on a curve with these wake-ups per second and CPU."""
    kernel, push, pinned, spread, size = key
    cpus, group = (have, size) if kernel == SHARD else (size, 0)
    return Spot(kernel, bool(push), bool(pinned), bool(spread), cpus, per_cpu * cpus, group)


def missing(found: Mapping[float, Seen]) -> list[float]:
    """Return rates to add to a curve where its cost bends."""
    rates = sorted(found)
    wanted = []
    for low, high in pairwise(rates):
        a, b = found[low], found[high]
        near = b.rate < _NEAR * a.rate or high < _NEAR * low
        if not near and b.kernel_ns > max(_STEP * a.kernel_ns, _NOISE):
            wanted.append((low * high) ** 0.5)
    return wanted[: max(0, _MOST - len(rates))]


def _monotone(values: Sequence[float]) -> list[float]:
    """Return the nearest values that never fall: neighbours that fall get their mean (pooled)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        pools.append((value, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, m), (b, n) = pools[-2:]
            pools[-2:] = [((a * m + b * n) / (m + n), m + n)]
    return [mean for mean, count in pools for _ in range(count)]


def rising(found: Mapping[float, Seen]) -> list[Point]:
    """Return the points of a curve, with rising wake-ups and costs that never fall."""
    kept: list[Seen] = []
    for _, now in sorted(found.items()):
        if not kept or now.rate >= 1.005 * kept[-1].rate:
            kept.append(now)
    columns = (
        [now.rate for now in kept],
        [exp(each) for each in _monotone([log(now.kernel_ns) for now in kept])],
        [exp(each) for each in _monotone([log(now.late_ns) for now in kept])],
    )
    return [
        (float(f"{rate:.4g}"), float(f"{kernel:.4g}"), float(f"{late:.4g}"))
        for rate, kernel, late in zip(*columns, strict=True)
    ]


def beyond(now: Seen, alone: Seen) -> Seen:
    """Return what a load costs more than a lone thread; at least a nanosecond."""
    return Seen(
        now.rate, max(now.kernel_ns - alone.kernel_ns, 1.0), max(now.late_ns - alone.late_ns, 1.0)
    )


def curves(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the curves of a machine."""
    machine = load_machine(row["name"])
    [figures] = run([request_of(lone(), machine, row["cpus"], counted(1))])
    alone = seen(lone(), figures)
    held: dict[Key, dict[float, Seen]] = {key: {} for key in keys(row)}
    wanted = [(key, rate) for key in held for rate in _BEGIN[:: 2 if key[0] == SHARD else 1]]
    while wanted:
        spots = [spot_of(key, rate, row["cpus"]) for key, rate in wanted]
        found = run([request_of(spot, machine, row["cpus"], counted(spot.cpus)) for spot in spots])
        for (key, rate), spot, figures in zip(wanted, spots, found, strict=True):
            now = beyond(seen(spot, figures), alone)
            held[key][rate] = replace(now, rate=now.rate * key[-1] / spot.cpus)
        wanted = [(key, rate) for key, own in held.items() for rate in missing(own)]
    names = ("kernel", "push", "pinned", "spread", "cpus")
    return [
        {**dict(zip(names, key, strict=True)), "points": rising(own)} for key, own in held.items()
    ]


def probes(surface: Surface) -> list[Spot]:
    """Return the loads at which samples show how far the model's time may be stretched."""
    cpus = surface.row["cpus"]
    made = []
    for push, share in product((True, False), (0.0, 0.03, 0.15)):
        rate = 200.0 * cpus
        while rate < 40_000 * cpus:
            asked = Asked(STOCK, push, False, False, cpus, rate)
            if surface.at(asked).kernel_ns * 1e-9 * rate / cpus >= share:
                break
            rate *= 1.1
        made.append(Spot(STOCK, push, False, False, cpus, rate))
    return made


def stretch_of(surface: Surface, spot: Spot, now: Seen) -> float | None:
    """Return the factor that stretches the model's time to a sample; None if none does."""
    asked = Asked(spot.kernel, spot.push, False, False, spot.cpus, now.rate)
    low, high = 0.2, 5.0
    if not (
        surface.stretched(asked, low).kernel_ns
        < now.kernel_ns
        < surface.stretched(asked, high).kernel_ns
    ):
        return None
    for _ in range(40):
        middle = sqrt(low * high)
        if surface.stretched(asked, middle).kernel_ns < now.kernel_ns:
            low = middle
        else:
            high = middle
    return middle


def stretches(surface: Surface) -> dict[str, list[float]]:
    """Return the 5th and 95th percentile of samples by kernel, with the model's own error."""
    machine, experiment = load_machine(surface.name), load_experiment(EXPERIMENT)
    inputs = [*machine_inputs(machine), *experiment_inputs(experiment)]
    samples = make_samples(machine, experiment, inputs, SAMPLES, 1)
    spots = [lone(), *probes(surface)]
    requests = [
        replace(
            request_of(spot, machine, surface.row["cpus"], counted(spot.cpus)),
            machine=sample.machine, experiment=sample.experiment, seed=sample.seed,
        )
        for sample in samples for spot in spots
    ]  # fmt: skip
    found = run(requests)
    by_spot: dict[Spot, list[float]] = {spot: [] for spot in spots[1:]}
    for number in range(SAMPLES):
        own = found[number * len(spots) : (number + 1) * len(spots)]
        alone = seen(spots[0], own[0])
        for spot, figures in zip(spots[1:], own[1:], strict=True):
            by = stretch_of(surface, spot, beyond(seen(spot, figures), alone))
            by_spot[spot] += [by] if by is not None else []
    low = high = 1.0
    for spot, values in by_spot.items():
        cut = quantiles(values, n=20, method="inclusive") if len(values) > SAMPLES / 2 else [1, 1]
        print(f"  {spot.kernel} push {spot.push:d} {spot.rate:,.0f}/s: {cut[0]:.2f} {cut[-1]:.2f}")
        low, high = min(low, cut[0]), max(high, cut[-1])
    ends = [float(f"{_with_model(end):.3g}") for end in (low, high)]
    return {STOCK: ends, SHARD: ends}


def _with_model(factor: float) -> float:
    """Return a factor that also has the error of the model's rules, which is independent of it."""
    wide = exp(hypot(log(factor), log(MODEL_ERROR)))
    return 1 / wide if factor <= 1 else wide


def machine_entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a machine's entry in the file."""
    began = time.monotonic()
    kept = ("name", "title", "kind", "cpus", "packages", "nodes", "llcs")
    entry = {**{key: row[key] for key in kept}, "curves": curves(row)}
    entry["stretch"] = stretches(Surface(entry))
    points = sum(len(curve["points"]) for curve in entry["curves"])
    print(f"{row['name']}: {points} points, {time.monotonic() - began:.0f} s", flush=True)
    return entry


def validation() -> dict[str, Any]:
    """Return how well predictions of whole workloads were validated."""
    error = known_error(_KIND)
    return {
        "curves": error.curves, "machines": error.machines, "factor": round(error.factor, 2),
        "said": error.sentence(),
    }  # fmt: skip


def text(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the file's text: a line per curve."""
    first = {**_HEAD, "validation": validation()}
    lines = ["{", *(f' "{key}": {json.dumps(value)},' for key, value in first.items())]
    lines.append(' "machines": [')
    for number, entry in enumerate(entries, 1):
        head = json.dumps({key: value for key, value in entry.items() if key != "curves"})
        lines.append(f'  {head[:-1]}, "curves": [')
        made = [json.dumps(curve, separators=(",", ":")) for curve in entry["curves"]]
        lines += [f"   {curve}," for curve in made[:-1]] + [f"   {made[-1]}"]
        lines.append("  ]}" + ("," if number < len(entries) else ""))
    return "\n".join([*lines, " ]", "}"]) + "\n"


def main(names: Sequence[str]) -> None:
    """Predict the machines, and write the file."""
    rows = {row["name"]: row for row in list_machines() if row["name"] in MACHINES}
    old = json.loads(FILE.read_text(encoding="utf-8"))["machines"] if FILE.is_file() else []
    entries = {entry["name"]: entry for entry in old if entry["name"] in MACHINES}
    # Quick machines first. The file contains all machines at any time.
    for name in names or sorted(MACHINES, key=lambda name: int(rows[name]["cpus"])):
        entries[name] = machine_entry(rows[name])
        write_atomic(Path(str(FILE)), text([entries[each] for each in MACHINES if each in entries]))


if __name__ == "__main__":
    main(sys.argv[1:])
