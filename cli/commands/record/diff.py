# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command record diff."""

from __future__ import annotations

from pathlib import Path

import click

from cli.commands.options import JSON, deliver
from cli.commands.record.gate import VerdictOptions, verdict_options


@click.command("diff")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@verdict_options
@JSON
def diff_command(a: Path, b: Path, verdict: VerdictOptions, as_json: bool) -> None:
    """Compare two recordings of a program, before and after a change.

    A and B are files that 'record --out FILE' saved. Lines are matched by object and field.
    With --fail-above A is a baseline, and the exit status is 4 if B costs more.
    """
    from record.gate.baseline import load_recorded
    from record.gate.diff import diff_files, diff_view

    closing = verdict.gate(a, None) if verdict.first() else None
    judged = closing.judge(lambda: load_recorded(b), str(b)) if closing is not None else None
    data = diff_files(a, b)
    deliver(data.to_data(), as_json, None, diff_view(data))
    if closing is not None and judged is not None and (status := closing.closes(judged)):
        raise click.exceptions.Exit(status)
