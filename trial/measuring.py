# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs a plan: programs that measure, in turns, on a machine that must stay idle and cool."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from types import FrameType

from common.errors import UserError, os_reason
from trial.form import MOST_LOAD, Costs, Figure
from trial.host import Machine
from trial.plan import RUNS, TOOLS, Found, Plan, Step, costs_of
from trial.workloads import environment

_PAUSE = 0.5  # seconds of looking whether the machine is idle, between two steps
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
    runs: list[Found] = field(default_factory=list)
    load: float = 0.0
    ended: str = ""
    why: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Return each figure with its values of all complete runs."""
        made: dict[object, Figure] = {}
        for run in self.runs:
            for each in run:
                old = made.get(each.key)
                made[each.key] = replace(each, runs=(*(old.runs if old else ()), *each.runs))
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
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise EndError("interrupted", f"{signal.Signals(number).name} ended it")

    old = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def run_step(step: Step, folder: Path) -> str:
    """Run a step's program and return its output. It and its children end with this program."""
    argv = list(step.argv)
    if step.tool:
        argv[0] = str(folder / argv[0])
    with tempfile.TemporaryFile() as out:
        try:
            child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env=environment(), cwd=folder, start_new_session=True,
            )  # fmt: skip
        except PermissionError as error:
            raise UserError(
                f"no program can run in {folder.parent}: set TMPDIR to a folder in which one can"
            ) from error
        except OSError as error:
            raise EndError("failed", f"{step.argv[0]}: {os_reason(error)}") from error
        try:
            status = child.wait(step.limit)
        except subprocess.TimeoutExpired:
            raise EndError("out of time", f"{step.title} did not end") from None
        finally:
            _end(child)
        out.seek(0)
        text = out.read(_MOST_OUTPUT).decode("utf-8", "replace")
    if status != 0:
        last = (text.strip().splitlines() or ["it said nothing"])[-1]
        raise EndError("failed", f"{step.title}: status {status}: {last[:200]}")
    return text


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a program, and what it started in its session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


class Watch:
    """Ends a trial when the machine is busy or hot. With ``busy`` a busy machine is measured."""

    def __init__(self, machine: Machine, busy: bool) -> None:
        self._machine, self._busy = machine, busy
        self._throttled = machine.throttled()
        self.load = 0.0

    def look(self, seconds: float = _PAUSE) -> None:
        """Watch the machine for some seconds, while the trial runs nothing."""
        load = self._machine.load(seconds)
        self.load = max(self.load, load)
        if load > MOST_LOAD and not self._busy:
            raise EndError(
                "not idle",
                f"other programs use {load:.0%} of the CPUs, {MOST_LOAD:.0%} are allowed",
            )
        hot = self._machine.hot()
        if self._machine.throttled() > self._throttled:
            hot = "the processor slowed itself down"
        if hot:
            raise EndError("too hot", hot)


def measure(
    plan: Plan, folder: Path, watch: Watch, tell: Callable[[str], None], found: Measured
) -> None:
    """Run a plan, and add what was measured to ``found``, also when it ends early."""
    try:
        tell(plan.once.title)
        found.costs = costs_of(run_step(plan.once, folder))
        watch.look()
        for number in range(1, RUNS + 1):
            run: Found = []
            for step in plan.each:
                tell(f"run {number} of {RUNS}: {step.title}")
                try:
                    run += step.read(run_step(step, folder))
                except EndError as ended:
                    if step.tool or ended.end == "interrupted":
                        raise
                    tell(f"left out: {ended}")
                watch.look()
            found.runs.append(run)
    except EndError as ended:
        found.ended, found.why = ended.end, str(ended)
    found.load = watch.load
