# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A host with cpusets of cgroup v2 and threads, as the kernel treats them, in its simplest form.

The kernel accepts a partition if no sibling has its CPUs, its parent is a partition, and the parent
keeps a CPU. It takes the CPUs of partitions from all other cgroups. A thread runs on the CPUs that
it chose and its cgroup has. If there are none, it runs on all CPUs of the cgroup.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Cpus = frozenset[int]


def expand(listed: str) -> Cpus:
    """Return the CPUs of a list such as 0-3,8."""
    ends = [part.split("-") for part in listed.split(",") if part]
    return frozenset(cpu for each in ends for cpu in range(int(each[0]), int(each[-1]) + 1))


def listed(cpus: Cpus) -> str:
    """Return CPUs as the kernel lists them."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


@dataclass
class Cgroup:
    """A cgroup: the CPUs that it requests, and its type as partition. ``why`` is a refusal."""

    cpus: Cpus = frozenset()
    exclusive: Cpus = frozenset()
    kind: str = "member"
    why: str = ""

    @property
    def in_force(self) -> bool:
        """Whether it is a partition that the kernel accepts."""
        return self.kind != "member" and not self.why


@dataclass
class Task:
    """A thread: its process, whether it is a real-time one, the CPUs that it chose, its cgroup."""

    process: int
    real_time: bool
    chosen: Cpus
    cgroup: str


@dataclass
class Host:
    """The host's cgroups and threads. ``settle`` does the kernel's part after each change."""

    online: Cpus
    cgroups: dict[str, Cgroup] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)

    def settle(self) -> None:
        """Accept or refuse the partitions."""
        free = self.online
        for path, each in sorted(self.cgroups.items()):
            each.why = ""
            if each.kind == "member":
                continue
            cpus = each.cpus or each.exclusive
            parent = path.rpartition("/")[0]
            siblings = [
                other for name, other in self.cgroups.items()
                if name != path and name.rpartition("/")[0] == parent
            ]  # fmt: skip
            above = [name for name in self.cgroups if path.startswith(f"{name}/")]
            handed = all(cpus <= self.cgroups[name].exclusive for name in above)
            if not cpus:
                each.why = "cpuset.cpus and cpuset.cpus.exclusive are empty"
            elif above and not (handed and cpus <= each.exclusive):
                each.why = "Parent is not a partition root"
            elif any(cpus & other.cpus for other in siblings):
                each.why = "Cpu list in cpuset.cpus not exclusive"
            elif not free - cpus:
                each.why = "Parent unable to distribute cpu downstream"
            else:
                free -= cpus

    @property
    def rest(self) -> Cpus:
        """Return the CPUs of no partition."""
        taken = [each.cpus or each.exclusive for each in self.cgroups.values() if each.in_force]
        return self.online.difference(*taken)

    def effective(self, path: str) -> Cpus:
        """Return the CPUs that a cgroup has."""
        if path in ("", "/"):
            return self.rest
        each = self.cgroups.get(path, Cgroup())
        if each.in_force:
            return (each.cpus or each.exclusive) & self.online
        above = self.effective(path.rpartition("/")[0])
        return (each.cpus & above) or above

    def allowed(self, number: int) -> Cpus:
        """Return the CPUs on which a thread may run."""
        task = self.tasks[number]
        cpus = self.effective(task.cgroup)
        return (task.chosen & cpus) or cpus


def harm(
    host: Host, groups: dict[int, Cpus], free: Cpus, waiting: frozenset[int] = frozenset()
) -> list[str]:
    """Return the harm that was done: CPUs that a thread lost, and real-time intruders.

    ``groups`` maps each real-time thread to the CPUs that it could use at first. ``free`` are those
    that the plan promises to all others. ``waiting`` threads are about to be started.
    """
    wrong = []
    for number, before in groups.items():
        if number in waiting:
            continue
        now = host.allowed(number)
        if not before <= now:
            wrong.append(f"thread {number} had {sorted(before)} and has {sorted(now)}")
        if now & free:
            wrong.append(f"thread {number} may run on {sorted(now & free)}, which is for others")
    if not free <= host.rest:
        wrong.append(f"CPUs {sorted(free - host.rest)} are gone for all others")
    return wrong
