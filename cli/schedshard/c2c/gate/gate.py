# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The gate itself: a report comes in, a verdict and an exit status go out."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedshard.c2c.gate.annotate import annotation_of_failure, commands
from schedshard.c2c.gate.baseline import Side, side_of
from schedshard.c2c.gate.judge import Judged, judge
from schedshard.c2c.gate.junit import junit, junit_of_failure
from schedshard.c2c.gate.sarif import sarif
from schedshard.c2c.gate.words import verdict
from schedshard.common.errors import UserError
from schedshard.common.output import to_json, write_atomic

# The program's own status is what the command ends with otherwise.
CLOSED = 4
_LIMIT = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)%?", re.ASCII)


def limit_of(text: str) -> float:
    """The part that '5%' or '5' means."""
    found = _LIMIT.fullmatch(text.strip())
    if found is None:
        raise UserError(f"--fail-above {text}: not a percentage, such as 5%")
    return float(found[1]) / 100


@dataclass(frozen=True)
class Gate:
    """What to compare with, and where the verdict goes."""

    baseline: Side
    limit: float
    sarif: Path | None
    junit: Path | None
    annotate: bool

    def judge(self, report: Mapping[str, Any], name: str) -> Judged:
        """The verdict on a program that ended well. UserError: the two do not compare."""
        try:
            return judge(self.baseline, side_of(report, name), self.limit)
        except UserError as error:
            self._write(sarif(None, 2), junit_of_failure(name, str(error)))
            raise

    def closes(self, judged: Judged) -> int:
        """Give the verdict. Return: the exit status."""
        status = CLOSED if judged.failed else 0
        self._write(sarif(judged, status), junit(judged))
        if self.annotate:
            self._say(*commands(judged))
        self._say(verdict(judged))
        return status

    def not_judged(self, report: Mapping[str, Any]) -> None:
        """The program failed: its status is the command's, and old verdicts do not stay."""
        program = report["program"]
        status = int(program["status"]) or 1
        how = program.get("stopped", f"the program ended with status {status}")
        said = f"gate: not judged: {how}"
        why = f"{how}: nothing was judged"
        self._write(sarif(None, status), junit_of_failure(str(report["experiment"]), why))
        if self.annotate:
            self._say(annotation_of_failure(said))
        self._say(said)

    def _write(self, in_sarif: Mapping[str, Any], in_xml: str) -> None:
        if self.sarif is not None:
            write_atomic(self.sarif, to_json(in_sarif))
        if self.junit is not None:
            write_atomic(self.junit, in_xml)

    def _say(self, *lines: str) -> None:
        """Standard output is the program's."""
        sys.stderr.write("".join(f"{line}\n" for line in lines))
