# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How many CPUs should share a line or a lock: predicted for each size, with the flags to set.

Two costs are opposed. With larger shards writes cost more, because on a shared line each write
waits for the other CPUs' writes. With smaller shards a search of all lines costs more, because it
reads one line per shard. The locks of workqueue pods and of sched_ext's queues have the first cost
only. For them the advice is the largest size whose lock is busy for at most a tenth of the time, at
a given rate.

Intervals come from samples of all uncertain inputs. A sample has one machine for all sizes, so
each sample has its own choice. The advice says in how many samples the choice is the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from common.errors import UserError
from common.progress import Ticker, silent
from model.machines.presets import Machine, machine_topology
from model.results.saved import Interval
from model.run.experiment import Experiment, load_experiment
from model.run.run import RunPlan, RunRequest, plan_run, point_metrics
from model.run.run_options import with_settings
from model.run.uncertain.draws import make_samples
from model.run.uncertain.inputs import Input, experiment_inputs, machine_inputs
from model.run.uncertain.intervals import interval
from model.run.uncertain.uncertainty import LEAST, Ticking, run_plans

# The most CPUs per shard. Locks may be shared by more.
_MOST = 64
BUSY = 0.1
# How often a CPU searches the whole mask for each time that it sets its bit. Newly idle CPUs and
# balancing look at the mask; most wake-ups do not.
SEARCHES = 0.01
# The fewest samples that an interval can have, because a size costs several runs per sample.
SAMPLES = LEAST
_MASK, _LOCK = "cpumask-yield", "primitives"
# One CPU in 16 walks the set once a tick, for several ticks.
_READERS = ("readers_every=16", "measured_ops=800")
_METRICS = {_MASK: ("cycles_per_op", "cycles_per_read"), _LOCK: ("ns_per_op",)}
FIGURES = ("set_cycles", "search_cycles", "cycles_per_use", "lock_ns", "lock_busy")


@dataclass(frozen=True)
class Size:
    """One size: ``cpus`` on ``cores``, with the costs of set and search in cycles, of a lock in ns.

    Figures that a size cannot have are None. ``per_use`` is a set and its share of a search.
    ``spread`` contains the interval of each of FIGURES, and is empty without samples.
    """

    cpus: int
    cores: int
    set_cycles: float | None
    search_cycles: float | None
    lock_ns: float
    spread: Mapping[str, Interval]

    @property
    def per_use(self) -> float | None:
        """Return the cycles of one set and of the searches that go with it."""
        if self.set_cycles is None or self.search_cycles is None:
            return None
        return self.set_cycles + SEARCHES * self.search_cycles

    def busy(self, rate: float) -> float:
        """Return the share of time in which the lock is held or passed on, at most 1.

        ``rate`` is operations per second per CPU. While all CPUs contend, each completes one in
        lock_ns, so the lock serves one every lock_ns/cpus.
        """
        return min(1.0, rate * self.lock_ns * 1e-9)

    def figures(self, rate: float) -> dict[str, float | None]:
        """Return the costs by their names in FIGURES."""
        costs = (self.set_cycles, self.search_cycles, self.per_use, self.lock_ns, self.busy(rate))
        return dict(zip(FIGURES, costs, strict=True))


@dataclass(frozen=True)
class Advice:
    """The costs of all shard sizes, and the best size for each kind of sharing.

    ``shard_same`` and ``lock_same`` of ``samples`` samples have ``shard`` and ``lock`` as the best.
    """

    machine: Machine
    rate: float
    sizes: tuple[Size, ...]
    shard: Size
    lock: Size
    llc_cores: int
    samples: int = 0
    shard_same: int = 0
    lock_same: int = 0


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


def _mask() -> Experiment:
    return with_settings(load_experiment(_MASK), _READERS)


def _requests(machine: Machine, cpus: int, sizes: Sequence[int], own: int) -> list[RunRequest]:
    """Return the points to run: a mask for each size up to ``own``, and all locks."""
    masks = [
        RunRequest(_mask(), machine, cpus, variants=("sbm",), cap=size)
        for size in sizes
        if size <= own
    ]
    locks = RunRequest(
        load_experiment(_LOCK), machine, cpus, placement="compact", variants=("spinlock",),
        threads=tuple(sizes),
    )  # fmt: skip
    return [*masks, locks]


def _inputs(machine: Machine) -> list[Input]:
    """Return the inputs of the machine and of both experiments, each once."""
    experiments = (_mask(), load_experiment(_LOCK))
    found = [each for experiment in experiments for each in experiment_inputs(experiment)]
    return list({each.name: each for each in (*machine_inputs(machine), *found)}.values())


