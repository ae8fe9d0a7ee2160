# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Options of a gate: c2c record --baseline, and c2c diff."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedshard.commands.options import Verb, path_option, target_option, with_options
from schedshard.common.errors import UserError
from schedshard.common.output import check_writable, to_json, write_atomic

if TYPE_CHECKING:
    from schedshard.c2c.gate.gate import Gate

# Runs of the emulator with a gate: two of them never interleave alike.
RUNS = 5
_LIMIT = {"emulator": "5%", "guest": "5%", "exact": "0%"}
_VERDICT = (
    click.option(
        "--fail-above",
        metavar="PERCENT",
        help="End with status 4 if a line appears or grows by more, as 5% [5%, exactly: 0%].",
    ),
    target_option("--sarif", help="Write the verdict as SARIF 2.1.0."),
    target_option("--junit", help="Write the verdict as a JUnit report."),
    click.option(
        "--annotate", is_flag=True, help="Print the verdict as annotations of GitHub Actions."
    ),
)
_BASELINE = (
    path_option("--baseline", help="Compare with this saved report: a gate."),
    click.option(
        "--update-baseline", is_flag=True, help="Save the report as the baseline, judge nothing."
    ),
)


def verdict_options(verb: Verb) -> Verb:
    """Where a verdict goes, and what is too much."""
    return with_options(verb, _VERDICT)


def gate_options(verb: Verb) -> Verb:
    """The same, and what to compare with."""
    return with_options(verb, (*_BASELINE, *_VERDICT))


@dataclass(frozen=True)
class Asked:
    """A gate that the options of a recording ask for."""

    baseline: Path | None
    update_baseline: bool
    fail_above: str | None
    sarif: Path | None
    junit: Path | None
    annotate: bool

    @property
    def runs(self) -> int:
        """How often the emulator runs the program without --runs."""
        return RUNS if self.baseline is not None else 1

    def _verdict_option(self) -> str | None:
        """The first option that needs a verdict."""
        given = {
            "--fail-above": self.fail_above,
            "--sarif": self.sarif,
            "--junit": self.junit,
            "--annotate": self.annotate,
        }
        return next((name for name, value in given.items() if value), None)

    def gate(self, recorder: str, out: Path | None) -> Gate | None:
        """Read the baseline before the long work; None: nothing is judged."""
        of_verdict = self._verdict_option()
        if self.baseline is None:
            missing = of_verdict or ("--update-baseline" if self.update_baseline else None)
            if missing is not None:
                raise UserError(f"{missing} is of a gate: add --baseline FILE")
            return None
        if out is not None and out.resolve() == self.baseline.resolve():
            raise UserError("--out is the baseline: --update-baseline replaces it, leave --out out")
        if self.update_baseline:
            if of_verdict is not None:
                raise UserError(f"{of_verdict}: --update-baseline judges nothing; leave one out")
            check_writable(self.baseline)
            return None
        if not self.baseline.exists():
            raise UserError(f"no baseline {self.baseline}: --update-baseline makes it")
        return gate(self.baseline, recorder, self.fail_above, self.sarif, self.junit, self.annotate)

    def update(self, report: dict[str, Any]) -> None:
        """Save the report of a program that ended well as the baseline."""
        if self.update_baseline and self.baseline is not None:
            write_atomic(self.baseline, to_json(report))
            click.echo(f"saved the baseline {self.baseline}", err=True)


def gate(
    baseline: Path,
    recorder: str | None,
    fail_above: str | None,
    sarif: Path | None,
    junit: Path | None,
    annotate: bool,
) -> Gate:
    """A gate with its baseline read; ``recorder``: None for the baseline's own."""
    from schedshard.c2c.gate.baseline import check_recorder, load_side
    from schedshard.c2c.gate.gate import Gate, limit_of

    side = load_side(baseline)
    limit = limit_of(fail_above if fail_above is not None else _LIMIT.get(side.recorder, "5%"))
    if recorder is not None:
        check_recorder(side, recorder)
    return Gate(side, limit, sarif, junit, annotate)
