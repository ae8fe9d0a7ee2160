# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Says which CPUs of this host may be measured, and in which order threads take them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError
from model.machines.making.topology import Topology, parse_cpu_list, renumber
from model.machines.placement import in_order
from model.machines.topo import label
from model.run import run_options

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
ONLINE = Path("/sys/devices/system/cpu/online")


@dataclass(frozen=True)
class Allowed:
    """The CPUs of this process in rising order.

    At most ``most`` of these CPUs may be busy at once; ``reason`` says why.
    """

    cpus: tuple[int, ...]
    most: int
    reason: str


def allowed_cpus(topology: Topology) -> Allowed:
    """Return the CPUs that affinity, cpusets and control groups' quotas leave to this process."""
    cpus = tuple(sorted(os.sched_getaffinity(0) & set(topology.cpus)))
    if not cpus:
        raise UserError("no CPU that this process may use is in the host's topology", status=1)
    quota = cpu_quota()
    # The kernel stops threads that exceed a quota, so they would measure only the quota.
    if quota is not None and int(quota) < len(cpus):
        return Allowed(
            cpus, max(1, int(quota)), f"a control group limits this process to {quota:g} CPUs"
        )
    if len(cpus) < len(topology.cpus):
        return Allowed(cpus, len(cpus), f"this process may use {label(cpus)}")
    return Allowed(cpus, len(cpus), f"this host has {_counted(len(cpus))}")


def _counted(count: int) -> str:
    return "1 CPU" if count == 1 else f"{count} CPUs"


def cpu_quota() -> float | None:
    """Return the average number of CPUs that control groups allow this process; None: no limit."""
    try:
        lines = OWN_CGROUPS.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    quotas = [quota for line in lines for quota in _quotas(line)]
    return min(quotas, default=None)


def _quotas(line: str) -> Iterator[float]:
    """Yield the quotas of one line of /proc/self/cgroup: of its group and of all groups above."""
    _, _, rest = line.partition(":")
    controllers, _, path = rest.partition(":")
    if controllers and "cpu" not in controllers.split(","):
        return
    top = CGROUPS / controllers if controllers else CGROUPS
    group = top / path.lstrip("/")
    for folder in (group, *group.parents):
        if not folder.is_relative_to(top):
            return
        quota = _v1_quota(folder) if controllers else _v2_quota(folder)
        if quota is not None:
            yield quota


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []


def _v2_quota(folder: Path) -> float | None:
    return _ratio(_words(folder / "cpu.max"))


def _v1_quota(folder: Path) -> float | None:
    return _ratio(_words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us"))


def _ratio(words: Sequence[str]) -> float | None:
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])


def check_cpu(cpu: int, option: str, allowed: Allowed, topology: Topology) -> None:
    """Raise a UserError with the reason if a CPU cannot be measured."""
    if cpu in allowed.cpus:
        return
    if cpu not in topology.cpus:
        raise UserError(f"{option} {cpu}: this host has no such CPU, only {label(topology.cpus)}")
    try:
        online = parse_cpu_list(ONLINE.read_text(encoding="ascii").strip())
    except (OSError, UnicodeDecodeError, UserError):
        online = list(topology.cpus)
    if cpu not in online:
        raise UserError(f"{option} {cpu}: that CPU is offline; give one of {label(online)}")
    raise UserError(
        f"{option} {cpu}: this process may not use that CPU, only {label(allowed.cpus)}"
    )


def thread_counts(text: str | None, allowed: Allowed) -> tuple[int, ...]:
    """Return the numbers in a list such as ``1,2,64``. None: powers of two, and all CPUs."""
    if text is None:
        doubled = [1 << i for i in range(allowed.most.bit_length()) if 1 << i < allowed.most]
        return (*doubled, allowed.most)
    why = f": {allowed.reason}, and each thread needs its own CPU"
    return run_options.thread_counts(text, allowed.most, why)


def placed(allowed: Allowed, topology: Topology, placement: str) -> tuple[int, ...]:
    """Return the CPUs in the order in which threads take them."""
    part = topology.restrict(allowed.cpus)
    levels = ("package", "node", "llc", "core")
    ids = {name: renumber(part.ids(name), part.cpus).tolist() for name in levels}
    rows = [
        {"cpu": cpu, "thread": cpu, **{name: ids[name][i] for name in levels}}
        for i, cpu in enumerate(part.cpus)
    ]
    return tuple(int(cpu["cpu"]) for cpu in in_order(rows, placement))
