# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How many CPUs should share a line or a lock: predicted for each size, with the flags to set.

Two costs are opposed. Of the CPUs that share a line each write waits for the others: the more there
are, the dearer. And who searches all lines reads one a shard: the smaller the shards, the dearer.
The locks of workqueue pods and of sched_ext's queues have the first cost only; there the advice is
the largest size whose lock is busy for a tenth of the time at most, at a given rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schedshard.errors import UserError
from schedshard.experiment import load_experiment
from schedshard.presets import Machine, machine_topology
from schedshard.run import RunRequest, execute, plan_run, point_metrics

# More CPUs than a shard can have; locks may be shared by more.
_MOST = 64
BUSY = 0.1
# How often a CPU searches the whole mask for each time that it sets its bit: newly idle CPUs and
# balancing look at the mask; most wake-ups do not.
SEARCHES = 0.01


@dataclass(frozen=True)
class Size:
    """One size: ``cpus`` on ``cores``; cycles of a set and of a search, ns of a lock operation.

    What a size cannot have is None. ``per_use`` is a set and its share of a search.
    """

    cpus: int
    cores: int
    set_cycles: float | None
    search_cycles: float | None
    lock_ns: float

    @property
    def per_use(self) -> float | None:
        """Return the cycles of one set and of the searches that go with it."""
        if self.set_cycles is None or self.search_cycles is None:
            return None
        return self.set_cycles + SEARCHES * self.search_cycles

    def busy(self, rate: float) -> float:
        """Return the part of the time in which the lock is held or handed on, at most 1.

        All CPUs at once need lock_ns for an operation each, so the lock serves one in lock_ns/cpus.
        """
        return min(1.0, rate * self.lock_ns * 1e-9)


@dataclass(frozen=True)
class Advice:
    """The sizes, and of each kind of sharing the one to take."""

    machine: Machine
    rate: float
    sizes: tuple[Size, ...]
    shard: Size
    lock: Size
    llc_cores: int


def _shape(topology: dict[str, Any]) -> tuple[int, int, int]:
    """Return the CPUs of an LLC, its cores, and the threads of a core, of the first LLC."""
    first = topology["cpus"][0]
    keys = ("package", "node", "llc")
    members = [
        cpu for cpu in topology["cpus"] if all(cpu.get(key) == first.get(key) for key in keys)
    ]
    cores = len({cpu.get("core", cpu["cpu"]) for cpu in members})
    return len(members), cores, max(1, len(members) // cores)


def _sizes(llc_cpus: int, threads: int, cpus: int) -> list[int]:
    """Return doublings of a core's threads up to the LLC, the LLC itself, and beyond for locks."""
    found, size = [], threads
    while size < llc_cpus:
        found.append(size)
        size *= 2
    return [*found, llc_cpus, *(n * llc_cpus for n in (2, 4) if n * llc_cpus <= cpus)]


def _metric(machine: Machine, cpus: int, name: str, cap: int, metric: str) -> float:
    request = RunRequest(load_experiment(name), machine, cpus, variants=("sbm",), cap=cap)
    plan = plan_run(request)
    return point_metrics(request.experiment, plan.points[0], execute(plan)[0])[metric]


def _locks(machine: Machine, cpus: int, sizes: list[int]) -> dict[int, float]:
    request = RunRequest(
        load_experiment("primitives"), machine, cpus, placement="compact",
        variants=("spinlock",), threads=tuple(sizes),
    )  # fmt: skip
    plan = plan_run(request)
    return {
        point.cpus: point_metrics(request.experiment, point, raw)["ns_per_op"]
        for point, raw in zip(plan.points, execute(plan), strict=True)
    }


def advise(machine: Machine, rate: float) -> Advice:
    """Predict every size on a machine, and choose."""
    topology = machine_topology(machine)
    cpus = len(topology["cpus"])
    llc_cpus, llc_cores, threads = _shape(topology)
    if cpus < 2 or llc_cpus < 2:
        raise UserError(f"--advise: on {machine.name} no two CPUs share a last-level cache")
    wanted = _sizes(llc_cpus, threads, cpus)
    locks = _locks(machine, cpus, wanted)
    sizes = []
    for size in wanted:
        own = size <= min(llc_cpus, _MOST)
        sizes.append(
            Size(
                size,
                size // threads,
                _metric(machine, cpus, "cpumask-yield", size, "cycles_per_op") if own else None,
                _metric(machine, cpus, "cpumask-read", size, "cycles_per_read") if own else None,
                locks[size],
            )
        )
    shards = [each for each in sizes if each.per_use is not None]
    best = min(shards, key=lambda each: each.per_use or 0.0)
    inside = [each for each in sizes if each.cpus <= llc_cpus]
    calm = [each for each in inside if each.busy(rate) <= BUSY]
    return Advice(machine, rate, tuple(sizes), best, max(calm or inside[:1], key=lambda x: x.cpus),
                  llc_cores)  # fmt: skip


def flags(advice: Advice) -> list[tuple[str, str]]:
    """Return what to set, each with its flag."""
    cores = advice.lock.cores
    virtual = (
        f"--virt-llc {cores}-{cores}" if cores < advice.llc_cores
        else "none: leave --virt-llc out, the last-level caches are small enough"
    )  # fmt: skip
    return [
        ("schedshard's shards", f"--cap {advice.shard.cpus}"),
        ("workqueue pods (Linux 7.1 and later, boot option)",
         f"workqueue.cache_shard_size={cores}"),
        ("sched_ext (scx_lavd, scx_p2dq and others that have it)", virtual),
    ]  # fmt: skip


def advice_data(advice: Advice) -> dict[str, Any]:
    """Return the advice as JSON data."""
    return {
        "machine": advice.machine.name,
        "kind": advice.machine.kind,
        "rate": advice.rate,
        "searches_per_set": SEARCHES,
        "busy_at_most": BUSY,
        "sizes": [
            {
                "cpus": each.cpus,
                "cores": each.cores,
                "set_cycles": each.set_cycles,
                "search_cycles": each.search_cycles,
                "cycles_per_use": each.per_use,
                "lock_ns": each.lock_ns,
                "lock_busy": each.busy(advice.rate),
            }
            for each in advice.sizes
        ],
        "shard_cpus": advice.shard.cpus,
        "pod_cpus": advice.lock.cpus,
        "flags": [{"what": what, "flag": flag} for what, flag in flags(advice)],
    }
