# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads and checks the reports on both sides of a gate, and refuses those that do not compare.

A baseline is the report that 'c2c record --out FILE' saves. It comes from a repository, so each
value is checked before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedshard.c2c.report.steady import is_steady
from schedshard.common.errors import UserError
from schedshard.common.formats import C2C
from schedshard.common.paths import typed
from schedshard.results.read import load_data

# In the emulator the number of threads may vary, because a runtime may start some itself.
_THREADS_MAY_DIFFER = 0.1
# More cycles than in a year, but small enough to be squared.
_LARGEST = 1e17
AGAIN = "record it again, with --update-baseline"


@dataclass(frozen=True)
class Place:
    """A line of the source."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Cost:
    """A cache line in one run: its names, its cost, and the source line that accesses it."""

    object: str
    names: frozenset[str]
    hitm: float
    cycles: float
    place: Place | None


@dataclass(frozen=True)
class Run:
    """One run on one machine."""

    threads: int
    operations: int
    work_cycles: float
    lines: tuple[Cost, ...]


@dataclass(frozen=True)
class Side:
    """One side of the comparison: all runs of a report, by machine."""

    name: str
    recorder: str
    placement: str
    runs: Mapping[str, tuple[Run, ...]]
    machine_files: Mapping[str, str]
    steady: bool  # only the steady parts of the runs


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{value!r} where a number should be"[:80])
    found = float(value)
    if not 0 <= found <= _LARGEST or 0 < found < 1 / _LARGEST:
        raise ValueError(f"{value!r} where a number from 0 to {_LARGEST:g} should be"[:120])
    return found


def _place(data: Any) -> Place | None:
    if data is None:
        return None
    return Place(str(data["file"]), int(_number(data["line"])), str(data["function"]))


def _run(data: Mapping[str, Any]) -> Run:
    lines = tuple(
        Cost(
            str(line["object"]), frozenset(map(str, line["names"])), _number(line["hitm"]),
            _number(line["cycles"]), _place(line["place"]),
        )
        for line in data["lines"]
    )  # fmt: skip
    return Run(
        int(_number(data["threads"])), int(_number(data["operations"])),
        _number(data["work_cycles"]), lines,
    )  # fmt: skip


def side_of(report: Mapping[str, Any], name: str) -> Side:
    """Return the runs of a report, checked."""
    if "program" not in report:
        raise UserError(
            f"{name} is not a recorded program: '{typed('c2c record --out FILE')}' makes one"
        )
    if "recorder" not in report:
        raise UserError(f"{name} is of an earlier version: {AGAIN}")
    try:
        program = report["program"]
        if program["status"] or "stopped" in program or report["partial"]:
            raise UserError(f"{name} is of a program that failed or was stopped: {AGAIN}")
        found = Side(
            name,
            str(report["recorder"]),
            str(report["program"]["placement"]),
            {
                str(each["name"]): tuple(_run(run) for run in each["runs"])
                for each in report["variants"]
            },
            {str(each["name"]): str(each["machine_sha256"]) for each in report["variants"]},
            is_steady(report),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UserError(f"{name} is damaged: it lacks {error}") from error
    if not found.runs or not all(found.runs.values()):
        raise UserError(f"{name} is damaged: it has no runs")
    return found


def load_side(path: Path) -> Side:
    """Return the runs of a saved report, checked."""
    return side_of(load_data(path, C2C), str(path))


def check_recorder(before: Side, recorder: str) -> None:
    """Raise a UserError for a baseline of another recorder."""
    if before.recorder != recorder:
        raise UserError(
            f"{before.name} is of the {before.recorder} recorder, this is the {recorder} one: "
            f"{AGAIN}"
        )


def check_same(before: Side, after: Side) -> None:
    """Raise a UserError unless recorder, machines, placement and number of threads match."""
    check_recorder(before, after.recorder)
    if before.placement != after.placement:
        raise UserError(
            f"{before.name} was recorded with --placement {before.placement}, this is "
            f"{after.placement}: {AGAIN}"
        )
    if before.steady != after.steady:
        was, now = ("with", "without") if before.steady else ("without", "with")
        raise UserError(f"{before.name} was recorded {was} --steady, this is {now}: {AGAIN}")
    for machine, runs in after.runs.items():
        if machine not in before.runs:
            known = ", ".join(before.runs)
            raise UserError(f"{before.name} is of {known}, this is {machine}: {AGAIN}")
        if before.machine_files[machine] != after.machine_files[machine]:
            raise UserError(f"{before.name} is of an earlier file of {machine}: {AGAIN}")
        _check_threads(before, machine, runs)


def _check_threads(before: Side, machine: str, runs: tuple[Run, ...]) -> None:
    were, are = max(r.threads for r in before.runs[machine]), max(r.threads for r in runs)
    most = _THREADS_MAY_DIFFER * were if before.recorder != "exact" else 0
    if abs(are - were) > most:
        raise UserError(f"{before.name} is of {were} threads, this is {are}: {AGAIN}")
