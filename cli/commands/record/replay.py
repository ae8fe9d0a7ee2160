# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command record replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cli.commands.options import deliver
from cli.commands.record.outputs import MACHINES, Outputs, check_uncertainty, report_options
from common.errors import UserError
from common.output import read_json
from common.paths import typed


@click.command("replay")
@click.argument("trace", type=click.Path(path_type=Path))
@MACHINES
@report_options
def replay_command(trace: Path, machines: tuple[str, ...], outputs: Outputs, **shown: Any) -> None:
    """Replay TRACE, a recorded program or kernel, on other machines.

    TRACE was saved by 'record --trace TRACE' for a program, or by 'kernel c2c --trace TRACE'
    for a kernel.
    """
    from model.machines.presets import load_machine
    from model.results.read import checked
    from record.report.replaying import Trace
    from record.report.report import LIMITS, NAMES, Recorded, Wanted, make_report
    from record.trace import names_path

    check_uncertainty(shown["uncertainty"])
    if not trace.is_file():
        raise UserError(f"no trace {trace}: '{typed('record --trace FILE -- PROGRAM')}' makes one")
    data = read_json(names_path(trace), "names of a trace")
    if isinstance(data, dict) and data.get("format") != NAMES:
        _replay_kernel(trace, machines, shown["lines"], outputs)
        return
    if not isinstance(data, dict):
        raise UserError(f"{names_path(trace)} has no names of a trace: record again")
    recorded = checked(data, str(names_path(trace)), Recorded.of)
    loaded = tuple(load_machine(name) for name in machines)
    try:
        report = make_report(recorded, Trace(trace, LIMITS), loaded, Wanted(**shown))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise UserError(f"{names_path(trace)} is damaged: {error!r}") from error
    outputs.give(report)


def _replay_kernel(trace: Path, machines: tuple[str, ...], lines: int, outputs: Outputs) -> None:
    """Replay a trace that 'kernel c2c --trace' saved."""
    from kernel.profile.replay import ReplayRequest, replay
    from kernel.profile.replay_view import replay_view
    from model.machines.presets import load_machine

    loaded = tuple(load_machine(machine) for machine in machines)
    report = replay(ReplayRequest(trace, loaded, lines))
    deliver(report, outputs.as_json, outputs.out, replay_view(report))
