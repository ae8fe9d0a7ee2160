# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Describes one simulated load of a root domain, and computes what its wake-ups cost.

The experiment rt-groups simulates the load. The cost of a wake-up is the kernel's time for it, less
the time for a wake-up when only one CPU has such a thread. With one such CPU nothing is shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from doctor.predict.rates import Asked
from model.machines.presets import Machine
from model.run.experiment import Experiment, load_experiment
from model.run.run import RunRequest

EXPERIMENT = "rt-groups"
# Time of a cycle besides sleep and work: two switches, a timer, an idle CPU's wake-up.
OVERHEAD_US = 3.0
# The period of this rate does not divide the tick's period. If it did, ticks would coincide with
# wake-ups, and their cost would count as the wake-ups' cost.
_LONE_RATE = 3700.0


@dataclass(frozen=True)
class Spot(Asked):
    """A load to simulate."""

    group: int = 0
    level: int = 50
    levels: int = 1

    @property
    def period_us(self) -> float:
        """Return the time between two wake-ups of a thread, in us."""
        return self.cpus / self.rate * 1e6

    def params(self, counted: float) -> dict[str, float]:
        """Return the experiment's inputs, with a time that contains about ``counted`` wake-ups."""
        period = self.period_us
        work = min(5.0, period / 5)
        fitting = next((n for n in (8, 4, 6, 2, 3, 5, 7) if self.cpus % n == 0), self.cpus)
        return {
            "cpus_per_group": 1 if self.pinned else self.group or fitting,
            "level": self.level,
            "levels": self.levels,
            "push_ipi": int(self.push),
            "work_us": work,
            "sleep_us": max(period - work - OVERHEAD_US, 1.0),
            "warm_up_us": max(1.5 * period, 500.0),
            "measured_us": min(max(counted / self.rate * 1e6, 2 * period, 500.0), 2e6),
        }


@dataclass(frozen=True)
class Seen:
    """The results for a load: wake-ups per second, and nanoseconds per wake-up."""

    rate: float
    kernel_ns: float
    late_ns: float


def lone(level: int = 50) -> Spot:
    """Return the load of a single thread, which shares nothing."""
    return Spot("stock", False, True, False, 1, _LONE_RATE, level=level)


def request_of(
    spot: Spot, machine: Machine, have: int, counted: float, **changes: float
) -> RunRequest:
    """Return the request that simulates a load on a machine with ``have`` CPUs."""
    return RunRequest(
        load_experiment(EXPERIMENT), machine, have, cpus=spot.cpus,
        placement="scatter" if spot.spread else "compact", variants=(spot.kernel,),
        params=tuple({**spot.params(counted), **changes}.items()),
    )  # fmt: skip


def observation(spot: Spot, metrics: Mapping[str, float]) -> Seen:
    """Return a load's results from the simulator's metrics."""
    rate = metrics["wakeups_per_second"]
    kernel = metrics["kernel_share_of_all"] * spot.cpus / rate * 1e9
    return Seen(rate, kernel, metrics["latency_mean_ns"])


def ranged(experiment: Experiment, name: str, value: float, factor: float) -> Experiment:
    """Return the experiment with an input that is uncertain by a factor in both directions."""
    return replace(
        experiment,
        params=tuple(
            replace(param, value=value, low=value / factor, high=value * factor)
            if param.name == name
            else param
            for param in experiment.params
        ),
    )
