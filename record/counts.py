# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Merges several recordings of one program into one report."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError

_COUNT = "{}"


def by_counts(
    program: Sequence[str],
    counts: Sequence[int],
    record: Callable[[tuple[str, ...]], dict[str, Any]],
) -> dict[str, Any]:
    """Record a program per number of threads; return the last report with the findings of all.

    ``record`` returns the report of a command. A run that fails ends the series.
    """
    if not any(_COUNT in word for word in program[1:]):
        raise UserError(
            f"--threads: no argument of the program contains {_COUNT}, "
            "which stands for the number of threads"
        )
    reports = []
    for count in counts:
        words = (word.replace(_COUNT, str(count)) for word in program[1:])
        report = record((program[0], *words))
        threads = f"{count} threads" if count > 1 else "1 thread"
        for variant in report["variants"]:
            variant["machine"] = variant["name"]
            variant["name"] += f", {threads}"
            variant["threads"] = count
        for each in report["advice"]:
            named = each["machines"].items()
            each["machines"] = {f"{name}, {threads}": gain for name, gain in named}
        reports.append(report)
        if "stopped" in report["program"]:
            report["program"]["stopped"] = f"with {threads}: {report['program']['stopped']}"
        if report["program"]["status"] or "stopped" in report["program"]:
            break
    advice = [each for report in reports for each in report["advice"]]
    advice.sort(key=lambda each: -max(gain["fewer"] for gain in each["machines"].values()))
    return {
        **reports[-1],
        "experiment": " ".join((Path(program[0]).name, *program[1:])),
        "variants": [variant for report in reports for variant in report["variants"]],
        "advice": advice,
        # A run that failed was repeated without intervals, but earlier runs have some.
        **{name: reports[0][name] for name in ("uncertainty", "seeds")},
        "notes": list(dict.fromkeys(note for report in reports for note in report["notes"])),
    }


def with_more_runs(
    report: dict[str, Any], count: int, again: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Return the report with the figures of ``count`` runs; a run that fails ends the series.

    ``report`` is that of the first run, and ``again`` returns that of another run.
    """
    for _ in range(1, count):
        if report["program"]["status"]:
            break
        one = again()
        for variant, more in zip(report["variants"], one["variants"], strict=True):
            variant["runs"] += more["runs"]
        report["program"] = one["program"]
        report["partial"] = report["partial"] or one["partial"]
    return report
