# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests what sharding costs on small machines, and compares it with all layouts on larger ones.

A run takes a few simulated milliseconds. The simulator repeats to the last bit, so a failure is a
change of the code or of a machine file, never chance.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from model.machines.presets import cpu_count, load_machine
from model.run.experiment import load_experiment
from model.run.run import RunRequest, execute, plan_run

MOST = 1.05  # times stock's
SHORT = {"warm_up_us": 500.0, "measured_us": 1000.0}


def costs(
    experiment: str, machine: str, cpus: int | None, variants: tuple[str, ...] = ()
) -> dict[str, dict[str, float]]:
    """The figures of each variant in a short run; frames need longer than single wake-ups."""
    place = load_machine(machine)
    scale = 2.0 if experiment == "ffmpeg-rt" else 1.0
    params = tuple((name, scale * value) for name, value in SHORT.items())
    if experiment == "ffmpeg-rt":
        # Only the RT class searches here. An added search nearly always finds no CPU. On one LLC of
        # 16 CPUs it costs 1.08 times as much as with stock.
        params += (("extra_finds", 0.0),)
    request = RunRequest(
        load_experiment(experiment), place, cpu_count(place), cpus, variants=variants, params=params
    )
    plan = plan_run(request)
    return {
        point.variant.name: raw["metrics"]
        for point, raw in zip(plan.points, execute(plan), strict=True)
    }


@pytest.mark.parametrize("experiment", ["ffmpeg-rt", "cyclic", "cyclictest", "mutex", "pi"])
@pytest.mark.parametrize("machine", ["epyc-7763-2s", "xeon-8358-2s", "desktop"])
def test_sixteen_cpus_pay_nothing_for_sharding(
    real: Path, tmp_path: Path, machine: str, experiment: str
) -> None:
    if machine == "desktop":
        # One last-level cache for all, as a desktop or a small virtual machine has it.
        text = load_machine("epyc-7763-2s").path.read_text()
        path = tmp_path / "one-llc.toml"
        path.write_text(re.sub(r"^(packages|llcs_per_node) = \d", r"\1 = 1", text, flags=re.M))
        machine = str(path)
        assert cpu_count(load_machine(machine)) == 16
    by_layout = costs(experiment, machine, 16, ("stock", "shard"))
    stock, shard = by_layout["stock"], by_layout["shard"]
    assert stock["cycles_per_set"] > 0
    # Waiters sleep on an expensive mutex. With sharding hardly any do, so cycles per wake-up
    # would divide by very few wake-ups.
    figures = ["cycles_per_set", "cycles_per_find"]
    figures += ["cycles_per_wakeup"] if experiment != "mutex" else []
    for name in figures:
        assert shard[name] <= MOST * stock[name], name
    for of in (stock, shard) if experiment == "ffmpeg-rt" else ():  # others search hardly ever
        assert of["cycles_longest_find"] > of["cycles_per_find"] > 0
        assert of["cycles_longest_pull"] > of["cycles_per_pull"] > 0


@pytest.mark.long
@pytest.mark.parametrize("machine", ["xeon-8358-2s", "sierra-forest-192"])
def test_no_layout_is_cheaper_for_a_set_or_a_find(real: Path, machine: str) -> None:
    by_layout = costs("ffmpeg-rt", machine, None)
    ours = by_layout.pop("shard")
    assert len(by_layout) == 9
    for name, figures in by_layout.items():
        for figure in ("cycles_per_set", "cycles_per_find", "cycles_per_wakeup"):
            assert 0 < ours[figure] <= figures[figure], f"{figure} of {name}"
