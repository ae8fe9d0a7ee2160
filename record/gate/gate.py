# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Turns a report into the gate's verdict and exit status."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.output import to_json, write_atomic
from common.safe import trusted
from model.results.c2c import Recorded
from record.gate.annotate import annotation_of_failure, commands
from record.gate.baseline import Side, side_of
from record.gate.judge import Judged, judge
from record.gate.junit import junit, junit_of_failure
from record.gate.sarif import sarif
from record.gate.words import verdict

# The exit status of a closed gate. Otherwise the command ends with the program's status.
CLOSED = 4
_LIMIT = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)%?", re.ASCII)


def limit_of(text: str) -> float:
    """Return the fraction that a text such as '5%' or '5' means."""
    match = _LIMIT.fullmatch(text.strip())
    if match is None:
        raise UserError(f"--fail-above {text}: not a percentage, such as 5%")
    return float(match[1]) / 100


@dataclass(frozen=True)
class Gate:
    """The baseline, the limit of growth, and the outputs of the verdict."""

    baseline: Side
    limit: float
    sarif: Path | None
    junit: Path | None
    annotate: bool

    def judge(self, load: Callable[[], Recorded], name: str) -> Judged:
        """Return the verdict on a program that ended well.

        ``load`` returns its report. Raise a UserError if report and baseline cannot be compared,
        and write it to the outputs.
        """
        try:
            return judge(self.baseline, side_of(load(), name), self.limit)
        except UserError as error:
            self._write(sarif(None, 2), junit_of_failure(name, str(error)))
            raise

    def closes(self, judged: Judged) -> int:
        """Output the verdict, and return the exit status."""
        status = CLOSED if judged.failed else 0
        self._write(sarif(judged, status), junit(judged))
        if self.annotate:
            self._annotate(*commands(judged))
        self._say(verdict(judged))
        return status

    def not_judged(self, report: Recorded) -> None:
        """Replace old verdicts by the message that the program failed and was not judged."""
        status = report.program.status or 1
        how = report.program.stopped or f"the program ended with status {status}"
        message = f"gate: not judged: {how}"
        why = f"{how}: nothing was judged"
        self._write(sarif(None, status), junit_of_failure(report.experiment, why))
        if self.annotate:
            self._annotate(annotation_of_failure(message))
        self._say(message)

    def _write(self, in_sarif: Mapping[str, Any], in_xml: str) -> None:
        if self.sarif is not None:
            write_atomic(self.sarif, to_json(in_sarif))
        if self.junit is not None:
            write_atomic(self.junit, in_xml)

    def _annotate(self, *lines: str) -> None:
        """Print commands of GitHub's runner."""
        trusted(sys.stderr).write("".join(f"{line}\n" for line in lines))

    def _say(self, line: str) -> None:
        """Print to stderr, because the program owns standard output."""
        print(line, file=sys.stderr)
