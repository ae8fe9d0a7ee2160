# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write the predictions with which a trial compares its figures: trial/predict/curves.json.

PYTHONPATH=. .venv/bin/python scripts/trial_predictions.py [MACHINE...]

The script replaces the named machines, or all presets but future ones. Each point has a 90%
interval, from 20 samples of the unknown inputs and from the model's own error for this kind of
operation. The same program and machine files give the same table on any host.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common.output import write_atomic
from model.machines.machine_list import list_machines
from model.machines.presets import load_machine
from trial.predict.stored import FILE, LOCK, OPS, PING_PONG

SAMPLES = 20
# The time of a simulation grows with the square of the number of waiters that spin.
SPINNING = 64
_HEAD = {
    "license": "SPDX-License-Identifier: (MIT OR GPL-2.0-only)",
    "what": "Predicted: nanoseconds per operation with the ends of a 90% interval, by number of "
    "threads, one per core first, and for pairs by class. scripts/trial_predictions.py writes it.",
}


def cores_of(name: str) -> int:
    """Return a machine's number of cores; 0 if its CPU numbers do not begin with one per core."""
    places = load_machine(name).places
    cores = len({place.core for place in places.values()})
    return cores if len({places[cpu].core for cpu in sorted(places)[:cores]}) == cores else 0


def counts(row: Mapping[str, Any]) -> list[int]:
    """Return numbers of threads: few, and those that fill a cache, a package, all.

    Between them the table's reader interpolates, so no two are more than a factor of 16 apart.
    """
    cores = cores_of(row["name"])
    wanted = sorted({1, 2, cores // row["llcs"], cores // row["packages"], row["cpus"]})
    between = {round((a * b) ** 0.5) for a, b in pairwise(wanted) if b > 16 * a}
    return sorted({*wanted, *between})


def run(experiment: str, machine: str, words: Sequence[str]) -> list[dict[str, Any]]:
    """Return the variants of a run with intervals."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run.json"
        argv = [
            sys.executable, "-m", "cli", "run", experiment, "--machine", machine, *words,
            "--uncertainty", str(SAMPLES), "--out", str(out),
        ]  # fmt: skip
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        variants: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))["variants"]
    return variants


def ops(names: Sequence[str]) -> list[str]:
    """Return the options that choose operations."""
    return [word for name in names for word in ("--op", name)]


def numbers(point: Mapping[str, Any]) -> list[float]:
    """Return a point's prediction, and the ends of an interval that contains the prediction."""
    value, interval = point["ns_per_op"], point["interval"]
    ends = min(interval["low"], value), value, max(interval["high"], value)
    return [float(f"{end:.3g}") for end in (ends[1], ends[0], ends[2])]


def entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a machine's entry."""
    few = [count for count in counts(row) if count <= SPINNING]
    curves = [
        variant
        for names, threads in (
            ([name for name in OPS if name != LOCK], counts(row)), ([LOCK], few),
        )
        for variant in run(
            "primitives", row["name"], [*ops(names), "--threads", ",".join(map(str, threads))]
        )
    ]  # fmt: skip
    pairs = run("ping-pong", row["name"], ops(tuple(PING_PONG)))
    kept = ("name", "title", "kind", "cpus", "packages", "nodes", "llcs")
    return {key: row[key] for key in kept} | {
        "curves": {
            variant["name"]: [[point["threads"], *numbers(point)] for point in variant["points"]]
            for variant in curves
        },
        "pairs": {
            variant["name"]: {point["class"]: numbers(point) for point in variant["points"]}
            for variant in pairs
        },
    }


def text(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the file's text: a line per machine."""
    lines = ["{", *(f' "{key}": {json.dumps(value)},' for key, value in _HEAD.items())]
    rows = ",\n".join(f"  {json.dumps(row)}" for row in entries)
    return "\n".join([*lines, ' "machines": [', rows, " ]", "}"]) + "\n"


def main(names: Sequence[str]) -> None:
    """Predict the machines, and write the file."""
    rows = {
        row["name"]: row for row in list_machines()
        if row["kind"] != "hypothetical" and cores_of(row["name"])
    }  # fmt: skip
    old = json.loads(FILE.read_text(encoding="utf-8"))["machines"] if FILE.is_file() else []
    entries = {machine["name"]: machine for machine in old if machine["name"] in rows}
    # Quick machines first. The file contains all machines at any time.
    for name in names or sorted(rows, key=lambda name: int(rows[name]["cpus"])):
        print(name, flush=True)
        entries[name] = entry(rows[name])
        write_atomic(Path(str(FILE)), text([entries[key] for key in sorted(entries)]))


if __name__ == "__main__":
    main(sys.argv[1:])
