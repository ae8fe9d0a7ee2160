# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Every experiment with its smallest load ends on every machine file."""

from __future__ import annotations

import pytest

from common.paths import MACHINES
from model.machines.presets import load_machine
from model.run.experiment import experiment_names, load_experiment
from model.run.run import execute, plan_run
from model.run.run_options import RunOptions, make_request

# On eight CPUs far apart; an experiment of curves with two threads, one of pairs with its own CPUs.
LOADS = {
    None: RunOptions("", cpus=8, placement="scatter"),
    "threads": RunOptions("", cpus=8, placement="scatter", threads="2"),
    "pairs": RunOptions(""),
}


@pytest.mark.slow(reason="two minutes of CPU time for all experiments on all machines")
@pytest.mark.parametrize("machine", sorted(path.stem for path in MACHINES.glob("*.toml")))
def test_every_experiment_ends(machine: str) -> None:
    one_cache = len({place.llc for place in load_machine(machine).places.values()}) == 1
    for name in experiment_names():
        if one_cache and name == "cache-scan":  # its servers and clients need a cache each
            continue
        load = LOADS[load_experiment(name).sweep]
        options = RunOptions(**{**load.__dict__, "experiment": name, "machine": machine})
        plan = plan_run(make_request(options))
        assert all(raw["metrics"] for raw in execute(plan)), name
