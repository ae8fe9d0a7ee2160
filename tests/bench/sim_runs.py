# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs of schedshard-sim with the parameters of model/experiments/*.toml, to measure it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from model.run.common_entries import read_experiment

ROOT = Path(__file__).resolve().parents[2]


def simulator(build: Path) -> Path:
    """Return the simulator of a build directory."""
    return build / "model" / "experiments" / "schedshard-sim"


@cache
def known(binary: Path, experiment: str) -> set[str]:
    """Return the parameters of an experiment that a build knows; an older one may know fewer."""
    listing = subprocess.run([str(binary), "--list"], check=True, capture_output=True, text=True)
    return next(set(e["params"]) for e in json.loads(listing.stdout) if e["name"] == experiment)


@dataclass(frozen=True)
class Run:
    """One run: an experiment, one of its variants, and changes of the usual parameters."""

    experiment: str
    variant: str
    machine: str | None = None  # None: the experiment's own
    cpus: int | None = None  # None: all of the machine
    seed: int = 1
    params: dict[str, float] = field(default_factory=dict)

    def argv(self, binary: Path) -> list[str]:
        """Return the command line."""
        declared = read_experiment(ROOT / "model" / "experiments" / f"{self.experiment}.toml")
        machine = ROOT / "machines" / f"{self.machine or declared['machine']}.toml"
        argv = [str(binary), self.experiment, "--machine", str(machine)]
        argv += ["--variant", self.variant, "--seed", str(self.seed)]
        if self.cpus:
            argv += ["--cpus", str(self.cpus)]
        for param in declared["param"]:
            if param["name"] not in known(binary, self.experiment):
                continue
            value = self.params.get(param["name"], param["value"])
            argv.append(f"--param={param['name']}={value}")
        return argv

    def result(self, binary: Path) -> dict[str, Any]:
        """Run it and return its output."""
        done = subprocess.run(self.argv(binary), check=True, capture_output=True, text=True)
        result = json.loads(done.stdout)
        assert isinstance(result, dict), done.stdout
        return result


def workloads(share: float) -> dict[str, Run]:
    """Return runs of two kinds of load, shortened to ``share`` of the usual length."""
    return {
        # Nearly every operation misses, waits, and switches to another CPU.
        "cpumask-yield global": Run(
            "cpumask-yield", "global", params={"measured_ops": round(8000 * share)}
        ),
        "cpumask-yield sbm": Run(
            "cpumask-yield", "sbm", params={"measured_ops": round(8000 * share)}
        ),
        # Most accesses hit a CPU's own lines. No extra searches, because older builds have none.
        "ffmpeg-rt stock": Run(
            "ffmpeg-rt",
            "stock",
            params={
                "warm_up_us": 10000 * share,
                "measured_us": 8000 * share,
                "extra_finds": 0.0,
            },
        ),
    }
