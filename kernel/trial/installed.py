# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs the workloads on the booted system, whatever its kernel is: kernel trial --installed."""

import os
import platform
from collections.abc import Sequence

from common.errors import UserError
from common.paths import VERSION
from kernel.build.deb import RELEASE
from kernel.guest.programs import build_guest
from kernel.layout import Layout
from kernel.trial import facts
from kernel.trial.log import Log, seconds_of
from kernel.trial.running import Tell, run_turn
from kernel.trial.workloads import WORKLOADS, chosen
from trial.form import Trial
from trial.host import Machine, allowed_cpus
from trial.measuring import EndError, Watch, interruptible


def run_here(
    layout: Layout, minutes: int, turns: int, wanted: Sequence[str], tell: Tell
) -> tuple[Trial, str]:
    """Run the workloads in turns. Return the trial, and why it ended early if it did."""
    if os.geteuid() != 0:
        raise UserError("--installed starts real-time threads, which only root may: use sudo")
    machine = Machine()
    host = machine.host(allowed_cpus())
    names = chosen(host.cpus, wanted)
    folders = sorted({str(path.parent) for path in build_guest(layout).values()})
    os.environ["PATH"] = os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])
    for name in [*names]:
        if program := WORKLOADS[name].missing(host.cpus):
            tell(f"left out: {name}, because {program} is not here")
            names.remove(name)
    kernel = facts.read_kernel("schedshard" if platform.release().endswith(RELEASE) else "host")
    log, watch, ended, why = Log(""), Watch(machine, busy=False), "", ""
    try:
        with interruptible():
            watch.look(1.0)
            log.boot(kernel, watch.load, machine.battery())
            seconds = seconds_of(minutes, turns, len(names))
            for turn in range(turns):
                run_turn(log, turn, names, host.cpus, seconds, watch, tell, watch.look)
    except EndError as error:
        ended, why = error.end, str(error)
    if not log.lines:
        raise UserError(f"{ended}: {why}; nothing is measured", status=1)
    return log.trial(VERSION, host, [kernel.name] * turns, ended), why
