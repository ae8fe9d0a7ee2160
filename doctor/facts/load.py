# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the real-time threads of each root domain, by groups of CPUs, and their wake-ups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from doctor.facts.domains import Domains, RootDomain
from doctor.facts.facts import DEADLINE, Facts, Thread
from doctor.facts.topology import Cpu
from doctor.facts.values import merged

_PROXMOX = re.compile(r"/(?:qemu\.slice/|lxc/)([0-9]+)")
# Containers whose cgroups are no units of systemd, though units may be inside.
_CONTAINER = re.compile(
    r"/docker/[0-9a-f]{12,64}|/kubepods/(?:\w+/)?pod[^/]+/[^/]+|/lxc(?:/|\.payload[./])[^/]+"
)
# SLURM's processes of all jobs are in one scope, with a cgroup for each job.
_JOB = re.compile(r"/job_[0-9]+(?=/|$)")
# Guests of libvirt, whose names an administrator chooses, and containers. Root's containers of
# Podman are also in machine.slice. The first such name in a path is the outermost one.
_NAMES = re.compile(
    r"/(?P<guest>machine-(?:qemu|lxc)|[^/]*\.libvirt-(?:qemu|lxc)(?![^/]))"
    r"|docker-|libpod-|/docker/|crio-|/lxc[./]"
)
# Libvirt's cgroups of a guest's threads that run no virtual CPU.
AUXILIARY = re.compile(r"/(?:emulator|iothread[0-9]+)$")
# A cache of at most this many CPUs may be one core's own. Services are not cut by such caches.
_CORE = 2
_UNITS = (".service", ".scope", ".libvirt-qemu", ".libvirt-lxc")
# What systemd-nspawn makes: machine-NAME.scope by hand, systemd-nspawn@NAME.service as a service.
# An administrator chooses NAME. Libvirt makes such scopes, too, with its driver before NAME.
_NSPAWN = re.compile(
    r"/machine\.slice/(?:machine-(?!(?:qemu|lxc|ch)(?:\\x2d|-))[^/]*\.scope|systemd-nspawn@)"
)


def unit_of(cgroup: str) -> str:
    """Return the service, scope, job or cgroup that an administrator starts and moves as one."""
    if container := _CONTAINER.match(cgroup):
        return container[0]
    parts = cgroup.strip("/").split("/")
    for index, part in enumerate(parts):
        if part.endswith(_UNITS) and not part.startswith("user@"):
            unit = "/" + "/".join(parts[: index + 1])
            job = _JOB.match(cgroup, len(unit)) if part.endswith("slurmstepd.scope") else None
            return cgroup[: job.end()] if job is not None else unit
    return cgroup


def kind_of(unit: str) -> str:
    """Return a unit's kind: pod, proxmox, job, container, guest, nspawn, service or other."""
    if "kubepods" in unit:
        return "pod"
    if _PROXMOX.match(unit):
        return "proxmox"
    if "slurmstepd.scope/" in unit:
        return "job"
    if _NSPAWN.match(unit):
        return "service" if unit.endswith(".service") else "nspawn"
    name = _NAMES.search(unit)
    if name is not None:
        return "guest" if name["guest"] else "container"
    if unit.startswith(("/machine.slice/", "/machine/")) or "/libvirt" in unit:
        return "guest"
    return "service" if unit.endswith((".service", ".slice")) else "other"


def auxiliary(cgroup: str) -> bool:
    """Whether libvirt keeps in this cgroup threads of a guest that run no virtual CPU."""
    return AUXILIARY.search(cgroup) is not None and kind_of(unit_of(cgroup)) == "guest"


@dataclass(frozen=True)
class Group:
    """Threads whose CPUs overlap; threads of two groups never run on the same CPU.

    ``cgroups``: those of its threads, except cgroups that have hardly any of its wake-ups.

    Some threads would connect groups: kernel threads outside of one group, threads that may run on
    all CPUs of the root domain, and threads beyond one group that hardly ever wake up. These go
    into a separate group that ``roams``. If all threads may run on all CPUs, those that are not
    kernel threads form an ordinary group.
    """

    cpus: frozenset[int]
    threads: tuple[Thread, ...]
    wakeups: float
    cgroups: tuple[str, ...]
    roams: bool = False


