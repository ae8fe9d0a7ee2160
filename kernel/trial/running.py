# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs workloads, and reads what kernel and processor counted."""

from collections.abc import Callable, Sequence
from pathlib import Path

from kernel.trial.log import Log
from kernel.trial.workloads import WORKLOADS
from trial.events import Events
from trial.form import Cpu
from trial.measuring import EndError, Watch, counted
from trial.plan import workload_step
from trial.workloads import Reading, Workload

Tell = Callable[[str], None]


def measure(workload: Workload, cpus: Sequence[Cpu], seconds: int, watch: Watch) -> list[Reading]:
    """Run a workload and return its readings. EndError says why there are none."""
    events = Events([cpu.cpu for cpu in cpus])
    try:
        made = counted(workload_step(workload, cpus, seconds), Path("/tmp"), watch, events)
    finally:
        events.close()
    return [(reading.part, reading.unit, reading.value) for reading in made]


def run_turn(
    log: Log, turn: int, names: Sequence[str], cpus: Sequence[Cpu], seconds: int, watch: Watch,
    tell: Tell, keep: Callable[[], object],
) -> None:  # fmt: skip
    """Run workloads, and keep each result at once."""
    if turn == 0:
        first = Events([cpus[0].cpu])
        first.close()
        if first.why:
            tell(f"reads of other caches' lines are not counted: {first.why}")
    for name in names:
        tell(f"turn {turn + 1}: {name}, {seconds} s")
        readings: list[Reading] = []
        try:
            readings = measure(WORKLOADS[name], cpus, seconds, watch)
            hot = watch.heat()
        except EndError as ended:
            if ended.end == "interrupted":
                raise
            hot = str(ended) if ended.end == "too hot" else ""
            tell(f"{name}: {ended}")
        if hot:
            tell(f"{name}: {hot}; the trial is marked")
        log.run(turn, name, readings, bool(hot))
        keep()
