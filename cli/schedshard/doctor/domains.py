# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The root domains of a machine, by the rules of its kernel's version.

The kernel starts with every CPU on one static root domain, def_root_domain. It gives a root domain
of its own only to a set of CPUs that it builds scheduling domains for. Such a set is

- with cgroup v2: the CPUs that no partition has taken, and each valid partition of type `root`;
- with cgroup v1: all CPUs while the root cpuset balances load; otherwise each topmost cpuset that
  does, where cpusets that overlap make one set;

in each case without the CPUs of isolcpus=domain. A CPU in no such set stays on def_root_domain:
that holds for isolcpus=domain and for partitions of type `isolated`, so all of these CPUs share
one root domain. (kernel/cgroup/cpuset.c: generate_sched_domains(); kernel/sched/topology.c:
partition_sched_domains_locked(), detach_destroy_domains(), build_sched_domains(); read for 6.12
and for 7.1.)
"""

from __future__ import annotations

from dataclasses import dataclass

from schedshard.doctor.cpusets import Cpuset, Cpusets
from schedshard.doctor.facts import Facts
from schedshard.topo import ranges

# Partitions of type `isolated` came with 6.1, partitions below others than partitions ("remote")
# with 6.7. Up to 6.10 the kernel could overlook a remote partition of type `root` (ccac8e8de99c).
_REMOTE = (6, 7, 0)
_REMOTE_FIXED = (6, 11, 0)
# From 6.11 to 6.12.9 isolcpus came back into the domain of the rest once there was a partition
# of type `root` (9b496a8bbed9).
_LEAK_FIXED = (6, 12, 10)


@dataclass(frozen=True)
class RootDomain:
    """CPUs that share one root domain. ``default`` tells that it is def_root_domain."""

    cpus: frozenset[int]
    default: bool
    because: str

    @property
    def label(self) -> str:
        """Return the CPUs as the kernel lists them."""
        return ranges(sorted(self.cpus))


@dataclass(frozen=True)
class Domains:
    """All root domains with a CPU that is online, the one with the most CPUs first.

    ``unsure`` says why the kernel may see it otherwise; it is empty when nothing is in doubt.
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
    """Whether a partition's parent is no partition: not the root, and not a valid one."""
    parent = cpusets.sets.get(cpuset.path.rpartition("/")[0] or "/")
    return (
        parent is not None and parent.path != "/"
        and not (parent.root_partition or parent.isolated_partition)
    )  # fmt: skip


def _version_2(facts: Facts) -> tuple[list[RootDomain], list[str]]:
    cpusets = facts.cpusets
    unsure = []
    own = [each for each in cpusets.preorder() if each.path != "/" and each.root_partition]
    taken: frozenset[int] = frozenset()
    for each in cpusets.sets.values():
        if each.path != "/" and (each.root_partition or each.isolated_partition):
            taken |= _effective(each, facts)
    top = cpusets.sets.get("/", Cpuset("/"))
    rest = top.effective if top.effective is not None else facts.online - taken
    built = []
    for each in own:
        cpus = _effective(each, facts) - facts.isolated
        if cpus:
            built.append(RootDomain(cpus, False, f"partition {each.path}"))
        if _remote(cpusets, each) and _REMOTE <= facts.version < _REMOTE_FIXED:
            unsure.append(
                f"partition {each.path} is below a cgroup that is no partition: Linux 6.7 to 6.10 "
                "may overlook it (ccac8e8de99c)"
            )
    if built and facts.isolated and _REMOTE_FIXED <= facts.version < _LEAK_FIXED:
        unsure.append(
            "with isolcpus and a partition of type root, Linux 6.11 to 6.12.9 may put the isolated "
            "CPUs back into the domain of the rest (9b496a8bbed9)"
        )
    others = (rest & facts.online) - facts.isolated
    for domain in built:
        others -= domain.cpus
    if others:
        built.insert(
            0, RootDomain(others, False, "the CPUs of no partition" if taken else "all CPUs")
        )
    return built, unsure


def _topmost_balanced(facts: Facts) -> list[Cpuset]:
    """Return the cpusets that the kernel collects in version 1: it looks below no such cpuset."""
    found: list[Cpuset] = []
    skipped: list[str] = []
    for each in facts.cpusets.preorder():
        if each.path == "/" or any(each.path.startswith(above) for above in skipped):
            continue
        balances = each.load_balance is not False
        cpus = each.cpus if each.cpus is not None else _effective(each, facts)
        if cpus and not (balances and cpus - facts.isolated):
            continue
        if balances and _effective(each, facts):
            found.append(each)
        skipped.append(f"{each.path}/")
    return found


def _version_1(facts: Facts) -> list[RootDomain]:
    top = facts.cpusets.sets.get("/", Cpuset("/"))
    if top.load_balance is not False:
        return [RootDomain(facts.online - facts.isolated, False, "the CPUs that are not isolated")]
    merged: list[tuple[frozenset[int], list[str]]] = []
    for each in _topmost_balanced(facts):
        cpus, names = _effective(each, facts), [each.path]
        apart = []
        for held, held_names in merged:
            if held & cpus:
                cpus, names = cpus | held, held_names + names
            else:
                apart.append((held, held_names))
        merged = [*apart, (cpus, names)]
    return [
        RootDomain(cpus - facts.isolated, False, f"cpuset {', '.join(names[:4])}")
        for cpus, names in merged
        if cpus - facts.isolated
    ]


def _why_left(facts: Facts, left: frozenset[int]) -> str:
    reasons = []
    if left & facts.isolated:
        reasons.append(f"isolcpus {ranges(sorted(left & facts.isolated))}")
    for each in facts.cpusets.preorder():
        cpus = _effective(each, facts) & left - facts.isolated
        if facts.cpusets.version == 2 and each.isolated_partition and cpus:
            reasons.append(f"isolated partition {each.path}")
    if not reasons and facts.cpusets.version == 1:
        reasons.append("no cpuset that balances load")
    more = f" and {len(reasons) - 6} more" if len(reasons) > 6 else ""
    return ", ".join(reasons[:6]) + more if reasons else "in no scheduling domain"


def root_domains(facts: Facts) -> Domains:
    """Compute the root domains from what was collected."""
    unsure: list[str] = []
    if facts.cpusets.version == 2:
        built, unsure = _version_2(facts)
    elif facts.cpusets.version == 1:
        built = _version_1(facts)
    else:
        built = [RootDomain(facts.online - facts.isolated, False, "the CPUs that are not isolated")]
    if facts.cpusets.part:
        unsure.append("only a part of the cgroup tree was seen: partitions may exist outside of it")
    left = facts.online
    for domain in built:
        left -= domain.cpus
    if facts.cpusets.part and facts.cpusets.version == 2:
        # From inside, CPUs of others look as if nobody had them. All that is known of them is what
        # a whole machine without further partitions would have.
        unknown = left - facts.isolated
        for each in facts.cpusets.sets.values():
            if each.isolated_partition:
                unknown -= _effective(each, facts)
        if unknown:
            built.append(RootDomain(unknown, False, "outside of what was seen"))
            left -= unknown
    built = [domain for domain in built if domain.cpus]
    if left:
        built.append(RootDomain(left, True, _why_left(facts, left)))
    return Domains(tuple(sorted(built, key=lambda each: -len(each.cpus))), tuple(unsure))
