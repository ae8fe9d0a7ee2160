# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Writes lists of CPUs as the kernel does."""

from __future__ import annotations

from collections.abc import Iterable


def ranges(cpus: Iterable[int]) -> str:
    """Return CPU numbers in their given order, as the kernel writes them: 0-7,128-135."""
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def label(cpus: Iterable[int]) -> str:
    """Return CPUs or nodes as the kernel lists them."""
    return ranges(sorted(cpus))
