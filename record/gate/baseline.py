# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads and checks the reports on both sides of a gate, and refuses those that cannot be compared.

A baseline is the report that 'record --out FILE' saves. It comes from a repository, so each value
is checked before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError
from common.formats import C2C
from common.output import read_json
from common.paths import typed
from model.results.c2c import Recorded, Run
from model.results.read import checked

# In the emulator the number of threads may vary, because a runtime may start threads of its own.
_THREADS_MAY_DIFFER = 0.1
AGAIN = "record it again, with --update-baseline"


@dataclass(frozen=True)
class Side:
    """One side of the comparison: all runs of a report, by machine."""

    name: str
    recorder: str
    placement: str
    compiler: str
    flags: str
    runs: Mapping[str, list[Run]]
    machine_files: Mapping[str, str]


def load_recorded(path: Path) -> Recorded:
    """Return a saved report of a program. Raise a UserError for anything else."""
    data = read_json(path, "result")
    if not isinstance(data, dict) or data.get("format") != C2C or "program" not in data:
        raise UserError(
            f"{path} is not a recorded program: '{typed('record --out FILE')}' makes one"
        )
    return checked(data, str(path), Recorded.of)


def side_of(report: Recorded, name: str) -> Side:
    """Return the runs of a report of a program that ended well."""
    if report.program.failed or report.partial:
        raise UserError(f"{name} was recorded from a program that failed or was stopped: {AGAIN}")
    return Side(
        name, report.recorder, report.program.placement, report.program.compiler,
        report.program.flags, {variant.name: variant.runs for variant in report.variants},
        {variant.name: variant.machine_sha256 for variant in report.variants},
    )  # fmt: skip


def load_side(path: Path) -> Side:
    """Return the runs of a saved report, checked."""
    return side_of(load_recorded(path), str(path))


def check_recorder(before: Side, recorder: str) -> None:
    """Raise a UserError for a baseline of another recorder."""
    if before.recorder != recorder:
        raise UserError(
            f"{before.name} was recorded with the {before.recorder} recorder, this report "
            f"with the {recorder} recorder: {AGAIN}"
        )


def check_same(before: Side, after: Side) -> None:
    """Raise a UserError unless recorder, compiler, flags, machines, placement and threads match."""
    check_recorder(before, after.recorder)
    if before.compiler and after.compiler and before.compiler != after.compiler:
        raise UserError(
            f"{before.name} was recorded from a program that '{before.compiler}' compiled, this "
            f"report from one that '{after.compiler}' compiled, so their costs differ: {AGAIN}"
        )
    if before.flags and after.flags and before.flags != after.flags:
        were, are = before.flags.split(), after.flags.split()
        raise UserError(
            f"{before.name} was recorded from a program with other flags of the compiler "
            f"({_without(were, are)}) than this report ({_without(are, were)}), so their costs "
            f"differ: {AGAIN}"
        )
    if before.placement != after.placement:
        raise UserError(
            f"{before.name} was recorded with --placement {before.placement}, this report with "
            f"{after.placement}: {AGAIN}"
        )
    for machine, runs in after.runs.items():
        if machine not in before.runs:
            known = ", ".join(before.runs)
            raise UserError(f"{before.name} is for {known}, this report for {machine}: {AGAIN}")
        if before.machine_files[machine] != after.machine_files[machine]:
            raise UserError(
                f"{before.name} was recorded with an earlier machine file of {machine}: {AGAIN}"
            )
        _check_threads(before, machine, runs)


def _without(words: list[str], others: list[str]) -> str:
    return " ".join(word for word in words if word not in others) or "none of its own"


def _check_threads(before: Side, machine: str, runs: list[Run]) -> None:
    were, are = max(r.threads for r in before.runs[machine]), max(r.threads for r in runs)
    most = _THREADS_MAY_DIFFER * were if before.recorder != "exact" else 0
    if abs(are - were) > most:
        raise UserError(f"{before.name} has {were} threads, this report {are}: {AGAIN}")
