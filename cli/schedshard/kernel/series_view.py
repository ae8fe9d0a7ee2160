# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What the checks of the series print."""

from __future__ import annotations

from collections.abc import Iterable

import click

from schedshard.errors import UserError
from schedshard.kernel.checkpatch import Judged
from schedshard.kernel.make import Made


def print_judged(judged: Judged) -> None:
    """List the findings of checkpatch; those without a reason are an error."""
    for finding, entry in judged.explained:
        click.echo(f"explained: {finding} [{entry.reason}]")
    for finding in judged.faults:
        click.echo(f"to mend: {finding}")
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
    """One line a step, as soon as it is compiled."""
    for name, made in results:
        click.echo(f"{name}: builds, {made.seconds:.0f} s, {made.files} files made")
