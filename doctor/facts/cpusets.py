# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the cpusets of a machine in the lists 'mounts' and 'cgroups'."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from doctor.facts.values import CpuLists, clean, numbered

# A node with 10,000 cgroups has 80,000 files of cpusets.
_FILES = 100_000
_MOUNTS = 2000
_LONGEST = 4096
# At most this many siblings of a cpuset are named. A machine may have thousands.
NAMED = 8

_LEAF = re.compile(
    r"(?P<path>.*)/(?P<name>cpuset\.[a-z_.]+|cgroup\.(?:part|type)|cpus|effective_cpus|cpu_exclusive|"
    r"sched_load_balance|mems):(?P<value>.*)"
)
_PARTITION = re.compile(r"(member|root|isolated)( invalid)?( \((?P<why>.*)\))?")


@dataclass(frozen=True)
class Cpuset:
    """One cgroup with cpuset files. None: the file does not exist.

    ``path`` is relative to the mount and starts with /. ``partition`` is member, root or isolated.
    ``valid``: does the kernel accept it? ``why`` is the kernel's reason if not. ``partitions``:
    whether the kernel has partitions at all, as a file of this cgroup shows.
    """

    path: str
    cpus: frozenset[int] | None = None
    effective: frozenset[int] | None = None
    exclusive: frozenset[int] | None = None
    exclusive_effective: frozenset[int] | None = None
    isolated: frozenset[int] | None = None
    partition: str = "member"
    valid: bool = True
    why: str = ""
    load_balance: bool | None = None
    partitions: bool = False

    @property
    def root_partition(self) -> bool:
        """Whether the kernel gives this cpuset its own scheduling domains (cgroup v2)."""
        return self.partition == "root" and self.valid

    @property
    def isolated_partition(self) -> bool:
        """Whether this is a valid partition without load balancing (cgroup v2)."""
        return self.partition == "isolated" and self.valid

    @property
    def claimed(self) -> frozenset[int]:
        """Return the CPUs that its files name."""
        return (self.cpus or frozenset()) | (self.exclusive or frozenset())


@dataclass(frozen=True)
class Cpusets:
    """The tree of cpusets; ``version`` is 1, 2, or 0 when no mounted tree has any.

    ``part``: the collector saw only a part of the tree, as from inside a container. ``place`` is
    where the tree is mounted. ``bare``: the collector saw a whole tree of version 2, and no tree
    contains a cpuset file. ``domains``: for a cgroup, one below it that is not threaded.
    """

    version: int
    place: str
    part: bool
    sets: dict[str, Cpuset]
    bare: bool = False
    domains: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _paths(self) -> list[str]:
        return sorted(self.sets)

    def inside(self, path: str) -> Iterator[Cpuset]:
        """Yield all cpusets below a path, sorted by path."""
        # "0" is the character after "/".
        ends = (bisect_left(self._paths, f"{path.rstrip('/')}{end}") for end in "/0")
        yield from (self.sets[name] for name in islice(self._paths, *ends) if name != "/")

    def rivals(self, cpuset: Cpuset) -> list[Cpuset]:
        """Return the siblings that name CPUs of this cpuset, at most NAMED of them."""
        above = cpuset.path.rpartition("/")[0]
        overlapping = (
            other for other in self.inside(above)
            if other.path.rpartition("/")[0] == above
            and other is not cpuset and other.claimed & cpuset.claimed
        )  # fmt: skip
        return list(islice(overlapping, NAMED))

    def preorder(self) -> list[Cpuset]:
        """Return all cpusets, each before those below it."""
        return [self.sets[path] for path in sorted(self.sets, key=lambda path: path.split("/"))]


def _flag(value: str) -> bool:
    if value.strip() not in ("0", "1"):
        raise ValueError(f"'{clean(value[:40])}' is neither 0 nor 1")
    return value.strip() == "1"