@dataclass(frozen=True)
class Part:
    """The groups of one partition, and the cgroup that contains all of their threads.

    ``places`` are several cgroups if threads of each share CPUs. ``split``: other groups of the
    cgroup are in another part, so that this part takes only threads of it.
    """

    places: tuple[str, ...]
    groups: tuple[Group, ...]
    split: bool = False

    @property
    def cpus(self) -> frozenset[int]:
        """Return the CPUs of its groups."""
        return frozenset[int]().union(*(group.cpus for group in self.groups))

    @property
    def wakeups(self) -> float:
        """Return the wake-ups per second of its groups."""
        return sum(group.wakeups for group in self.groups)


def place_of(cgroup: str, facts: Facts) -> str:
    """Return the cgroup that can be a partition for a thread: its unit, or one inside.

    This is a partition, or a cgroup to which a service gave CPUs of its own.
    """
    unit = unit_of(cgroup)
    apart = kind_of(unit) in ("service", "other")
    if len(cgroup) > len(unit) and facts.cpusets.version == 2:
        path = cgroup
        while len(path) > len(unit):
            held = facts.cpusets.sets.get(path)
            if held is not None and (held.partition != "member" or (apart and held.cpus)):
                return path
            path = path.rpartition("/")[0]
    return unit


def _near(cpu: Cpu, facts: Facts) -> frozenset[int] | None:
    """Return the CPUs of a CPU's last-level cache, or of its node if at most one core has one."""
    node = facts.nodes.get(-1 if cpu.node is None else cpu.node)
    return node if node and len(cpu.llc or ()) <= _CORE else cpu.llc


def _fits(cpus: set[int], facts: Facts) -> bool:
    """Whether CPUs share a package, and are no more than their largest last-level cache has."""
    known = [facts.cpus[cpu] for cpu in cpus if cpu in facts.cpus]
    most = max((len(_near(cpu, facts) or ()) for cpu in known), default=0)
    return len({cpu.package for cpu in known}) == 1 and len(cpus) <= most


def _keys(group: Group, places: Mapping[str, str], facts: Facts, cut: set[str]) -> set[object]:
    """Return a group's keys, which join groups: its cgroups, with a cache each if in ``cut``."""
    keys: set[object] = set()
    own = {places[name] for name in group.cgroups} or {"/"}
    for place in own:
        if len(own) > 1 or place not in cut:
            keys.add(place)
            continue
        caches = {_near(facts.cpus[cpu], facts) for cpu in group.cpus if cpu in facts.cpus}
        keys |= {(place, cache) for cache in caches or {None}}
    return keys


def parts_of(groups: Iterable[Group], facts: Facts) -> list[Part]:
    """Return the groups by the partitions that they may have.

    All groups of one guest, container, pod or job get one partition, because a manager rules its
    cgroup. Those of a service with more CPUs than a last-level cache, or in two packages, get one
    per cache, because cpuset is a threaded controller. So do those of a container that alone has
    such threads. Emulators of several guests on the same CPUs do not join these guests, because
    libvirt can pin them elsewhere.
    """
    held = list(groups)
    places = {name: place_of(name, facts) for group in held for name in group.cgroups}
    held = [
        group for group in held
        if len({places[name] for name in group.cgroups}) < 2
        or not all(map(auxiliary, group.cgroups))
    ] or held  # fmt: skip
    rates: Counter[str] = Counter()
    for group in held:
        rates.update({places[name]: round(group.wakeups) for name in group.cgroups})
    units = [place for place, rate in rates.items() if rate > _RARE * sum(rates.values())]
    alone = units if len(units) == 1 and kind_of(min(units)) in ("container", "pod") else []
    spans: dict[str, set[int]] = {}
    for group in held:
        for place in {places[name] for name in group.cgroups} or {"/"}:
            spans.setdefault(place, set()).update(group.cpus)
    cut = {
        place for place, cpus in spans.items()
        if (place in alone or kind_of(place) in ("service", "other")) and not _fits(cpus, facts)
    }  # fmt: skip
    above = list(range(len(held)))

    def top(index: int) -> int:
        while above[index] != index:
            above[index] = index = above[above[index]]
        return index

    first: dict[object, int] = {}
    for index, group in enumerate(held):
        for key in _keys(group, places, facts, cut):
            above[top(index)] = top(first.setdefault(key, index))
    together: dict[int, list[Group]] = {}
    for index, group in enumerate(held):
        together.setdefault(top(index), []).append(group)
    made = []
    for members in together.values():
        names = {name for group in members for name in group.cgroups}
        made.append(Part(tuple(sorted({places[name] for name in names})), tuple(members)))
    times = Counter(place for part in made for place in part.places)
    return [replace(part, split=any(times[place] > 1 for place in part.places)) for part in made]


