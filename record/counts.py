# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Merges several recordings of one program into one report."""

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from common.errors import UserError
from model.results.c2c import Recorded

_COUNT = "{}"


def by_counts(
    program: Sequence[str],
    counts: Sequence[int],
    record: Callable[[tuple[str, ...]], Recorded],
) -> Recorded:
    """Record a program per number of threads; return the last report with the findings of all.

    ``record`` returns the report of a command. A run that fails ends the series.
    """
    if not any(_COUNT in word for word in program[1:]):
        raise UserError(
            f"--threads: no argument of the program contains {_COUNT}, "
            "which stands for the number of threads"
        )
    reports: list[Recorded] = []
    for count in counts:
        words = (word.replace(_COUNT, str(count)) for word in program[1:])
        report = record((program[0], *words))
        threads = f"{count} threads" if count > 1 else "1 thread"
        for variant in report.variants:
            variant.machine, variant.threads = variant.name, count
            variant.name += f", {threads}"
        for each in report.advice:
            named = each.machines.items()
            each.machines = {f"{name}, {threads}": gain for name, gain in named}
        reports.append(report)
        if report.program.stopped is not None:
            report.program.stopped = f"with {threads}: {report.program.stopped}"
        if report.program.failed:
            break
    advice = [each for report in reports for each in report.advice]
    advice.sort(key=lambda each: -max(gain.fewer for gain in each.machines.values()))
    return replace(
        reports[-1],
        experiment=" ".join((Path(program[0]).name, *program[1:])),
        variants=[variant for report in reports for variant in report.variants],
        advice=advice,
        # A run that failed was repeated without intervals, but earlier runs have some.
        uncertainty=reports[0].uncertainty,
        seeds=reports[0].seeds,
        notes=list(dict.fromkeys(chain.from_iterable(report.notes for report in reports))),
    )


def with_more_runs(report: Recorded, count: int, again: Callable[[], Recorded]) -> Recorded:
    """Return the report with the figures of ``count`` runs; a run that fails ends the series.

    ``report`` is that of the first run, and ``again`` returns that of another run.
    """
    for _ in range(1, count):
        if report.program.status:
            break
        one = again()
        for variant, more in zip(report.variants, one.variants, strict=True):
            variant.runs += more.runs
        report.program = one.program
        report.partial = report.partial or one.partial
    return report
