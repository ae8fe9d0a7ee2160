# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write the predictions that 'doctor' quotes: cli/schedshard/doctor/predict/predictions.toml.

PYTHONPATH=cli .venv/bin/python scripts/doctor_predictions.py

It takes five minutes of a CPU. The same program and machine files give the same table on any host.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schedshard.common.output import write_atomic
from schedshard.doctor.predict.predict import predict_on
from schedshard.doctor.predict.prediction import Prediction, Shape
from schedshard.doctor.predict.stored import FILE
from schedshard.machines.machine_list import list_machines

GROUP = 8
RATES = (100.0, 1000.0, 10000.0)
MACHINES = ("epyc-7763-2s", "epyc-9654-2s", "xeon-8480-2s", "xeon-480-snc", "altra-max-2s")
_HEAD = """\
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Predicted cycles a wake-up in the shared lines of the root domain, written by
# scripts/doctor_predictions.py. It runs the experiment rt-groups on all CPUs of a machine file, in
# groups of 8. Each CPU has one FIFO thread, which wakes up per_cpu times a second. Median, 5th and
# 95th percentile of the samples.
"""


def _rounded(spread: dict[str, float]) -> list[float]:
    return [float(f"{spread[key]:.4g}") for key in ("value", "low", "high")]


def _row(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction as an entry of the file; cycles a wake-up only."""
    shape = prediction.shape
    return {
        "machine": prediction.machine,
        "kind": prediction.kind,
        "groups": shape.groups,
        "cpus_per_group": shape.cpus_per_group,
        "per_cpu": float(f"{shape.rate / shape.cpus:.4g}"),
        "samples": prediction.samples,
        "cycles": {
            row.variant: _rounded(row.figures["cycles_per_wakeup"]) for row in prediction.rows
        },
        "of_stock": {row.variant: _rounded(row.of_stock) for row in prediction.rows},
    }


def _values(values: list[float]) -> str:
    return "[" + ", ".join(f"{value:.10g}" for value in values) + "]"


def _entry(kind: str, row: dict[str, object]) -> str:
    lines = ["", f"[[{kind}]]"]
    for key, value in row.items():
        if isinstance(value, dict):
            inner = ", ".join(f"{name} = {_values(each)}" for name, each in value.items())
            lines.append(f"{key} = {{ {inner} }}")
        elif isinstance(value, str):
            lines.append(f'{key} = "{value}"')
        else:
            lines.append(f"{key} = {value:.10g}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Predict every machine and rate, and write the file."""
    rows = [row for row in list_machines() if row["name"] in MACHINES]
    keys = ("name", "title", "cpus", "packages", "nodes", "llcs")
    parts = [_HEAD, *(_entry("machine", {key: row[key] for key in keys}) for row in rows)]
    for row in rows:
        groups = row["cpus"] // GROUP
        for rate in RATES:
            shape = Shape(groups, GROUP, 50, 1, rate * groups * GROUP)
            found = predict_on(shape, row["name"], "", None)
            parts.append(_entry("prediction", _row(found)))
    write_atomic(Path(str(FILE)), "".join(parts))


if __name__ == "__main__":
    main()
