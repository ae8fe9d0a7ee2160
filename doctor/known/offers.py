# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Adapts the catalogue's remedies and commands to the kernel that runs.

The catalogue is written for current kernels of Linus' tree. Older kernels, and those of
distributors, lack some of the files named there. Doctor proposes no file known to be missing.
"""

from __future__ import annotations

from doctor.facts.domains import REMOTE_FIXED
from doctor.facts.facts import Facts
from doctor.facts.load import DomainLoad, kind_of
from doctor.facts.values import cut_ids
from doctor.known.catalogue import Entry
from doctor.known.kernels import load_kernels, shows

_FEATURES = "sys/kernel/debug/sched/features"
_OLD_FEATURES = "sys/kernel/debug/sched_features"
_FEATURES_SINCE = (5, 13, 0)
_SCOPE = "sys/module/workqueue/parameters/default_affinity_scope"
_SCOPE_SINCE = (6, 6, 0)
_PARTITION = "cpuset.cpus.partition"
_PARTITIONS_SINCE = (5, 0, 0)
_EXCLUSIVE = (6, 7, 0)
_CHILDREN = (6, 1, 0)
# Kinds of cgroups whose place in the tree a manager decides.
_MANAGED = {"pod", "proxmox", "job"}
V1 = (
    "With cgroup v1 write 0 to sched_load_balance of the root cpuset, and make a cpuset below it "
    "for each group: each of these becomes a root domain. A container that is made later "
    "balances load over all CPUs, which merges these domains."
)
V1_COMMAND = "grep . /sys/fs/cgroup/cpuset/cpuset.sched_load_balance"


def has_partitions(facts: Facts) -> bool | None:
    """Whether the kernel has cpuset partitions of cgroup v2, None where that is not known."""
    if any(cpuset.partitions for cpuset in facts.cpusets.sets.values()):
        return True
    if facts.version >= _PARTITIONS_SINCE:
        return True
    signs = [
        sign for sign in load_kernels().signs
        if sign.entry == "partition-invalid" and sign.where == "kallsyms"
    ]  # fmt: skip
    return next((shows(facts, sign) for sign in signs), None)


def no_partitions(facts: Facts) -> tuple[str, str] | None:
    """Return remedy and command if cgroup v2 lacks partitions, or may lack them; else None."""
    has = has_partitions(facts)
    if facts.cpusets.version != 2 or has:
        return None
    if has is False:
        return f"This kernel has no cpuset partitions. {V1}", "grep cgroup /proc/filesystems"
    return (
        "Whether this kernel has cpuset partitions is not known: Linux 5.0 introduced them, and a "
        f"backport may have them. If a cgroup below the root has {_PARTITION}, make a partition of "
        f"type root for each group. Otherwise only cgroup v1 helps. {V1}",
        f"ls /sys/fs/cgroup/*/{_PARTITION}",
    )


def has_exclusive(facts: Facts) -> bool:
    """Whether the kernel has cpuset.cpus.exclusive, by the collected files or its version."""
    below = [
        cpuset for cpuset in facts.cpusets.sets.values() if cpuset.path != "/" and cpuset.partitions
    ]
    return facts.version >= _EXCLUSIVE or any(cpuset.exclusive is not None for cpuset in below)


def base_of(path: str, facts: Facts) -> str:
    """Return the nearest valid partition above a cgroup, "" for the root cgroup."""
    above = path.rpartition("/")[0]
    while above:
        held = facts.cpusets.sets.get(above)
        if held is not None and (held.root_partition or held.isolated_partition):
            return above
        above = above.rpartition("/")[0]
    return ""


def overlooked(path: str, facts: Facts) -> bool:
    """Whether the kernel refuses or may overlook a partition below a cgroup that is not one."""
    return facts.version < REMOTE_FIXED and "/" in path[len(base_of(path, facts)) + 1 :]


def too_deep(path: str, facts: Facts) -> str:
    """Return why a cgroup cannot be a partition of a kernel before 6.7, or ""."""
    if facts.version < _CHILDREN and any(facts.cpusets.inside(path)):
        return (
            f"before Linux 6.1 the kernel makes no partition of {cut_ids(path)}, because cgroups "
            "below have cpusets: write -cpuset to its cgroup.subtree_control first"
        )
    if has_exclusive(facts) or not overlooked(path, facts):
        return ""
    own = (
        "start it in a slice of its own below the root (systemd: Slice=, with AllowedCPUs= of that "
        "slice; docker, podman: --cgroup-parent; libvirt: <resource>), or "
    )
    return (
        "this kernel has no cpuset.cpus.exclusive (Linux 6.7), so a partition must lie directly "
        f"below the root or another partition, and {cut_ids(path)} does not: "
        f"{'' if kind_of(path) in _MANAGED else own}boot Linux 6.11, or a kernel with that file"
    )


def out_of_reach(facts: Facts, load: DomainLoad) -> str:
    """Return why no part of a load can be a partition, if only another kernel helps, or ""."""
    places = [place for part in load.parts for place in part.places]
    if facts.cpusets.version == 2 and {kind_of(place) for place in places} <= _MANAGED:
        reasons = [too_deep(place, facts) for place in places]
        return reasons[0] if reasons and all(reasons) else ""
    return ""


def _workqueue(facts: Facts) -> tuple[str, str] | None:
    folder = _SCOPE.rpartition("/")[0]
    keys = [key for key in facts.settings if key.startswith(f"{folder}/")]
    if _SCOPE in keys or (not keys and facts.version >= _SCOPE_SINCE):
        return None
    return (
        "This kernel has no affinity scopes of workqueues (Linux 6.6 brought them): limit unbound "
        "work to CPUs that have time for it.",
        "grep . /sys/devices/virtual/workqueue/cpumask",
    )


def offer(entry: Entry, facts: Facts | None) -> tuple[str, str]:
    """Return an entry's remedy and command for a host, or unchanged ones without facts."""
    remedy, command = entry.remedy, entry.command
    if facts is None:
        return remedy, command
    old = _OLD_FEATURES in facts.settings or (
        _FEATURES not in facts.settings and facts.version < _FEATURES_SINCE
    )
    if old:
        command = command.replace(_FEATURES, _OLD_FEATURES)
    if entry.id == "workqueue-pool":
        return _workqueue(facts) or (remedy, command)
    planned = "--plan" in command or _PARTITION in command
    if planned or entry.id in ("rd-shared", "rd-isolated"):
        if facts.cpusets.version == 1:
            return V1, V1_COMMAND
        return no_partitions(facts) or (remedy, command)
    return remedy, command
