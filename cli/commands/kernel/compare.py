# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the options of `kernel c2c` that compare two kernels by a program, and compares them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from cli.commands.options import Verb, deliver, gathered, number_option, with_options
from cli.commands.record.gate import VerdictOptions, verdict_options
from common.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from kernel.layout import Layout

_OPTIONS = (
    click.option("--base", metavar="V", help="The built variant before a change; needs --change."),
    click.option(
        "--change",
        metavar="V",
        help="The built variant after the change, which gets the verdict; needs --base.",
    ),
    click.option(
        "--compare", metavar="V1,V2", help="Compare two built variants, without a verdict."
    ),
    number_option("--runs", high=100, help="To compare kernels, boot each N times [1]."),
    click.option("--marks", is_flag=True, help="Compare kernels only between the program's marks."),
)


@dataclass(frozen=True)
class CompareOptions:
    """Two kernels to compare, and the verdict."""

    base: str | None
    change: str | None
    compare: str | None
    runs: int | None
    marks: bool
    verdict: VerdictOptions

    @property
    def asked(self) -> bool:
        """Return whether the command line asks for a comparison, or for a part of one."""
        names = (self.base, self.change, self.compare, self.runs, self.marks or None)
        return any(name is not None for name in names) or self.verdict.first() is not None

    def sides(self) -> tuple[str, str]:
        """Return the two variants. Raise a UserError for too few, or for too many."""
        if self.compare is not None:
            names = self.compare.split(",")
            if self.base or self.change or self.verdict.first():
                raise UserError("--compare judges nothing: for a verdict give --base and --change")
            if len(names) != 2 or not all(names):
                raise UserError(f"--compare {self.compare}: not two variants, such as stock,shard")
            return names[0], names[1]
        if self.base is None or self.change is None:
            raise UserError("a comparison of kernels needs --base V and --change V, or --compare")
        return self.base, self.change


def compare_options(verb: Verb) -> Verb:
    """Add the options of a comparison; the command gets them as ``comparing``."""
    return with_options(verdict_options(gathered(CompareOptions, "comparing")(verb)), _OPTIONS)


def run_comparison(
    asked: CompareOptions,
    layout: Layout,
    config: str,
    machine: str,
    cpus: int,
    slow: int,
    options: dict[str, Any],
    as_json: bool,
    out: Path | None,
) -> None:
    """Run the program on both kernels, say what changed, and exit with the gate's status."""
    from kernel.profile.c2c import built_kernels
    from kernel.profile.compare import compared, report_on, saved, words_of
    from kernel.profile.program import GuestRequest
    from model.machines.presets import load_machine, machine_topology
    from model.run.whole import whole_sentence
    from record.gate.baseline import side_of
    from record.gate.gate import Gate, limit_of
    from record.gate.judge import judge
    from record.watch import shape_for

    names = asked.sides()
    limit = limit_of(asked.verdict.fail_above or "5%")
    if limit >= 1:
        raise UserError("--fail-above must be below 100%: no program can lose more operations")
    program = words_of(options["workload"])
    loaded = load_machine(machine)
    shape = shape_for(machine_topology(loaded), loaded.name, cpus)
    reports = {}
    for kernel in built_kernels(layout, tuple(dict.fromkeys(names)), config):
        guest = GuestRequest(layout, kernel, shape, (), options["parameters"], slow)
        reports[kernel.name] = report_on(
            guest, machine, program, asked.runs or 1, marks=asked.marks
        )
    before, after = (side_of(reports[name], name) for name in names)
    judged = judge(before, after, limit)
    change = compared(before, after, judged)
    deliver(saved(change, reports), as_json, out, change.sentence())
    print("validation:", whole_sentence("guest"), file=sys.stderr)
    if asked.compare is None:
        to = asked.verdict
        status = Gate(before, limit, to.sarif, to.junit, to.annotate).closes(change.closing(judged))
        if status:
            raise click.exceptions.Exit(status)
