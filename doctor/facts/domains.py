# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the root domains of a machine, by the rules of its kernel's version.

The kernel starts with every CPU on one static root domain, def_root_domain. It gives a separate
root domain only to a set of CPUs for which it builds scheduling domains. Such a set is

- with cgroup v2: the CPUs that no partition has taken, and each valid partition of type `root`;
- with cgroup v1: all CPUs while the root cpuset balances load; otherwise each topmost cpuset that
  does, where overlapping cpusets make one set;

in each case without the CPUs of isolcpus=domain. A CPU in no such set stays on def_root_domain. So
all CPUs of isolcpus=domain and of partitions of type `isolated` share this root domain.
(kernel/cgroup/cpuset.c: generate_sched_domains(); kernel/sched/topology.c:
partition_sched_domains_locked(), detach_destroy_domains(), build_sched_domains(); read for 6.12 and
for 7.1.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from doctor.facts.cpusets import Cpuset, Cpusets
from doctor.facts.facts import Facts
from doctor.facts.values import merged
from model.machines.topo import ranges

# Linux 6.1 brought partitions of type `isolated`, and 6.7 those whose parent is no partition
# ("remote"). Up to 6.10 the kernel could overlook a remote one of type `root` (ccac8e8de99c).
REMOTE_FIXED = (6, 11, 0)
# From 6.11 to 6.12.9 CPUs of isolcpus returned to the domain of the other CPUs, once there was a
# partition of type `root` (9b496a8bbed9).
_LEAK_FIXED = (6, 12, 10)
# Since this version the root cgroup of version 2 contains cpuset.cpus.effective.
_EFFECTIVE = (5, 0, 0)


@dataclass(frozen=True)
class RootDomain:
    """CPUs that share one root domain. ``default``: it is def_root_domain.

    ``unseen``: their cgroups are missing in the collected data, and no finding may depend on them.
    """

    cpus: frozenset[int]
    default: bool
    because: str
    unseen: bool = False

    @property
    def partition(self) -> bool:
        """Whether this is a valid partition of type root (cgroup v2)."""
        return self.because.startswith("partition ")

    @property
    def label(self) -> str:
        """Return the CPUs as the kernel lists them."""
        return ranges(sorted(self.cpus))


@dataclass(frozen=True)
class Domains:
    """All root domains with a CPU that is online, the one with the most CPUs first.

    ``unsure`` lists the reasons why the kernel's root domains may differ from these.
    """

    domains: tuple[RootDomain, ...]
    unsure: tuple[str, ...]

    def of(self, cpu: int) -> RootDomain | None:
        """Return the root domain of a CPU that is online."""
        return next((domain for domain in self.domains if cpu in domain.cpus), None)


def _effective(cpuset: Cpuset, facts: Facts) -> frozenset[int]:
    for mask in (cpuset.effective, cpuset.exclusive_effective, cpuset.cpus):
        if mask is not None:
            return mask & facts.online
    return frozenset()


def _remote(cpusets: Cpusets, cpuset: Cpuset) -> bool:
    """Whether a partition is remote: its parent is neither the root nor a valid partition."""
    parent = cpusets.sets.get(cpuset.path.rpartition("/")[0] or "/")
    return (
        parent is not None and parent.path != "/"
        and not (parent.root_partition or parent.isolated_partition)
    )  # fmt: skip


def _version_2(facts: Facts) -> tuple[list[RootDomain], list[str]]:
    cpusets = facts.cpusets
    unsure = []
    own = [cpuset for cpuset in cpusets.preorder() if cpuset.path != "/" and cpuset.root_partition]
    taken: set[int] = set()
    for partition in cpusets.sets.values():
        if partition.path != "/" and (partition.root_partition or partition.isolated_partition):
            taken |= _effective(partition, facts)
    top = cpusets.sets.get("/", Cpuset("/"))
    rest = top.effective if top.effective is not None else facts.online - taken
    built = []
    used: set[int] = set()
    for partition in own:
        # Partitions share no CPU in the kernel, but their files were not read at the same time.
        cpus = _effective(partition, facts) - facts.isolated - used
        used |= cpus
        if cpus:
            built.append(RootDomain(cpus, False, f"partition {partition.path}"))
        if _remote(cpusets, partition) and facts.version < REMOTE_FIXED:
            # Such a partition on an older version is a distributor's backport.
            unsure.append(
                f"partition {partition.path} is below a cgroup that is not a partition: "
                "Linux 6.7 to 6.10 and backports may overlook the partition (fixed by ccac8e8de99c)"
            )
    if built and facts.isolated and REMOTE_FIXED <= facts.version < _LEAK_FIXED:
        unsure.append(
            "with isolcpus and a partition of type root, Linux 6.11 to 6.12.9 may put isolated "
            "CPUs back into the root domain of other CPUs (fixed by 9b496a8bbed9 and its backports)"
        )
    others = (rest & facts.online) - facts.isolated - used
    if others:
        built.insert(
            0, RootDomain(others, False, "CPUs outside partitions" if taken else "all CPUs")
        )
    return built, unsure


def _topmost_balanced(facts: Facts) -> list[Cpuset]:
    """Return version 1's cpusets with domains. The kernel does not descend below them."""
    topmost: list[Cpuset] = []
    skipped = "//"
    for cpuset in facts.cpusets.preorder():
        # In this order all cpusets below a cpuset follow it directly.
        if cpuset.path == "/" or cpuset.path.startswith(skipped):
            continue
        balances = cpuset.load_balance is not False
        cpus = cpuset.cpus if cpuset.cpus is not None else _effective(cpuset, facts)
        if cpus and not (balances and cpus - facts.isolated):
            continue
        if balances and _effective(cpuset, facts):
            topmost.append(cpuset)
        skipped = f"{cpuset.path}/"
    return topmost


def _version_1(facts: Facts) -> list[RootDomain]:
    top = facts.cpusets.sets.get("/", Cpuset("/"))
    if top.load_balance is not False:
        return [RootDomain(facts.online - facts.isolated, False, "the CPUs that are not isolated")]
    masks: dict[frozenset[int], list[str]] = {}
    for cpuset in _topmost_balanced(facts):
        masks.setdefault(_effective(cpuset, facts), []).append(cpuset.path)
    return [
        RootDomain(cpus - facts.isolated, False, f"cpuset {_named(names)}")
        for cpus, names in merged(masks)
        if cpus - facts.isolated
    ]


def _named(paths: list[str]) -> str:
    """Return the names of one or two cgroups, and how many more there are."""
    more = f" and {len(paths) - 2} more" if len(paths) > 2 else ""
    return ", ".join(paths[:2]) + more


def _why_left(facts: Facts, left: frozenset[int]) -> str:
    reasons = []
    if left & facts.isolated:
        reasons.append(f"isolcpus {ranges(sorted(left & facts.isolated))}")
    paths = [
        cpuset.path
        for cpuset in facts.cpusets.preorder()
        if facts.cpusets.version == 2 and cpuset.isolated_partition
        and _effective(cpuset, facts) & left - facts.isolated
    ]  # fmt: skip
    if paths:
        many = f"{len(paths)} isolated partitions"
        reasons.append(many if len(paths) > 1 else f"isolated partition {paths[0]}")
    if not reasons and facts.cpusets.version == 1:
        reasons.append("no cpuset that balances load")
    return ", ".join(reasons) or "in no scheduling domain"


def _missing(facts: Facts) -> tuple[frozenset[int], str]:
    """Return the CPUs whose cgroup is missing in the collected data, and why.

    The kernel takes the CPUs of partitions out of the root cgroup's effective ones. CPUs that are
    neither there nor in a partition belong to a partition that was not collected.
    """
    cpusets = facts.cpusets
    if cpusets.bare and facts.version >= _EFFECTIVE:
        off = any(word.startswith("cgroup_disable=") for word in facts.cmdline)
        if not off and facts.config.get("CPUSETS") != "n":
            return facts.online, "the cgroup tree lacks the cpuset files that a kernel makes"
    if cpusets.version != 2 or cpusets.part:
        return frozenset(), ""
    top = cpusets.sets.get("/")
    if top is None or top.effective is None:
        return facts.online, "the cgroup tree lacks its root"
    held = top.effective | facts.isolated | (top.isolated or frozenset())
    for cpuset in cpusets.sets.values():
        if cpuset.path != "/" and (cpuset.root_partition or cpuset.isolated_partition):
            held |= _effective(cpuset, facts)
    lost = facts.online - held
    return lost, f"CPUs {ranges(sorted(lost))} are in a partition that was not collected"


def root_domains(facts: Facts) -> Domains:
    """Compute the root domains from the collected data."""
    unsure: list[str] = []
    if facts.cpusets.version == 2:
        built, unsure = _version_2(facts)
    elif facts.cpusets.version == 1:
        built = _version_1(facts)
    else:
        built = [RootDomain(facts.online - facts.isolated, False, "the CPUs that are not isolated")]
    if facts.cpusets.part:
        unsure.append("only a part of the cgroup tree was seen: other parts may have partitions")
    left = facts.online
    for domain in built:
        left -= domain.cpus
    if facts.cpusets.part and facts.cpusets.version == 2:
        # Seen from inside a container, CPUs of other cgroups look free. As far as is known, they
        # share one root domain.
        unknown = left - facts.isolated
        for cpuset in facts.cpusets.sets.values():
            if cpuset.isolated_partition:
                unknown -= _effective(cpuset, facts)
        if unknown:
            built.append(RootDomain(unknown, False, "in an unseen part of the cgroup tree"))
            left -= unknown
    lost, why = _missing(facts)
    if lost:
        unsure.append(why)
        built = [
            replace(built_domain, unseen=built_domain.unseen or bool(built_domain.cpus & lost))
            for built_domain in built
        ]
    if lost & left:
        built.append(RootDomain(lost & left, False, "in a partition that was not collected", True))
        left -= lost
    built = [domain for domain in built if domain.cpus]
    if left:
        built.append(RootDomain(left, True, _why_left(facts, left)))
    return Domains(
        tuple(sorted(built, key=lambda built_domain: -len(built_domain.cpus))), tuple(unsure)
    )
