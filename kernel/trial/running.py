# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs workloads, and reads what kernel and processor counted."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kernel.trial import facts
from kernel.trial.log import Log
from kernel.trial.workloads import RATE, WORKLOADS, Reading, Workload
from trial.events import Events
from trial.form import Cpu
from trial.measuring import EndError, Watch, run_step
from trial.plan import Step

# A workload is stuck after so many times its seconds.
_SLOWEST = 10
Tell = Callable[[str], None]


def _counts(events: Events) -> Mapping[str, float]:
    program, system = facts.cpu_times()
    return {
        "program": program, "system": system, "switches": facts.switches(),
        "call-interrupts": facts.call_interrupts(), **events.counts(),
    }  # fmt: skip


def measure(workload: Workload, cpus: Sequence[Cpu], seconds: int, watch: Watch) -> list[Reading]:
    """Run a workload and return its readings. EndError says why there are none."""
    events = Events(each.cpu for each in cpus)
    before, start, elapsed, output = _counts(events), time.monotonic(), 0.0, ""
    argv = tuple(workload.argv(cpus, seconds))
    step = Step(argv[0], argv, seconds * _SLOWEST, lambda _: [])
    try:
        while not elapsed or (workload.again and elapsed < seconds):
            output += run_step(step, Path("/tmp"), watch)
            elapsed = time.monotonic() - start
        counted = {name: count - before[name] for name, count in _counts(events).items()}
    finally:
        events.close()
    readings = list(workload.read(output, elapsed))
    program, system = counted.pop("program"), counted.pop("system")
    if program + system > 0:
        readings.append(("kernel-share", "percent", 100 * system / (program + system)))
    return readings + [(name, RATE, count / elapsed) for name, count in counted.items()]


def run_turn(
    log: Log, turn: int, names: Sequence[str], cpus: Sequence[Cpu], seconds: int, watch: Watch,
    tell: Tell, keep: Callable[[], object],
) -> None:  # fmt: skip
    """Run workloads, and keep each result at once."""
    if turn == 0 and (why := Events([cpus[0].cpu]).why):
        tell(f"reads of other caches' lines are not counted: {why}")
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
