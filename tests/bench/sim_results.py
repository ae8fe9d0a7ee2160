# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compare the output of two builds of the simulator, for all experiments and variants.

The seconds of a run may differ. Program counters may differ if the compiler placed code elsewhere,
but addr2line must find the same functions.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim_runs import ROOT, Run

from model.run.common_entries import read_experiment

SHORT = {"us": 0.05, "ops": 0.2}  # part of the usual length, by a parameter's unit


def short_params(experiment: str) -> dict[str, float]:
    """Parameters that make an experiment short enough to run every variant of it."""
    short = {}
    for param in read_experiment(ROOT / "model" / "experiments" / f"{experiment}.toml")["param"]:
        name = str(param["name"])
        length, _, unit = name.rpartition("_")
        if length.endswith(("measured", "warm_up")) and unit in SHORT:
            short[name] = param["value"] * SHORT[unit]
    return short


def runs(binary: Path) -> Iterator[Run]:
    """Every variant on the experiment's own machine; the first and last also on others."""
    listing = subprocess.run([str(binary), "--list"], check=True, capture_output=True, text=True)
    for experiment in json.loads(listing.stdout):
        name, variants = experiment["name"], experiment["variants"]
        params = short_params(name)
        for variant in variants:
            yield Run(name, variant, params=params)
        for variant in {variants[0]: 0, variants[-1]: 0}:
            yield Run(name, variant, machine="xeon-480-snc", cpus=96, seed=2, params=params)
            yield Run(name, variant, machine="epyc-7763-2s", seed=3, params=params)
            yield Run(name, variant, machine="sierra-forest-192", cpus=64, seed=4, params=params)


def functions(binary: Path, counters: set[str]) -> dict[str, str]:
    """Return the function of each program counter, with those that it was inlined into."""
    # A return address may lie after the last instruction of its function: look up the call itself.
    wanted = sorted(counters)
    done = subprocess.run(
        ["addr2line", "-a", "-f", "-i", "-e", str(binary)],
        input="".join(f"{int(counter, 16) - 1:#x}\n" for counter in wanted),
        check=True,
        capture_output=True,
        text=True,
    )
    found: list[list[str]] = []
    for number, line in enumerate(done.stdout.splitlines()):
        if line.startswith("0x"):
            found.append([])
            start = number
        elif (number - start) % 2:  # a function, then its source line
            found[-1].append(line)
    return {counter: " ".join(names) for counter, names in zip(wanted, found, strict=True)}


def by_function(result: dict[str, Any], binary: Path) -> dict[str, Any]:
    """Return a result with functions instead of program counters."""
    accesses = [access for line in result["lines"] for access in line["accesses"]]
    names = functions(binary, {access["pc"] for access in accesses})
    for access in accesses:
        access["pc"] = names[access["pc"]]
    for line in result["lines"]:
        line["accesses"].sort(key=lambda access: json.dumps(access, sort_keys=True))
    return result


def printed(run: Run, binary: Path) -> dict[str, Any] | str:
    """Return a run's output without the seconds, or its error."""
    try:
        result = run.result(binary)
    except subprocess.CalledProcessError as error:
        return str(error.stderr)
    del result["simulator"]["seconds"]
    return result


def differs(run: Run, binary: Path, base: Path) -> bool:
    """Return whether the two builds print different results for a run."""
    seen, wanted = printed(run, binary), printed(run, base)
    if seen == wanted:
        return False
    if isinstance(seen, str) or isinstance(wanted, str):
        return True
    return by_function(seen, binary) != by_function(wanted, base)


def compare(binary: Path, base: Path) -> int:
    """Print the runs that differ; return 1 if any does, else 0."""
    total = different = 0
    for run in runs(base):
        total += 1
        if differs(run, binary, base):
            different += 1
            print(f"differs: {run}", flush=True)
    print(f"{total - different} of {total} runs print the same")
    return min(different, 1)