@dataclass(frozen=True)
class DomainLoad:
    """One root domain and its real-time threads; rates are wake-ups per second.

    ``wakeups`` counts all threads, ``kernel`` only kernel threads that roam, and ``deadline`` only
    deadline threads. ``llcs`` counts the last-level caches of the CPUs that the groups may use.
    ``known`` is False when no thread's rate was measured.
    """

    domain: RootDomain
    groups: tuple[Group, ...]
    wakeups: float
    kernel: float
    deadline: float
    llcs: int
    known: bool
    parts: tuple[Part, ...] = ()

    @property
    def apart(self) -> tuple[Group, ...]:
        """Return the groups that share no CPU, which are all that do not roam."""
        return tuple(group for group in self.groups if not group.roams)

    @property
    def done(self) -> bool:
        """Whether this is a partition of type root that cannot be cut into smaller ones."""
        return self.domain.partition and len(self.parts) <= 1

    @property
    def user_threads(self) -> int:
        """Return how many of the threads are not kernel threads."""
        return sum(not thread.kernel for group in self.groups for thread in group.threads)


def _rate(thread: Thread, seconds: float) -> float:
    return thread.voluntary / seconds if thread.voluntary and seconds > 0 else 0.0


def _waking(threads: Iterable[Thread], facts: Facts) -> float:
    return sum(_rate(thread, facts.seconds) for thread in threads)


class _Whereabouts:
    """Finds a thread's root domain: that of all CPUs that it may use, or of its last CPU."""

    def __init__(self, domains: Domains, facts: Facts) -> None:
        self._number = {
            cpu: number for number, domain in enumerate(domains.domains) for cpu in domain.cpus
        }  # fmt: skip
        self._domains = domains.domains
        self._online = facts.online
        self._known: dict[frozenset[int] | None, set[int]] = {}

    def of(self, thread: Thread) -> RootDomain | None:
        """Return the domain, or None if no CPU of the thread is online."""
        if thread.allowed not in self._known:
            allowed = self._online if thread.allowed is None else thread.allowed
            numbers = {self._number[cpu] for cpu in allowed if cpu in self._number}
            self._known[thread.allowed] = numbers
        held = self._known[thread.allowed]
        if len(held) != 1 and thread.cpu in self._number:
            return self._domains[self._number[thread.cpu]]
        return self._domains[min(held)] if held else None


# If a cgroup's threads have less than this share of a group's wake-ups, as a watchdog on each CPU
# has, the cgroup does not join that group to others.
_RARE = 0.01


def _group(mask: frozenset[int], members: list[Thread], facts: Facts, roams: bool = False) -> Group:
    rates: dict[str, float] = {}
    for member in members:
        name = (not member.kernel and member.cgroup) or ""
        rates[name] = rates.get(name, 0.0) + _rate(member, facts.seconds)
    rate = sum(rates.values())
    least = _RARE * (rate - rates.get("", 0.0))
    names = sorted(name for name, own in rates.items() if name and own >= least)
    return Group(mask, tuple(members), rate, tuple(names), roams)


