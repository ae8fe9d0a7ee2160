# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes small requests for sweeps, and rows like those that a sweep adds."""

from __future__ import annotations

from typing import Any

from model.machines.presets import load_machine
from model.run.experiment import load_experiment
from model.run.sweep.sweep import Row, SweepRequest, make_row

SMALL = ("--experiment", "cpumask-yield", "--machine", "epyc-7763-2s")


def request(**changes: Any) -> SweepRequest:
    given: dict[str, Any] = {
        "machines": (load_machine("epyc-7763-2s"),),
        "experiments": (load_experiment("cpumask-yield"),),
        "variants": ("global", "sbm"),
        "caps": (64,),
        "cpus": (),
        "seeds": 1,
        "simulator_sha256": "s" * 64,
    }
    return SweepRequest(**{**given, **changes})


def raw(cycles: float = 100.0) -> dict[str, Any]:
    return {
        "metrics": {"cycles_per_op": cycles, "ns_per_op": cycles / 2},
        "simulator": {"events": 7, "seconds": 0.5},
    }


def rows_of(points: Any) -> list[Row]:
    return [make_row(point, raw(float(i + 1))) for i, point in enumerate(points)]
