# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads lists of CPUs, releases, and names of threads as the kernel prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeVar

# The largest configuration of the kernel has 8192 CPUs on x86, 4096 elsewhere.
CPU_LIMIT = 8192
# At most this many CPUs in all distinct lists of a machine: a set takes up to 64 bytes per CPU.
_CPUS_IN_ALL = 1_000_000
_NUMBERS = tuple(range(CPU_LIMIT))
_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")
_RELEASE = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,6}))?")


def cpu_list(text: str) -> frozenset[int]:
    """Return the CPUs of a list such as 0-3,8. A ValueError names the error."""
    cpus: set[int] = set()
    # Some old kernels end a list with a NUL.
    text = text.strip(" \t\n\0")
    # An empty cpumask is printed as nothing, or as "(null)" by /sys/devices/system/cpu/nohz_full.
    if text in ("", "(null)"):
        return frozenset()
    listed = 0
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"'{clean(text[:40])}' is not a list of CPUs")
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if last < first or last >= CPU_LIMIT:
            raise ValueError(f"'{clean(text[:40])}' is not a list of CPUs below {CPU_LIMIT}")
        listed += last + 1 - first
        if listed > 2 * CPU_LIMIT:
            raise ValueError(f"'{clean(text[:40])}' lists the same CPUs many times")
        cpus.update(_NUMBERS[first : last + 1])
    return frozenset(cpus)


class CpuLists:
    """Parses the CPU lists of one machine: each text once, and up to _CPUS_IN_ALL CPUs in all."""

    def __init__(self) -> None:
        self._known: dict[str, frozenset[int]] = {}
        self._left = _CPUS_IN_ALL

    def read(self, text: str) -> frozenset[int]:
        """Return the CPUs of a list. A ValueError names the error."""
        known = self._known.get(text)
        if known is None:
            known = cpu_list(text)
            self._left -= len(known) + 8
            if self._left < 0:
                raise ValueError(f"the lists have more than {_CPUS_IN_ALL:,} CPUs in all")
            self._known[text] = known
        return known


def numbered(name: str, text: str, most: int) -> Iterator[tuple[str, str]]:
    """Yield each line of a list with its place for messages. Only newlines end a line.

    A ValueError names a list of more than ``most`` lines.
    """
    start = number = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        number += 1
        if number > most:
            raise ValueError(f"{name}: more than {most:,} lines")
        if end > start:
            yield f"{name}:{number}", text[start:end]
        start = end + 1


def release(text: str) -> tuple[int, int, int] | None:
    """Return the version in a release such as 6.12.10-amd64, or None."""
    match = _RELEASE.match(text.strip())
    if match is None:
        return None
    return int(match[1]), int(match[2]), int(match[3] or 0)


def stable_release(name: str, build: str, signature: str = "") -> tuple[int, int, int] | None:
    """Return the version of a kernel whose name may hide its stable release, or None.

    Debian up to 12 calls 6.1.176 "6.1.0-50-amd64"; /proc/sys/kernel/version has "Debian 6.1.176-1".
    Ubuntu calls 6.8.12 "6.8.0-60-generic"; /proc/version_signature ends with 6.8.12.
    """
    version = release(name)
    match = re.search(r"\bDebian ([0-9][0-9.]*)", build)
    match = match or re.fullmatch(r"Ubuntu \S+ ([0-9][0-9.]*)", signature.strip())
    real = release(match[1]) if match is not None else None
    if version is not None and real is not None and real[:2] == version[:2]:
        return max(version, real)
    return version


def clean(text: str) -> str:
    """Return text that fits a terminal and one line: '?' replaces what cannot be printed."""
    return "".join(char if char.isprintable() else "?" for char in text)


_ID = re.compile(r"(?<![0-9a-f])([0-9a-f]{8})[0-9a-f_-]{16,}([0-9a-f]{4})(?![0-9a-f])")


def cut_ids(text: str) -> str:
    """Return text for people: the middle of IDs of containers and pods is left out."""
    return _ID.sub(r"\1..\2", text)


Member = TypeVar("Member")


def merged(
    masks: Mapping[frozenset[int], list[Member]],
) -> list[tuple[frozenset[int], list[Member]]]:
    """Unite masks that overlap, and return the disjoint sets with the members of their masks.

    The sets are found by union-find (union by size), so that the cost is about that of reading each
    mask once.
    """
    above: dict[int, int] = {}
    size: dict[int, int] = {}

    def root(cpu: int) -> int:
        while above[cpu] != cpu:
            above[cpu] = above[above[cpu]]
            cpu = above[cpu]
        return cpu

    for mask in masks:
        held = -1
        for cpu in mask:
            if cpu not in above:
                above[cpu], size[cpu] = cpu, 1
            other = root(cpu)
            if held < 0 or held == other:
                held = other
                continue
            if size[held] < size[other]:
                held, other = other, held
            above[other] = held
            size[held] += size[other]
    cpus: dict[int, list[int]] = {}
    for cpu in above:
        cpus.setdefault(root(cpu), []).append(cpu)
    members: dict[int, list[Member]] = {}
    for mask, values in masks.items():
        if mask:
            members.setdefault(root(next(iter(mask))), []).extend(values)
    return [(frozenset(cpus[top]), names) for top, names in members.items()]
