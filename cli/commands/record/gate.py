# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the options of a gate, for record --baseline and for record diff."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.commands.options import Verb, gathered, path_option, target_option, with_options
from common.errors import UserError
from common.output import check_writable, to_json, write_atomic

if TYPE_CHECKING:
    from model.results.c2c import Recorded
    from record.gate.gate import Gate

# A gate runs the program this often in the emulator, because runs interleave threads differently.
RUNS = 5
_LIMIT = {"emulator": "5%", "guest": "5%", "exact": "0%"}
_VERDICT = (
    click.option(
        "--fail-above",
        metavar="PERCENT",
        help="End with status 4 if a cache line is new, or if its HITM per operation or its share "
        "of cycles grows by more than this [5%; --exact: 0%].",
    ),
    target_option("--sarif", help="Write the verdict as SARIF 2.1.0."),
    target_option("--junit", help="Write the verdict as a JUnit report."),
    click.option(
        "--annotate", is_flag=True, help="Print the verdict as annotations of GitHub Actions."
    ),
)
_BASELINE = (
    path_option("--baseline", help="Judge the recording against this saved report (a gate)."),
    click.option(
        "--update-baseline", is_flag=True, help="Save the report as the baseline; do not judge it."
    ),
)


@dataclass(frozen=True)
class VerdictOptions:
    """The limit of a verdict, and where it is written."""

    fail_above: str | None
    sarif: Path | None
    junit: Path | None
    annotate: bool

    def first(self) -> str | None:
        """Return the first given option, or None."""
        given = {
            "--fail-above": self.fail_above,
            "--sarif": self.sarif,
            "--junit": self.junit,
            "--annotate": self.annotate,
        }
        return next((name for name, value in given.items() if value not in (None, False)), None)

    def gate(self, baseline: Path, recorder: str | None) -> Gate:
        """Read the baseline, of any recorder if ``recorder`` is None, and return the gate."""
        from record.gate.baseline import check_recorder, load_side
        from record.gate.gate import Gate, limit_of

        side = load_side(baseline)
        usual = _LIMIT.get(side.recorder, "5%")
        limit = limit_of(self.fail_above if self.fail_above is not None else usual)
        if recorder is not None:
            check_recorder(side, recorder)
        return Gate(side, limit, self.sarif, self.junit, self.annotate)


@dataclass(frozen=True)
class GateOptions:
    """A gate that the options of a recording ask for."""

    baseline: Path | None
    update_baseline: bool
    verdict: VerdictOptions

    @property
    def runs(self) -> int:
        """Return how often the emulator runs the program if --runs is not given."""
        return RUNS if self.baseline is not None else 1

    def gate(self, recorder: str, out: Path | None) -> Gate | None:
        """Read the baseline, before the long work, and return the gate; None without a verdict."""
        of_verdict = self.verdict.first()
        if self.baseline is None:
            missing = of_verdict or ("--update-baseline" if self.update_baseline else None)
            if missing is not None:
                raise UserError(f"{missing} needs a baseline: add --baseline FILE, a saved report")
            return None
        if out is not None and out.resolve() == self.baseline.resolve():
            raise UserError("--out names the baseline: use --update-baseline instead to replace it")
        if self.update_baseline:
            if of_verdict is not None:
                raise UserError(f"{of_verdict}: --update-baseline judges nothing; leave one out")
            check_writable(self.baseline)
            return None
        if not self.baseline.exists():
            raise UserError(f"no baseline {self.baseline}: --update-baseline makes it")
        return self.verdict.gate(self.baseline, recorder)

    def update(self, report: Recorded) -> None:
        """Save the report of a successful program as the baseline, with --update-baseline."""
        if self.update_baseline and self.baseline is not None:
            write_atomic(self.baseline, to_json(report))
            click.echo(f"saved the baseline {self.baseline}", err=True)


def verdict_options(verb: Verb) -> Verb:
    """Add the options for a verdict; the command gets them as ``verdict``."""
    return with_options(gathered(VerdictOptions, "verdict")(verb), _VERDICT)


def gate_options(verb: Verb) -> Verb:
    """Add the options for a baseline and a verdict; the command gets them as ``gate``."""
    return with_options(verdict_options(gathered(GateOptions, "gate")(verb)), _BASELINE)
