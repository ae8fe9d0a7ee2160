# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the types of a run on a simulated machine, as recorders and the replay tool write it."""

from msgspec import field

from model.results import lines
from model.results.saved import Count, NotNegative, Saved

Way = tuple[int, ...]
# For messages about a damaged file.
WROTE = "what the recorder wrote"


class Access(lines.Access, kw_only=True):
    """The accesses of one instruction to one place of a line.

    ``by``: the CPUs, by their place in the watch file. ``ways``: HITM and cycles of each way to the
    access (record/report/callers.py); None without stacks. ``hitm_true``: the HITM of bytes that
    another CPU wrote.
    """

    store_cycles: NotNegative
    hitm_true: Count
    by: list[int] = field(default_factory=list)
    ways: dict[Way, tuple[int, float]] | None = None


class Line(lines.Line, kw_only=True):
    """A cache line."""

    store_cycles: NotNegative
    accesses: list[Access]


class Simulated(Saved, kw_only=True):
    """The simulated machine."""

    clock_ghz: NotNegative


class Model(Saved, kw_only=True):
    """What the simulated machine did. A program's own run has neither idle nor released CPUs."""

    virtual_ns: NotNegative
    busy_ns: NotNegative
    instructions: Count
    loads: Count
    stores: Count
    locked: Count
    idle: Count | None = None
    released: Count | None = None
    lines_touched: Count


class Run(Saved, kw_only=True):
    """A run. ``cpu_times``: CPU, instructions, busy and idle picoseconds."""

    machine: Simulated
    model: Model
    nr_lines: Count
    hitm_remote: Count
    hitm_local: Count
    waited_cycles: NotNegative | None = None
    lines: list[Line]
    partial: bool = False
    operations: Count = 0
    cpu_times: list[tuple[int, int, int, int]] = field(default_factory=list)

    @property
    def hitm(self) -> int:
        """How often a line was found modified in another cache."""
        return self.hitm_remote + self.hitm_local

    @property
    def work_cycles(self) -> float:
        """The cycles in which CPUs worked or waited for lines, summed over CPUs."""
        return sum(float(busy) for _, _, busy, _ in self.cpu_times) / 1000 * self.machine.clock_ghz


class Outside(Saved, kw_only=True):
    """The calls of code without instrumentation, their modelled time and its share, by function."""

    calls: Count
    ns: NotNegative
    share: NotNegative
    functions: list[tuple[str, int]]


class Stepping(Saved, kw_only=True):
    """What a recorder counted while it ran. It omits what only the other recorder counts."""

    quantum: Count | None = None
    instructions: Count
    accesses_private: Count | None = None
    accesses_device: Count | None = None
    accesses_reported: Count
    waits: Count | None = None
    timeouts: Count | None = None
    waited_seconds: NotNegative | None = None
    window_seconds: NotNegative | None = None
    waited_outside: Count | None = None
    outside: Outside | None = None


class RecordedRun(Run, kw_only=True):
    """The run that a recorder saw."""

    stepping: Stepping


class Function(Saved, kw_only=True):
    """A function, its calls, and their instructions with those of what it calls."""

    name: str
    calls: Count
    instructions: Count = 0
    locked: Count = 0


class KernelRun(RecordedRun, kw_only=True):
    """A kernel's run, with the functions that were counted."""

    functions: list[Function]