def _partition(value: str) -> dict[str, object]:
    match = _PARTITION.fullmatch(value.strip())
    if match is None:
        raise ValueError(f"'{clean(value[:60])}' is not a state of a partition")
    return {
        "partition": match[1], "valid": match[2] is None, "why": clean(match["why"] or ""),
        "partitions": True,
    }  # fmt: skip


def _changes(name: str, value: str, known: CpuLists) -> dict[str, object]:
    """Return the fields that one file sets."""
    masks = {
        "cpuset.cpus": "cpus",
        "cpus": "cpus",
        "cpuset.cpus.effective": "effective",
        "cpuset.effective_cpus": "effective",
        "effective_cpus": "effective",
        "cpuset.cpus.exclusive": "exclusive",
        "cpuset.cpus.exclusive.effective": "exclusive_effective",
        "cpuset.cpus.isolated": "isolated",
    }
    if name in masks:
        return {masks[name]: known.read(value)}
    if name == "cpuset.cpus.partition":
        return _partition(value)
    if name in ("cpuset.sched_load_balance", "sched_load_balance"):
        return {"load_balance": _flag(value)}
    return {}


@dataclass(frozen=True)
class _Mount:
    kind: str
    place: str
    part: bool


def _mounts(text: str) -> Iterable[_Mount]:
    for place, line in numbered("mounts", text, _MOUNTS):
        words = line.split()
        if len(words) != 4 or words[0] not in ("cgroup", "cgroup2", "cpuset"):
            raise ValueError(f"{place} is not a mount of cgroups")
        yield _Mount(words[0], words[2].strip("/"), words[1] != "/")


class _Places:
    """Finds the innermost mount that contains a folder."""

    def __init__(self, mounts: Iterable[str]) -> None:
        self._mounts = frozenset(mounts)
        self._known: dict[str, str | None] = {}

    def of(self, folder: str) -> str | None:
        if folder not in self._known:
            above = folder
            while above and above not in self._mounts:
                above = above.rpartition("/")[0]
            self._known[folder] = above if above in self._mounts else None
        return self._known[folder]


def read_cpusets(mounts: str, cgroups: str, known: CpuLists) -> Cpusets:
    """Return the tree of cpusets. A ValueError names the list, the line and the error.

    A tree of version 1 with the cpuset controller has priority over one of version 2, since a
    controller belongs to one tree only.
    """
    by_version = sorted(_mounts(mounts), key=lambda mount: mount.kind == "cgroup2")
    sets: dict[str, dict[str, Cpuset]] = {mount.place: {} for mount in by_version}
    domains: dict[str, dict[str, str]] = {}
    parts = {mount.place for mount in by_version if mount.part}
    places = _Places(sets)
    for at, line in numbered("cgroups", cgroups, _FILES):
        match = _LEAF.fullmatch(line)
        if match is None:
            raise ValueError(f"{at} is not a cpuset file")
        full = match["path"].strip("/")
        if len(full) > _LONGEST:
            raise ValueError(f"{at}: a path of more than {_LONGEST} characters")
        place = places.of(full)
        if place is None:
            raise ValueError(f"{at}: '{clean(full[:60])}' is below no mount of cgroups")
        if match["name"] == "cgroup.part":
            parts.add(place)
            continue
        path = clean(full[len(place) :]) or "/"
        if match["name"] == "cgroup.type":
            if match["value"] != "threaded":
                domains.setdefault(place, {})[path.rpartition("/")[0]] = path
            continue
        held = sets[place].get(path, Cpuset(path))
        try:
            changed = _changes(match["name"], match["value"], known)
        except ValueError as error:
            raise ValueError(f"{at}: {error}") from error
        sets[place][path] = replace(held, **changed)  # type: ignore[arg-type]
    for mount in by_version:
        if sets[mount.place]:
            version = 2 if mount.kind == "cgroup2" else 1
            return Cpusets(
                version, f"/{clean(mount.place)}", mount.place in parts, sets[mount.place],
                domains=domains.get(mount.place, {}),
            )  # fmt: skip
    bare = any(mount.kind == "cgroup2" and mount.place not in parts for mount in by_version)
    return Cpusets(0, "", False, {}, bare)
