# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""CPUs, caches and nodes from the collector's list 'cpus', by the rules of lib/topo_sysfs.c.

A capture is read or refused by both alike (tests/doctor/test_doctor_topology.py compares them). A
CPU that is not present has no caches. Kernels before 5.4 of some architectures list the CPUs of a
cache as a mask only. The list of a cache must contain the CPU in whose folder it is, and two lists
with the same lowest CPU must be equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from schedshard.doctor.facts.values import CPU_LIMIT, CpuLists, clean

_CPU_FILE = re.compile(r"sys/devices/system/cpu/cpu(\d{1,6})/(.+)")
_NODE_FILE = re.compile(r"sys/devices/system/node/node(\d{1,6})/(cpulist|cpumap)")
_CACHE = re.compile(r"cache/index(\d{1,2})/([a-z_]+)")
_MOST_CACHES = 16


@dataclass(frozen=True)
class Cpu:
    """Where a CPU is. ``llc`` is its largest shared cache that the kernel knows, None if none."""

    number: int
    package: int | None = None
    node: int | None = None
    llc: frozenset[int] | None = None
    llc_level: int | None = None


@dataclass(frozen=True)
class Topology:
    """The CPUs that have a folder, the masks by the names of their files, and the nodes."""

    cpus: Mapping[int, Cpu]
    masks: Mapping[str, frozenset[int]]
    nodes: Mapping[int, frozenset[int]]


@dataclass
class _Cache:
    level: int = 0
    kind: str = ""
    shared: frozenset[int] = frozenset()
    place: str = ""


@dataclass
class _Read:
    masks: dict[str, frozenset[int]]
    nodes: dict[int, frozenset[int]]
    packages: dict[int, int]
    caches: dict[int, dict[int, _Cache]]


def cpu_map(text: str) -> str:
    """Return a mask such as 00000000,000000ff as a list. A ValueError names the error."""
    words = text.strip(" \t\n\0").split(",")
    if not all(re.fullmatch(r"[0-9a-f]{1,8}", word) for word in words):
        raise ValueError(f"'{clean(text[:40])}' is no mask of CPUs")
    bits = int("".join(word.zfill(8) for word in words), 16)
    if bits >> CPU_LIMIT:
        raise ValueError(f"'{clean(text[:40])}' is no mask of CPUs below {CPU_LIMIT}")
    return ",".join(str(cpu) for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def _number(value: str) -> int:
    if not re.fullmatch(r"-?\d{1,10}", value.strip()):
        raise ValueError(f"'{clean(value.strip()[:40])}' is no number")
    return int(value.strip())


def _set_cache(read: _Read, cpu: int, found: re.Match[str], value: str, known: CpuLists) -> None:
    index, name = int(found[1]), found[2]
    if index >= _MOST_CACHES:
        return
    held = read.caches[cpu].setdefault(index, _Cache())
    if name == "level":
        held.level = _number(value)
    elif name == "type":
        held.kind = value.strip()
    elif name == "shared_cpu_list":
        held.shared = known.read(value)
    elif name == "shared_cpu_map" and not held.shared:
        held.shared = known.read(cpu_map(value))


def _set(read: _Read, path: str, value: str, known: CpuLists) -> None:
    if node := _NODE_FILE.fullmatch(path):
        number = int(node[1])
        if node[2] == "cpulist":
            read.nodes[number] = known.read(value)
        elif not read.nodes.get(number):
            read.nodes[number] = known.read(cpu_map(value))
    elif found := _CPU_FILE.fullmatch(path):
        cpu = int(found[1])
        if cpu >= CPU_LIMIT:
            raise ValueError(f"CPU {cpu} is above {CPU_LIMIT - 1}")
        read.caches.setdefault(cpu, {})
        if found[2] == "topology/physical_package_id":
            read.packages[cpu] = _number(value)
        elif cache := _CACHE.fullmatch(found[2]):
            _set_cache(read, cpu, cache, value, known)
    elif path.startswith("sys/devices/system/cpu/") and path.count("/") == 4:
        read.masks[path.rpartition("/")[2]] = known.read(value)


def _last(caches: Iterable[_Cache]) -> _Cache | None:
    data = [each for each in caches if each.kind != "Instruction" and each.shared]
    return max(data, key=lambda each: each.level, default=None)


def _check(last: Mapping[int, _Cache]) -> None:
    """Refuse lists of one cache that contradict each other. A ValueError names the CPU."""
    groups: dict[tuple[int, int], frozenset[int]] = {}
    for cpu, cache in last.items():
        if cpu not in cache.shared:
            raise ValueError(
                f"cpus: the last-level cache of CPU {cpu} must contain CPU {cpu} itself"
            )
        if cache.level < 2:
            continue
        key = (cache.level, min(cache.shared))
        if groups.setdefault(key, cache.shared) != cache.shared:
            raise ValueError(
                f"cpus: the last-level cache of CPU {cpu} contradicts another CPU of this cache"
            )


def read_topology(lines: Iterable[tuple[str, str]], known: CpuLists) -> Topology:
    """Return the topology in the lines, each with its place. A ValueError names place and error."""
    read = _Read({}, {}, {}, {})
    for place, line in lines:
        path, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"{place}: no file and value")
        try:
            _set(read, path, value, known)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
    # A CPU that is not present was never there, whatever its folder says.
    present = read.masks.get("present")
    there = [cpu for cpu in read.caches if present is None or not present or cpu in present]
    last = {cpu: cache for cpu in there if (cache := _last(read.caches[cpu].values())) is not None}
    _check(last)
    node_of = {cpu: number for number, members in read.nodes.items() for cpu in members}
    cpus = {
        cpu: Cpu(
            cpu, read.packages.get(cpu), node_of.get(cpu),
            last[cpu].shared if cpu in last else None, last[cpu].level if cpu in last else None,
        )
        for cpu in there
    }  # fmt: skip
    return Topology(cpus, read.masks, read.nodes)
