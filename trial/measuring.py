# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs a plan's programs, which measure in turns, on a machine that must stay idle and cool."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from types import FrameType

from common.errors import UserError, os_reason
from trial.events import Events
from trial.form import MOST_LOAD, Costs, Figure
from trial.host import Machine
from trial.plan import PAUSE, RUNS, TOOLS, Figures, Plan, Step, costs_of
from trial.workloads import EVENTS, environment

_LOOK = 2.0  # seconds between two looks at the machine's heat, while a program runs
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_MOST_OUTPUT = 8 << 20


class EndError(Exception):
    """The trial ends early. ``end`` is one of form.ENDS; the message says why."""

    def __init__(self, end: str, why: str) -> None:
        super().__init__(why)
        self.end = end


@dataclass
class Measured:
    """What was measured so far. ``runs`` has the figures of each complete run."""

    costs: Costs | None = None
    runs: list[Figures] = field(default_factory=list)
    load: float = 0.0
    ended: str = ""
    why: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Return each figure with its values of all complete runs."""
        made: dict[object, Figure] = {}
        for run in self.runs:
            for figure in run:
                old = made.get(figure.key)
                made[figure.key] = replace(figure, runs=(*(old.runs if old else ()), *figure.runs))
        return tuple(made.values())


def tool_bytes(arch: str) -> dict[str, bytes]:
    """Return the programs that measure, for a machine's architecture, by name."""
    folder = files("trial") / "programs" / arch
    try:
        return {name: (folder / name).read_bytes() for name in TOOLS}
    except OSError as error:
        raise UserError(
            f"there are no programs for {arch} here: './make trial' makes schedshard-trial.pyz, "
            "which contains them"
        ) from error


def sums_of(tools: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 sums of programs."""
    return {name: hashlib.sha256(raw).hexdigest() for name, raw in tools.items()}


@contextmanager
def unpacked(tools: Mapping[str, bytes]) -> Iterator[Path]:
    """Write the programs into a folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="schedshard-trial-") as name:
        folder = Path(name)
        for tool, raw in tools.items():
            path = folder / tool
            path.write_bytes(raw)
            path.chmod(0o700)
        yield folder


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn signals that end a program into EndError, so that what is complete is kept."""

    def end(number: int, _: FrameType | None) -> None:
        # A second signal must not disturb what the first one ends.
        for later in _SIGNALS:
            signal.signal(later, signal.SIG_IGN)
        raise EndError("interrupted", f"{signal.Signals(number).name} ended it")

    old = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def run_step(step: Step, folder: Path, watch: Watch) -> str:
    """Run a step's program; return its output. The step and its children end with this program."""
    argv = list(step.argv)
    if not step.workload:
        argv[0] = str(folder / argv[0])
    with tempfile.TemporaryFile() as out:
        try:
            child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env=environment(), cwd=folder, start_new_session=True,
            )  # fmt: skip
        except PermissionError as error:
            raise UserError(
                f"no program can run in {folder.parent}: set TMPDIR to another folder"
            ) from error
        except OSError as error:
            raise EndError("failed", f"{step.argv[0]}: {os_reason(error)}") from error
        until = time.monotonic() + step.limit
        try:
            while (status := _waited(child)) is None:
                watch.stay_cool()
                if time.monotonic() > until:
                    raise EndError("out of time", f"{step.title} did not end")
        finally:
            _end(child)
        out.seek(0)
        text = out.read(_MOST_OUTPUT).decode("utf-8", "replace")
    if status != 0:
        last = (text.strip().splitlines() or ["it said nothing"])[-1]
        raise EndError("failed", f"{step.title}: status {status}: {last[:200]}")
    return text


def _waited(child: subprocess.Popen[bytes]) -> int | None:
    """Wait a little for a program; return its status if it ended."""
    try:
        return child.wait(_LOOK)
    except subprocess.TimeoutExpired:
        return None


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a program, and what it started in its session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


class Watch:
    """Ends a trial when the machine is hot or, without ``busy``, when other programs use it."""

    def __init__(self, machine: Machine, busy: bool) -> None:
        self.machine, self._busy = machine, busy
        self._throttled = machine.throttled()
        self.load = 0.0

    def heat(self) -> str:
        """Return a sentence if the machine is, or has been since the last look, too hot, or ""."""
        before, self._throttled = self._throttled, self.machine.throttled()
        if self._throttled > before:
            return "the processor slowed itself down"
        return self.machine.hot()

    def stay_cool(self) -> None:
        """End the trial if the machine is too hot."""
        if hot := self.heat():
            raise EndError("too hot", hot)

    def look(self, seconds: float = PAUSE) -> None:
        """Watch the machine for some seconds, while the trial runs nothing."""
        load = self.machine.load(seconds)
        self.load = max(self.load, load)
        if load > MOST_LOAD and not self._busy:
            raise EndError(
                "not idle",
                f"other programs use {load:.0%} of the CPUs, at most {MOST_LOAD:.0%} are allowed",
            )
        self.stay_cool()


def counted(step: Step, folder: Path, watch: Watch, events: Events) -> Figures:
    """Run a step. A workload also gets what kernel and processor count, mostly per second."""
    before, start, elapsed, output = watch.machine.counts(), time.monotonic(), 0.0, ""
    events_before = events.counts()
    while not elapsed or (step.again and elapsed < step.seconds):
        output += run_step(step, folder, watch)
        elapsed = time.monotonic() - start
    made = step.read(output, elapsed)
    if not step.workload:
        return made
    counts = {name: count - before[name] for name, count in watch.machine.counts().items()}
    counts |= {name: count - events_before[name] for name, count in events.counts().items()}
    program, system = counts.pop("program"), counts.pop("system")
    parts = {name: (EVENTS, max(0.0, count / elapsed)) for name, count in counts.items()}
    if program + system > 0:
        parts["kernel-share"] = ("percent", 100 * system / (program + system))
    return made + [
        Figure(step.workload, "host", unit, (value,), part=part)
        for part, (unit, value) in parts.items()
    ]


def measure(
    plan: Plan, folder: Path, watch: Watch, tell: Callable[[str], None], measured: Measured
) -> None:
    """Run a plan, and add what was measured to ``measured``, also when it ends early."""
    events = Events(plan.counted)
    if plan.counted and events.why:
        tell(f"reads of other caches' lines are not counted: {events.why}")
    try:
        tell(plan.once.title)
        measured.costs = costs_of(run_step(plan.once, folder, watch))
        watch.look()
        for number in range(1, RUNS + 1):
            run: Figures = []
            for step in plan.steps:
                tell(f"run {number} of {RUNS}: {step.title}")
                try:
                    run += counted(step, folder, watch, events)
                except EndError as ended:
                    if not step.workload or ended.end not in ("failed", "out of time"):
                        raise
                    tell(f"left out: {ended}")
                watch.look()
            measured.runs.append(run)
    except EndError as ended:
        measured.ended, measured.why = ended.end, str(ended)
    events.close()
    measured.load = watch.load
