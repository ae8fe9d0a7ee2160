# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compares two kernels by a program that runs on both, and gives the effect on its operations.

The program runs in a guest on each kernel, as `record --guest` runs it. The effect is the change of
the program's operations per second, from the cycles of work and of waiting per operation. Only the
effect can fail the gate, because many kernel lines cost a different amount in each boot.
"""

import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.show.format import percent
from kernel.profile.program import GuestRequest
from model.results.c2c import Recorded as Report
from model.results.c2c import Run
from model.run.whole import whole_sentence
from record.gate.baseline import Side
from record.gate.judge import APPEARED, GREW, UNSURE, Judged, Row, growth
from record.gate.words import limit_words, name_of
from record.program.window import Window
from record.record import RecordRequest, record


@dataclass(frozen=True)
class Compared:
    """The change of operations per second, with the interval of the runs if there are several."""

    change: float
    low: float
    high: float
    sure: bool
    counted: bool  # whether the program marked its operations
    row: Row | None  # the object whose share of all cycles changed most
    names: tuple[str, str]

    @property
    def effect(self) -> str:
        """Return the change and its interval in words."""
        top = "or more" if self.high == float("inf") else f"to {self.high:+.0%}"
        ends = f" ({self.low:+.0%} {top})" if self.sure else ""
        what = "operations per second" if self.counted else "runs per second"
        return f"{self.change:+.0%}{ends} of {what}"

    def closing(self, judged: Judged) -> Judged:
        """Return the verdict of the gate: whether operations are rarer by more than the limit."""
        slower = (self.high if self.sure else self.change) < -judged.limit
        rows = tuple(
            row if slower or row.verdict not in (APPEARED, GREW) else replace(row, verdict=UNSURE)
            for row in judged.rows
        )
        sentence = f"predicted {self.effect} (limit: -{limit_words(judged)})"
        return replace(judged, rows=rows, whole=sentence, slower=slower)

    def sentence(self) -> str:
        """Return the effect in words."""
        line = ""
        if self.row is not None:
            share = self.row.share
            line = (
                f"; the line is {name_of(self.row)}: {percent(share.before)} to "
                f"{percent(share.after)} of all cycles"
            )
        sides = f"{self.names[1]} against {self.names[0]}"
        return f"{sides}: predicted {self.effect}{line}"


def words_of(workload: str) -> tuple[str, ...]:
    """Return the words of a workload that is a program, as a shell divides them."""
    try:
        words = tuple(shlex.split(workload))
    except ValueError as error:
        raise UserError(f"--workload {workload!r}: {error}") from None
    if not words or "/" not in words[0]:
        raise UserError(
            f"--workload {workload!r}: a comparison of two kernels runs a program: give its "
            "path, such as ./program"
        )
    return words


def report_on(
    guest: GuestRequest, machine: str, program: tuple[str, ...], runs: int, *, marks: bool
) -> Report:
    """Return the report on a program in a guest. Raise a UserError if the program fails."""
    request = RecordRequest(
        program=program, machines=(machine,), placement="os", cpus=guest.cpus,
        window=Window(0.0, None, marks), follow=False, lines=10, advise=False,
        output_to_stderr=True, uncertainty=0, guest=guest, runs=runs,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        made = record(request, Path(folder) / "trace", Path(folder), keep=False)
    status = made.program.status
    if status:
        raise UserError(f"on {guest.name} {program[0]} ended with status {status}", status=1)
    return made


def _each(runs: list[Run], counted: bool) -> list[float]:
    return [run.work_cycles / (run.operations if counted else 1) for run in runs]


def compared(before: Side, after: Side, judged: Judged) -> Compared:
    """Return the effect of the change from one side to the other, on their first machine."""
    machine = next(iter(after.runs))
    sides = before.runs[machine], after.runs[machine]
    counted = all(run.operations for side in sides for run in side)
    cost = growth(_each(sides[0], counted), _each(sides[1], counted))
    if cost.before <= 0 or cost.after <= 0:
        raise UserError("nothing was recorded: the window of the program has no cycles", status=1)
    rows = sorted(judged.rows, key=lambda row: -abs(row.share.after - row.share.before))
    return Compared(
        1 / (1 + cost.relative) - 1,
        1 / (1 + cost.high) - 1 if cost.high > -1 else 0.0,
        1 / (1 + cost.low) - 1 if cost.low > -1 else float("inf"),
        cost.sure,
        counted,
        rows[0] if rows else None,
        (before.name, after.name),
    )


def saved(comparison: Compared, reports: Mapping[str, Report]) -> dict[str, Any]:
    """Return what is saved as JSON: the effect, and the report on each kernel."""
    return {
        "format": "schedshard/kernel-compare/1",
        "change": comparison.change,
        "low": comparison.low if comparison.sure else None,
        "high": comparison.high if comparison.sure and isfinite(comparison.high) else None,
        "said": comparison.sentence(),
        "validation": whole_sentence("guest"),
        "reports": {name: report.to_data() for name, report in reports.items()},
    }
