# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write the predictions that 'doctor' quotes: cli/schedshard/doctor/predict/predictions.toml.

PYTHONPATH=cli .venv/bin/python scripts/doctor_predictions.py

It takes five minutes of a CPU. The same program and machine files give the same table on any host.
"""

from __future__ import annotations

from schedshard.common.output import write_atomic
from schedshard.doctor.predict.predict import predict_on
from schedshard.doctor.predict.prediction import Shape
from schedshard.doctor.predict.stored import FILE, GROUP, MACHINES, RATES, row_of
from schedshard.machines.machine_list import list_machines

_HEAD = """\
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Predicted cycles a wake-up in the shared lines of the root domain, written by
# scripts/doctor_predictions.py. It runs the experiment rt-groups on all CPUs of a machine file, in
# groups of 8. Each CPU has one FIFO thread, which wakes up per_cpu times a second. Median, 5th and
# 95th percentile of the samples.
"""


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
            parts.append(_entry("prediction", row_of(found)))
    write_atomic(FILE, "".join(parts))


if __name__ == "__main__":
    main()