def _links(by_mask: dict[frozenset[int], list[Thread]], facts: Facts) -> list[frozenset[int]]:
    """Return the masks that reach beyond a group, and whose threads hardly wake up per CPU."""
    rates = {mask: _waking(members, facts) / len(mask) for mask, members in by_mask.items()}
    rare = []
    for held, masks in merged({mask: [mask] for mask in by_mask}):
        least = _RARE * sum(rates[mask] * len(mask) for mask in masks) / len(held)
        sets = merged({mask: [mask] for mask in masks if rates[mask] >= least})
        place = {cpu: number for number, (own, _) in enumerate(sets, 1) for cpu in own}
        for mask in masks:
            over = {place.get(cpu, 0) for cpu in mask}
            rare += [mask] if rates[mask] < least and len(over) > 1 else []
    return rare


def _groups(cpus: frozenset[int], threads: list[Thread], facts: Facts) -> list[Group]:
    by_mask: dict[frozenset[int], list[Thread]] = {}
    kernel = []
    inside: dict[frozenset[int] | None, frozenset[int]] = {None: cpus}
    for thread in threads:
        if thread.allowed not in inside and thread.allowed is not None:
            inside[thread.allowed] = thread.allowed & cpus
        mask = inside[thread.allowed]
        if thread.kernel:
            kernel.append(thread)
        else:
            by_mask.setdefault(mask or cpus, []).append(thread)
    roaming = by_mask.pop(cpus, []) if len(by_mask) > 1 else []
    for mask in _links(by_mask, facts):
        roaming += by_mask.pop(mask)
    sets = merged(by_mask)
    place = {cpu: number for number, (mask, _) in enumerate(sets) for cpu in mask}
    bound: dict[int, list[Thread]] = {}
    for thread in kernel:
        held = {place.get(cpu, -1) for cpu in inside[thread.allowed]}
        bound.setdefault(held.pop() if len(held) == 1 else -1, []).append(thread)
    if 2 * _waking(bound.get(-1, []), facts) >= _waking(kernel, facts):
        bound = {-1: kernel}
    for number, (mask, members) in enumerate(sets):
        # A group's partition takes kernel threads along, unless these make nearly all wake-ups.
        more = bound.pop(number, [])
        rare = _waking(members, facts) < _RARE * _waking(more, facts)
        (roaming if rare or mask == cpus else members).extend(more)
    roaming += bound.pop(-1, [])
    groups = [_group(mask, members, facts) for mask, members in sets]
    return groups + ([_group(cpus, roaming, facts, roams=True)] if roaming else [])


def _llcs(groups: list[Group], facts: Facts) -> int:
    used = frozenset[int]().union(*(group.cpus for group in groups)) if groups else frozenset()
    caches = {facts.cpus[cpu].llc for cpu in used if cpu in facts.cpus}
    return len(caches - {None})


def domain_loads(facts: Facts, domains: Domains) -> list[DomainLoad]:
    """Return the load of each root domain, in the order of the domains.

    Stoppers (migration/N) read back as FIFO 99 but belong to another class; they do not count.
    """
    threads: dict[RootDomain, list[Thread]] = {domain: [] for domain in domains.domains}
    whereabouts = _Whereabouts(domains, facts)
    for thread in facts.threads:
        where = None if thread.stopper else whereabouts.of(thread)
        if where is not None:
            threads[where].append(thread)
    loads = []
    for domain, members in threads.items():
        groups = _groups(domain.cpus, members, facts)
        awake = [group for group in groups if group.wakeups > 0 and not group.roams]
        asleep = [group for group in groups if not group.roams]
        free = [member for group in groups if group.roams for member in group.threads]
        loads.append(
            DomainLoad(
                domain,
                tuple(sorted(groups, key=lambda group: -group.wakeups)),
                _waking(members, facts),
                _waking(filter(lambda member: member.kernel, free), facts),
                _waking((member for member in members if member.policy == DEADLINE), facts),
                _llcs(awake or asleep or groups, facts),
                facts.seconds > 0 and any(member.voluntary is not None for member in members),
                tuple(parts_of((group for group in groups if not group.roams), facts)),
            )
        )
    return loads