def _sampled(requests: list[RunRequest], count: int) -> list[list[RunRequest]]:
    """Return the requests for each sample. Equal inputs give every experiment the same machine."""
    machine, inputs = requests[0].machine, _inputs(requests[0].machine)

    def drawn(experiment: Experiment) -> list[tuple[Experiment, Machine, int]]:
        made = make_samples(machine, experiment, inputs, count, requests[0].seed)
        return [(each.experiment, each.machine, each.seed) for each in made]

    by_name = {each.experiment.name: each.experiment for each in requests}
    samples = {name: drawn(experiment) for name, experiment in by_name.items()}
    made = []
    for index in range(count):
        own = []
        for request in requests:
            experiment, sample, seed = samples[request.experiment.name][index]
            own.append(replace(request, experiment=experiment, machine=sample, seed=seed))
        made.append(own)
    return made


def _size_costs(plans: Sequence[RunPlan], raws: Sequence[Any]) -> dict[tuple[str, int], float]:
    """Return the cost by metric and size."""
    found = {}
    for plan, own in zip(plans, raws, strict=True):
        name = plan.request.experiment.name
        for point, raw in zip(plan.points, own, strict=True):
            size = point.cpus if name == _LOCK else plan.request.cap
            if size is None:
                raise ValueError(f"{name} was planned without a size")
            metrics = point_metrics(plan.request.experiment, point, raw)
            for metric in _METRICS[name]:
                found[metric, size] = metrics[metric]
    return found


def _as_sizes(costs: dict[tuple[str, int], float], sizes: list[int], threads: int) -> list[Size]:
    return [
        Size(
            size,
            size // threads,
            costs.get(("cycles_per_op", size)),
            costs.get(("cycles_per_read", size)),
            costs["ns_per_op", size],
            {},
        )
        for size in sizes
    ]


def _choose(sizes: Sequence[Size], rate: float, llc_cpus: int) -> tuple[Size, Size]:
    """Return the best size of a shard, and that of a pod."""
    shards = [each for each in sizes if each.per_use is not None]
    best = min(shards, key=lambda each: each.per_use or 0.0)
    inside = [each for each in sizes if each.cpus <= llc_cpus]
    calm = [each for each in inside if each.busy(rate) <= BUSY]
    return best, max(calm or inside[:1], key=lambda each: each.cpus)


def _spread(rate: float, samples: Sequence[Size]) -> dict[str, Interval]:
    found: dict[str, Interval] = {}
    for figure in FIGURES:
        values = [each.figures(rate)[figure] for each in samples]
        known = [value for value in values if value is not None]
        if known:
            found[figure] = interval(known)
    return found


def advise(
    machine: Machine, rate: float, count: int = SAMPLES, ticking: Ticking | None = None
) -> Advice:
    """Return predictions of every size on a machine, with intervals unless ``count`` is 0."""
    topology = machine_topology(machine)
    cpus = len(topology["cpus"])
    llc_cpus, llc_cores, threads = _shape(topology)
    if cpus < 2 or llc_cpus < 2:
        raise UserError(f"--advise: on {machine.name} no two CPUs share a last-level cache")
    wanted = _sizes(llc_cpus, threads, cpus)
    requests = _requests(machine, cpus, wanted, min(llc_cpus, _MOST))
    runs = [requests, *(_sampled(requests, count) if count else ())]
    plans = [[plan_run(request) for request in own] for own in runs]
    raws = _run(plans, ticking)
    costs = [_size_costs(own, found) for own, found in zip(plans, raws, strict=True)]
    sizes, *samples = [_as_sizes(each, wanted, threads) for each in costs]
    if samples:
        sizes = [
            replace(each, spread=_spread(rate, [sample[index] for sample in samples]))
            for index, each in enumerate(sizes)
        ]
    shard, lock = _choose(sizes, rate, llc_cpus)
    choices = [_choose(sample, rate, llc_cpus) for sample in samples]
    return Advice(
        machine, rate, tuple(sizes), shard, lock, llc_cores, count,
        sum(each.cpus == shard.cpus for each, _ in choices),
        sum(each.cpus == lock.cpus for _, each in choices),
    )  # fmt: skip


def _run(plans: list[list[RunPlan]], ticking: Ticking | None) -> list[list[list[Any]]]:
    """Run all plans through one pool, and return the results in the same order."""
    flat = [plan for own in plans for plan in own]

    def run(tick: Ticker) -> list[list[Any]]:
        return run_plans(flat, tick)

    if ticking is None:
        found = run(silent)
    else:
        name = flat[0].request.machine.name
        with ticking(f"predicting on {name}", sum(len(plan.points) for plan in flat)) as tick:
            found = run(tick)
    results = iter(found)
    return [[next(results) for _ in own] for own in plans]


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
                "intervals": dict(each.spread) or None,
            }
            for each in advice.sizes
        ],
        "shard_cpus": advice.shard.cpus,
        "pod_cpus": advice.lock.cpus,
        "samples": advice.samples,
        "samples_with_shard_cpus": advice.shard_same,
        "samples_with_pod_cpus": advice.lock_same,
        "flags": [{"what": what, "flag": flag} for what, flag in flags(advice)],
    }
