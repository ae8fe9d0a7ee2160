# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads CPUs, caches and nodes from the collector's list 'cpus'.

A CPU that is not present has no caches. On some architectures kernels before 5.4 give the CPUs of a
cache as a mask only. Where lists of caches disagree, the list of the lowest CPU counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from doctor.facts.values import CPU_LIMIT, CpuLists, clean

_CPU_FILE = re.compile(r"sys/devices/system/cpu/cpu([0-9]{1,6})/(.+)")
_NODE_FILE = re.compile(r"sys/devices/system/node/node([0-9]{1,6})/(cpulist|cpumap)")
_CACHE = re.compile(r"cache/index([0-9]{1,2})/([a-z_]+)")
_MOST_CACHES = 16
_MOST_LEVELS = 9


@dataclass(frozen=True)
class Cpu:
    """Where a CPU is. ``llc`` is the set of CPUs that share its last-level cache.

    None: the kernel does not say.
    """

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
    shared: frozenset[int] | None = None


@dataclass
class _Read:
    masks: dict[str, frozenset[int]] = field(default_factory=dict)
    nodes: dict[int, frozenset[int]] = field(default_factory=dict)
    packages: dict[int, int] = field(default_factory=dict)
    caches: dict[int, dict[int, _Cache]] = field(default_factory=dict)


def cpu_map(text: str) -> str:
    """Return the list of CPUs of a mask such as 00000000,000000ff. A ValueError names the error."""
    words = text.strip(" \t\n\0").split(",")
    if not all(re.fullmatch(r"[0-9a-f]{1,8}", word) for word in words):
        raise ValueError(f"'{clean(text[:40])}' is not a mask of CPUs")
    bits = int("".join(word.zfill(8) for word in words), 16)
    if bits >> CPU_LIMIT:
        raise ValueError(f"'{clean(text[:40])}' is not a mask of CPUs below {CPU_LIMIT}")
    return ",".join(str(cpu) for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def _number(value: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,10}", value.strip()):
        raise ValueError(f"'{clean(value.strip()[:40])}' is not a number")
    return int(value.strip())


def _set_cache(read: _Read, cpu: int, match: re.Match[str], value: str, known: CpuLists) -> None:
    index, name = int(match[1]), match[2]
    if index >= _MOST_CACHES:
        return
    held = read.caches[cpu].setdefault(index, _Cache())
    if name == "level":
        held.level = _number(value)
    elif name == "type":
        held.kind = value.strip()
    elif name == "shared_cpu_list":
        held.shared = known.read(value)
    elif name == "shared_cpu_map" and held.shared is None:
        held.shared = known.read(cpu_map(value))


def _set_cpu(read: _Read, cpu: int, name: str, value: str, known: CpuLists) -> None:
    if cpu >= CPU_LIMIT:
        raise ValueError(f"CPU {cpu} is above {CPU_LIMIT - 1}")
    read.caches.setdefault(cpu, {})
    if name == "topology/physical_package_id":
        read.packages[cpu] = _number(value)
    elif cache := _CACHE.fullmatch(name):
        _set_cache(read, cpu, cache, value, known)


def _set(read: _Read, path: str, value: str, known: CpuLists) -> None:
    if node := _NODE_FILE.fullmatch(path):
        number = int(node[1])
        if node[2] == "cpulist":
            read.nodes[number] = known.read(value)
        elif not read.nodes.get(number):
            read.nodes[number] = known.read(cpu_map(value))
    elif match := _CPU_FILE.fullmatch(path):
        _set_cpu(read, int(match[1]), match[2], value, known)
    elif path.startswith("sys/devices/system/cpu/") and path.count("/") == 4:
        read.masks[path.rpartition("/")[2]] = known.read(value)


def _last_cache(cpu: int, caches: Iterable[_Cache]) -> _Cache | None:
    """Return a CPU's last-level cache, or None if it has none of level 2 or above."""
    data = []
    for cache in caches:
        if cache.kind not in ("Data", "Unified", "Instruction", ""):
            shown = clean(cache.kind[:40])
            raise ValueError(f"cpus: CPU {cpu} has a cache of the unknown type '{shown}'")
        if cache.kind in ("Data", "Unified"):
            if not 0 <= cache.level <= _MOST_LEVELS:
                raise ValueError(f"cpus: level {cache.level} of a cache of CPU {cpu} is impossible")
            data.append(cache)
    last = max(data, key=lambda cache: cache.level, default=None)
    return last if last is not None and last.level >= 2 and last.shared else None


def _llcs(read: _Read, present: frozenset[int]) -> dict[int, tuple[frozenset[int], int]]:
    """Return by CPU the CPUs of its last-level cache, and that cache's level."""
    llcs: dict[int, tuple[frozenset[int], int]] = {}
    handled = set()
    for cpu in sorted(set(read.caches) & present):
        last = _last_cache(cpu, read.caches[cpu].values())
        if last is None or last.shared is None or last.shared in handled:
            continue
        handled.add(last.shared)
        new = {cpu_number for cpu_number in last.shared & present if cpu_number not in llcs}
        llcs.update(dict.fromkeys(new, (frozenset(new), last.level)))
    return llcs


def read_topology(lines: Iterable[tuple[str, str]], known: CpuLists) -> Topology:
    """Return the topology in the lines, each with its place. A ValueError names place and error."""
    read = _Read()
    for place, line in lines:
        path, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"{place} is not FILE:VALUE")
        try:
            _set(read, path, value, known)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
    present = read.masks.get("present", frozenset(read.caches))
    listed = present & read.masks.get("possible", present) & frozenset(read.caches)
    if not listed and read.caches:
        raise ValueError("cpus: the lists of present and of possible CPUs have no CPU in common")
    llcs = _llcs(read, listed)
    node_of = {cpu: node for node, cpus in sorted(read.nodes.items()) for cpu in cpus}
    cpus = {
        cpu: Cpu(
            cpu, None if read.packages.get(cpu, -1) < 0 else read.packages[cpu], node_of.get(cpu),
            *llcs.get(cpu, (None, None)),
        )
        for cpu in sorted(listed)
    }  # fmt: skip
    return Topology(cpus, read.masks, read.nodes)
