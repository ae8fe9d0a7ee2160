# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Single values as the kernel prints them: lists of CPUs, releases, names of threads."""

from __future__ import annotations

import re

# The largest configuration of the kernel has 8192 CPUs on x86, 4096 elsewhere.
CPU_LIMIT = 1 << 16
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_RELEASE = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?")


def cpu_list(text: str) -> frozenset[int]:
    """Return the CPUs of a list such as 0-3,8. A ValueError names the error."""
    cpus: set[int] = set()
    text = text.strip()
    # An empty cpumask is printed as nothing, or as "(null)" by /sys/devices/system/cpu/nohz_full.
    if text in ("", "(null)"):
        return frozenset()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"'{clean(text[:40])}' is no list of CPUs")
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if last < first or last >= CPU_LIMIT:
            raise ValueError(f"'{clean(text[:40])}' is no list of CPUs")
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def release(text: str) -> tuple[int, int, int] | None:
    """Return the version in a release such as 6.12.10-amd64, or None."""
    match = _RELEASE.match(text.strip())
    if match is None:
        return None
    return int(match[1]), int(match[2]), int(match[3] or 0)


def stable_release(name: str, build: str) -> tuple[int, int, int] | None:
    """Return the version of a kernel whose name may hide its stable release, or None.

    Debian up to 12 calls 6.1.176 "6.1.0-50-amd64"; /proc/sys/kernel/version has "Debian 6.1.176-1".
    """
    version = release(name)
    match = re.search(r"\bDebian (\d[\d.]*)", build)
    real = release(match[1]) if match is not None else None
    if version is not None and real is not None and real[:2] == version[:2]:
        return max(version, real)
    return version


def clean(text: str) -> str:
    """Return a name fit for a terminal and for one line: what cannot be printed becomes '?'."""
    return "".join(char if char.isprintable() else "?" for char in text)
