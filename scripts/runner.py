# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run the stages of scripts/check.py one after the other, with progress, logs and test counts.

A stage is a list of commands. Its output goes to a log. The screen shows its name, a sign of life
while it works, its time and its result. A failed stage shows the end of its log, and the next
stages still run, so that one run shows everything that is wrong.

A stage that leaves CPUs idle can have another stage beside it, which runs at the lowest priority
and prints nothing until it has ended.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

HEARTBEAT_SECONDS = 20.0
SHOWN_ON_FAILURE = 60
SHOWN_OF_A_FAULT = 300
COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")


@dataclass
class Count:
    """Test results, summed over stages."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    bad: list[str] = field(default_factory=list)  # tests that failed, with the reason if known

    def add(self, other: Count) -> None:
        """Add the results of one more run."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.bad += other.bad

    def __str__(self) -> str:
        text = f"{self.passed} passed, {self.failed} failed"
        return f"{text}, {self.skipped} skipped" if self.skipped else text


def count_meson(log: Path) -> Count:
    """Count the results in a meson test log (one JSON object per line)."""
    count = Count()
    for line in log.read_text(encoding="utf-8").splitlines():
        test = json.loads(line)
        result = test["result"]
        if result in ("OK", "EXPECTEDFAIL"):
            count.passed += 1
        elif result == "SKIP":
            count.skipped += 1
        else:
            count.failed += 1
            count.bad.append(test["name"])
    return count


def count_junit(report: Path) -> Count:
    """Count the results in a JUnit report as pytest writes it."""
    count = Count()
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        total, failures, errors, skipped = (
            int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")
        )
        count.failed += failures + errors
        count.skipped += skipped
        count.passed += total - failures - errors - skipped
        for case in suite.iter("testcase"):
            for fault in (*case.findall("failure"), *case.findall("error")):
                why = " ".join((fault.get("message") or "").split())[:SHOWN_OF_A_FAULT]
                count.bad.append(f"{case.get('classname')}::{case.get('name')}: {why}")
    return count


@dataclass(frozen=True)
class Command:
    """One program to run: arguments, and environment variables on top of the inherited ones."""

    argv: Sequence[str]
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """A named list of commands; `results`: files of test results, and functions that count them.

    `inputs` returns a hash of all that decides the outcome. A stage that passed does not run again
    while the hash stays the same.
    """

    name: str
    group: str
    commands: Sequence[Command]
    results: Sequence[tuple[Path, Callable[[Path], Count]]] = ()
    beside: Stage | None = None
    inputs: Callable[[], str] | None = None


class Screen:
    """The user's view. On a terminal a sign of life overwrites the one before it."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.tty = out.isatty()

    def line(self, text: str) -> None:
        """Print a line that stays."""
        self.out.write(("\r\x1b[K" if self.tty else "") + text + "\n")
        self.out.flush()

    def alive(self, seconds: float, text: str) -> None:
        """Show that a stage still works, and its last line of output."""
        shown = f"        {seconds:4.0f} s  {text.strip()[:88]}"
        self.out.write(f"\r\x1b[K{shown}" if self.tty else shown + "\n")
        self.out.flush()


def run_command(command: Command, log: TextIO, screen: Screen, started: float) -> int:
    """Run one command with its output in the log; return its exit status."""
    log.write("$ " + " ".join(command.argv) + "\n")
    log.flush()
    try:
        process = subprocess.Popen(
            command.argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **command.env},
            text=True,
            errors="replace",
        )
    except OSError as error:
        log.write(f"{command.argv[0]}: {error.strerror}\n")
        return 127
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    last, shown = "", time.monotonic()
    period = 0.2 if screen.tty else HEARTBEAT_SECONDS
    while True:
        try:
            line = lines.get(timeout=period)
        except queue.Empty:
            line = ""
        if line is None:
            return process.wait()
        line = COLOUR.sub("", line)
        log.write(line)
        last = line if line.strip() else last
        if time.monotonic() - shown >= period:
            shown = time.monotonic()
            screen.alive(shown - started, last)


def run_stage(stage: Stage, position: str, logs: Path, screen: Screen, total: Count) -> bool:
    """Run one stage, add its test results to `total`, and return whether all of it succeeded."""
    screen.line(f"[{position}] {stage.name}")
    started = time.monotonic()
    log_path = logs / f"{stage.name}.log"
    passed = logs / f"{stage.name}.passed"
    key = stage.inputs() if stage.inputs else ""
    if key and passed.exists() and passed.read_text(encoding="ascii") == key:
        screen.line("               not run: what it reads is as it was when it passed")
        return True
    passed.unlink(missing_ok=True)
    for path, _ in stage.results:
        # A stage that stops early must not be judged by the results of an earlier run.
        path.unlink(missing_ok=True)
    good = True
    with log_path.open("w", encoding="utf-8") as log:
        for command in stage.commands:
            if run_command(command, log, screen, started) != 0:
                good = False
                break
    count = Count()
    for path, counter in stage.results:
        if path.exists():
            count.add(counter(path))
        else:
            good = False
    # A test stage in which no test passed is a failure.
    if (stage.results and count.passed == 0) or count.failed:
        good = False
    total.add(count)
    if not good:
        for line in log_path.read_text(encoding="utf-8").splitlines()[-SHOWN_ON_FAILURE:]:
            screen.line(f"    | {line[:200]}")
        for name in count.bad:
            screen.line(f"    failed: {name}")
    if good and key:
        passed.write_text(key, encoding="ascii")
    tests = f", {count}" if stage.results else ""
    verdict = "ok" if good else f"FAILED (whole log: {log_path})"
    screen.line(f"        {time.monotonic() - started:4.0f} s  {verdict}{tests}")
    return good


def politely(stage: Stage) -> Stage:
    """Return the stage with its commands at the lowest priority."""
    commands = [
        Command(["nice", "-n", "19", *command.argv], command.env) for command in stage.commands
    ]
    return replace(stage, commands=commands)


def run_stages(stages: Sequence[Stage], logs: Path) -> int:
    """Run all stages, and print the test counts as the last line; return the exit status."""
    logs.mkdir(parents=True, exist_ok=True)
    screen, total = Screen(sys.stdout), Count()
    started = time.monotonic()
    failed = []
    of = sum(2 if stage.beside else 1 for stage in stages)
    positions = (f"{number:2}/{of}" for number in itertools.count(1))

    def run(stage: Stage, position: str, out: Screen, results: Count) -> None:
        if not run_stage(stage, position, logs, out, results):
            failed.append(stage.name)

    for stage in stages:
        position = next(positions)
        if stage.beside is None:
            run(stage, position, screen, total)
            continue
        said, results = io.StringIO(), Count()
        with ThreadPoolExecutor(max_workers=1) as pool:
            arguments = (politely(stage.beside), next(positions), Screen(said), results)
            other = pool.submit(run, *arguments)
            run(stage, position, screen, total)
        other.result()  # raises what the other stage raised
        total.add(results)
        screen.out.write(said.getvalue())
        screen.out.flush()
    minutes, seconds = divmod(int(time.monotonic() - started), 60)
    screen.line(f"{of} stages in {minutes} min {seconds} s")
    if failed:
        screen.line(f"failed stages: {', '.join(failed)}")
    # Repeat them, for those who see only the end.
    for name in total.bad:
        screen.line(f"failed: {name}")
    if total.passed or total.failed:
        screen.line(str(total))
    return 1 if failed else 0
