# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the options for what a report of lines contains, and for its output files."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from cli.commands.options import (
    JSON,
    OUT,
    Verb,
    deliver,
    gathered,
    many_option,
    number_option,
    target_option,
    with_options,
)
from common.output import to_json, write_atomic

if TYPE_CHECKING:
    from model.results.c2c import Recorded

MACHINES = many_option(
    "--machine",
    "machines",
    metavar="M",
    help="Predict for this machine file: preset name or path; repeatable.",
    required=True,
)
_REPORT = (
    number_option("--lines", default=10, help="Show the N cache lines that cost most."),
    click.option(
        "--advice/--no-advice",
        "advise",
        default=True,
        help="Predict the gain if each falsely shared object had a separate cache line.",
    ),
    number_option(
        "--uncertainty",
        low=0,
        help="Replay with N samples of the machine's uncertain numbers, for 90% intervals; 0: none "
        "[20, or none if more than 100,000 accesses were recorded].",
    ),
    target_option("--html", help="Also write an HTML page."),
    JSON,
    OUT,
)


@dataclass(frozen=True)
class Outputs:
    """Where a report goes."""

    as_json: bool
    out: Path | None
    html: Path | None

    def _save(self, report: Recorded) -> None:
        if self.html is not None:
            from report.report import render

            write_atomic(self.html, render([report]))

    def give(self, report: Recorded) -> None:
        """Write the files, and print the report."""
        from record.report.view import record_view

        self._save(report)
        deliver(report, self.as_json, self.out, record_view(report))

    def give_to_stderr(self, report: Recorded) -> None:
        """Print the report to standard error, because the program owns standard output."""
        from record.report.view import record_view

        self._save(report)
        if self.out is not None:
            write_atomic(self.out, to_json(report))
        text = io.StringIO()
        wide = sys.stderr.isatty()
        Console(file=text, width=None if wide else 160, highlight=False).print(record_view(report))
        sys.stderr.write("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))
        for path in (self.out, self.html):
            if path is not None:
                print(f"saved {path}", file=sys.stderr)


def report_options(verb: Verb) -> Verb:
    """Add the options of a report; the command gets the last ones as ``outputs``."""
    return with_options(gathered(Outputs, "outputs")(verb), _REPORT)


def check_uncertainty(count: int | None) -> None:
    """Raise a UserError for too few samples."""
    from model.run.uncertain.uncertainty import check_samples

    if count:
        check_samples(count)
