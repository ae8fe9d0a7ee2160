# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Logs what a trial has done, as lines that survive a boot, and makes a Trial of the log."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trial.form import Figure, Host, Kernel, State, Trial, trial_text

MOST_BYTES = 4 << 20
MARK = "schedshard-trial"
# The runs get this share of a trial's time; the rest is for starting kernels.
_RUNS = 0.8


@dataclass
class Log:
    """``id`` is that of the boot file. ``lines`` are one per boot and one per finished run."""

    id: str
    lines: list[dict[str, Any]] = field(default_factory=list)

    def text(self) -> str:
        """Return the log as a file: the first line has the id."""
        return "".join(json.dumps(line) + "\n" for line in ({"id": self.id}, *self.lines))

    def boot(self, kernel: Kernel, load: float, battery: bool) -> None:
        """Note that a kernel has booted."""
        self.lines.append(
            {
                "kernel": kernel.name, "release": kernel.release, "load": load, "battery": battery,
                "features": dict(kernel.features),
            }
        )  # fmt: skip

    def run(
        self, turn: int, workload: str, readings: Sequence[tuple[str, str, float]], hot: bool
    ) -> None:
        """Note that a workload has run in a turn, and whether the machine was hot."""
        kept = [list(reading) for reading in readings]
        self.lines.append({"turn": turn, "workload": workload, "readings": kept, "hot": hot})

    def done(self, turn: int) -> set[str]:
        """Return the workloads that have run in a turn."""
        return {line["workload"] for line in self.lines if line.get("turn") == turn}

    def figures(self, order: Sequence[str]) -> Iterator[Figure]:
        """Yield each figure with its runs in the order of turns, given the kernel of each turn."""
        runs: dict[tuple[str, str, str, str], list[float]] = {}
        for line in sorted((x for x in self.lines if "turn" in x), key=lambda x: int(x["turn"])):
            for part, unit, value in line["readings"]:
                key = line["workload"], order[line["turn"]], unit, part
                runs.setdefault(key, []).append(value)
        for (workload, kernel, unit, part), values in runs.items():
            yield Figure(workload, kernel, unit, tuple(values), part=part)

    def trial(self, version: str, host: Host, order: Sequence[str], ended: str) -> Trial:
        """Return the trial so far."""
        boots = [line for line in self.lines if "kernel" in line]
        kernels = {
            line["kernel"]: Kernel(line["kernel"], line["release"], line["features"])
            for line in sorted(boots, key=lambda line: order.index(line["kernel"]))
        }
        loads = [float(line["load"]) for line in boots]
        battery = any(line["battery"] for line in boots)
        state = State(loads[0], max(loads), battery, any(line.get("hot") for line in self.lines))
        made = tuple(figure for figure in self.figures(order) if figure.kernel in kernels)
        return Trial(version, host, tuple(kernels.values()), state, made, ended=ended)


def parse(text: str, wanted: str) -> Log | None:
    """Return the log in a file that this boot file wrote; None for every other file."""
    lines = []
    for line in text[:MOST_BYTES].splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            break  # the power failed while it was written
        if not isinstance(value, dict):
            return None
        lines.append(value)
    if not lines or lines[0].get("id") != wanted:
        return None
    return Log(wanted, lines[1:])


def order_of(kernels: Sequence[str], pairs: int) -> list[str]:
    """Return the kernel of each turn: A B, B A, A B, and so on."""
    first = list(kernels)
    return [name for at in range(pairs) for name in (first[::-1] if at % 2 else first)]


def seconds_of(minutes: int, turns: int, workloads: int) -> int:
    """Return how long a workload runs in one turn."""
    return max(1, int(60 * minutes * _RUNS / turns / max(1, workloads)))


def in_console(text: str) -> str:
    """Return the trial that a console's log contains; the text itself if it contains none."""
    parts = re.findall(rf"{MARK} begin\r?\n(.*?)^{MARK} end", text, re.MULTILINE | re.DOTALL)
    return str(parts[-1]).replace("\r", "") if parts else text


def console_text(trial: Trial) -> str:
    """Return a trial for a console, between marks that in_console() finds."""
    return f"{MARK} begin\n{trial_text(trial)}{MARK} end\n"


def settings_of(parameters: str) -> Mapping[str, str]:
    """Return the settings of the trial in a kernel's parameters, without their prefix."""
    words = [word.partition("=") for word in parameters.split()]
    return {name[6:]: value for name, _, value in words if name.startswith("trial.")}
