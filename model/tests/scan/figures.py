#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests figures of cache-aware scheduling's scan on the simulated machine; all repeat exactly.

Usage: figures.py SIMULATOR ROOT. Inputs are those of model/experiments/cache-scan.toml.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.machines.presets import load_machine
from model.run.common_entries import read_experiment


@dataclass(frozen=True)
class Simulator:
    """The program under test."""

    path: str
    root: Path

    def run(self, variant: str, **changed: float) -> dict[str, Any]:
        """The figures of one run."""
        data = read_experiment(self.root / "model" / "experiments" / "cache-scan.toml")
        params = {p["name"]: p["value"] for p in data["param"]} | changed
        machine = load_machine(data["machine"]).flat
        argv = [self.path, "cache-scan", "--machine", str(machine), "--variant", variant]
        argv += ["--seed", "1"]
        for name, value in params.items():
            argv += ["--param", f"{name}={value}"]
        done = subprocess.run(argv, check=True, capture_output=True, text=True)
        metrics = json.loads(done.stdout)["metrics"]
        print(variant, changed, {k: round(v, 4) for k, v in metrics.items()})
        assert isinstance(metrics, dict)
        return metrics


def main() -> None:
    """With servers and clients in one cache each, a mask has at most a cache's 16 of 384 CPUs."""
    sim = Simulator(sys.argv[1], Path(sys.argv[2]))
    full, node, linux, mask, fork = (
        sim.run(variant, forks_per_tick=0.02)
        for variant in ("full", "node", "linux73", "linux73-mask", "linux73-fork")
    )
    assert full["scan_length_p50"] == full["scan_length_p99"] == 384
    assert node["scan_length_p99"] <= 288
    # Linux 7.3 scans nodes, and reads the running threads.
    assert linux["scan_length_p99"] == node["scan_length_p99"]
    assert linux["cycles_per_scan"] > node["cycles_per_scan"]
    assert mask["scan_length_max"] <= 16
    assert linux["cycles_per_scan"] >= 10 * mask["cycles_per_scan"]
    assert full["cycle_share"] >= 15 * mask["cycle_share"]
    assert mask["bytes_per_process"] == linux["bytes_per_process"] + 384 // 8
    # With each of these variants a fork writes a record for each CPU.
    for figures in (full, node, linux, mask):
        assert figures["forks"] > 0
        assert figures["cycles_per_fork"] > 384 * 100
    # Without reads of run queues a fork takes less than half the cycles.
    assert fork["scan_length_p99"] == linux["scan_length_p99"]
    assert 0 < 2 * fork["cycles_per_fork"] < linux["cycles_per_fork"]
    assert sim.run("linux73-mask", forks_per_tick=0.02) == mask


main()
