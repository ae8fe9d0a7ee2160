# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The types of those parts of a recording that `record diff` and gates compare."""

from typing import Annotated, Any

from msgspec import Meta, to_builtins

from model.results.c2c import Program
from model.results.saved import Count, NotNegative, Saved

# More cycles than in a year, but small enough to be squared.
_LARGEST = 1e17
Figure = Annotated[float, Meta(ge=0.0, le=_LARGEST)]


class LineCost(Saved, kw_only=True):
    """The cost of a line, as `record diff` reads it."""

    object: str
    hitm_remote: Count
    hitm_local: Count
    cycles: NotNegative


class RunCost(Saved, kw_only=True):
    """The cost of a program on a machine, as `record diff` reads it."""

    name: str
    work_cycles: NotNegative
    hitm_total: Count
    lines: list[LineCost]


class Compared(Saved, kw_only=True):
    """The part of a recording that `record diff` compares. Earlier versions saved it, too."""

    variants: Annotated[list[RunCost], Meta(min_length=1)]


class Place(Saved, kw_only=True):
    """A line of the source."""

    file: str
    line: Count
    function: str


class Cost(Saved, kw_only=True):
    """A cache line in one run: its names, its cost, and the source line that accesses it."""

    object: str
    names: frozenset[str]
    hitm: Figure
    cycles: Figure
    place: Place | None


class Run(Saved, kw_only=True):
    """One run on one machine."""

    threads: Count
    operations: Count
    work_cycles: Figure
    lines: list[Cost]

    def __post_init__(self) -> None:
        lines = [figure for line in self.lines for figure in (line.hitm, line.cycles)]
        if any(0 < figure < 1 / _LARGEST for figure in (self.work_cycles, *lines)):
            raise ValueError(f"a figure is neither 0 nor from {1 / _LARGEST:g} to {_LARGEST:g}")

    def to_data(self) -> dict[str, Any]:
        """Return the run as it is saved in JSON, with the names of each line in order."""
        data: dict[str, Any] = to_builtins(self, order="deterministic")
        return data


class Runs(Saved, kw_only=True):
    """All runs on one machine."""

    name: str
    machine_sha256: str
    runs: Annotated[list[Run], Meta(min_length=1)]


class Gated(Saved, kw_only=True):
    """The part of a recording that a gate compares."""

    recorder: str
    partial: bool
    program: Program
    variants: Annotated[list[Runs], Meta(min_length=1)]

    @property
    def failed(self) -> bool:
        """Whether the program failed or was stopped."""
        return self.program.failed or self.partial
