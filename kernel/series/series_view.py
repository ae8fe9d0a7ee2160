# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Prints the results of the series' checks."""

from collections.abc import Iterable, Sequence

import click

from common.errors import UserError
from kernel.build.make import Made
from kernel.series.checkpatch import Judged
from kernel.series.series import Lines


def print_lines(lines: Sequence[Lines]) -> None:
    """Print the lines of each patch, and of each part of the series, without KUnit suites."""
    click.echo("  added  removed  without KUnit suites")
    for line in lines:
        mark = ", for tests" if line.step.test else ""
        click.echo(f"{line.added:7d}  {line.removed:7d}  {line.step.name}{mark}")
    counted = [line for line in lines if not line.step.test]
    parts = list(dict.fromkeys(line.step.part for line in counted))
    for part in parts:
        of_part = [line for line in counted if line.step.part == part]
        added, removed = (sum(getattr(line, k) for line in of_part) for k in ("added", "removed"))
        click.echo(f"{added:7d}  {removed:7d}  {f'part {part}' if part else 'all'}")


def print_judged(judged: Judged) -> None:
    """List the findings of checkpatch. Raise a UserError if some have no reason."""
    for finding, entry in judged.explained:
        click.echo(f"explained: {finding} [{entry.reason}]")
    for finding in judged.faults:
        click.echo(f"to fix: {finding}")
    if judged.faults:
        raise UserError(
            f"checkpatch --strict finds {len(judged.faults)} things that kernel/checkpatch.toml "
            "does not explain",
            status=1,
        )
    if judged.unused:
        entry = judged.unused[0]
        raise UserError(
            f"kernel/checkpatch.toml explains {entry.type} in {entry.file}, which checkpatch "
            "does not find any more: remove the entry"
        )
    click.echo(f"checkpatch --strict: {len(judged.explained)} findings, all explained")


def print_steps(results: Iterable[tuple[str, Made]]) -> None:
    """Print one line per step, as soon as the step is compiled."""
    for name, made in results:
        click.echo(f"{name}: builds, {made.seconds:.0f} s, {made.files} files made")
