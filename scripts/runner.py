# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run the stages of scripts/check.py one after the other, with logs and test counts.

A failed stage shows the end of its log, and the next stages still run, so that one run shows
everything that is wrong. A stage that leaves CPUs idle can have another stage beside it, which runs
at the lowest priority.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SHOWN_ON_FAILURE = 60
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
    tests = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    passed = sum(test["result"] in ("OK", "EXPECTEDFAIL") for test in tests)
    skipped = sum(test["result"] == "SKIP" for test in tests)
    good = ("OK", "EXPECTEDFAIL", "SKIP")
    bad = [test["name"] for test in tests if test["result"] not in good]
    return Count(passed, len(bad), skipped, bad)


def count_junit(report: Path) -> Count:
    """Count the results in a JUnit report as pytest writes it."""
    count = Count()
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        faults = [*case.findall("failure"), *case.findall("error")]
        for fault in faults:
            why = " ".join((fault.get("message") or "").split())[:300]
            count.bad.append(f"{case.get('classname')}::{case.get('name')}: {why}")
        count.failed += bool(faults)
        count.skipped += case.find("skipped") is not None
        count.passed += not faults and case.find("skipped") is None
    return count


@dataclass(frozen=True)
class Command:
    """One program to run: arguments, and environment variables on top of the inherited ones."""

    argv: Sequence[str]
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """A named list of commands. ``results`` pairs files of test results with functions to count."""

    name: str
    group: str
    commands: Sequence[Command]
    results: Sequence[tuple[Path, Callable[[Path], Count]]] = ()
    beside: Stage | None = None


def run_commands(stage: Stage, log_path: Path, nice: int) -> bool:
    """Run a stage's commands up to the first that fails, with their output in its log."""
    with log_path.open("w", encoding="utf-8") as log:
        for command in stage.commands:
            print("$", *command.argv, file=log, flush=True)
            argv = ["nice", "-n", str(nice), *command.argv] if nice else command.argv
            try:
                status = subprocess.run(
                    argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False,
                    env={**os.environ, **command.env},
                ).returncode  # fmt: skip
            except OSError as error:
                how = ": 'scripts/bootstrap demo check' installs it"
                ours = "/" in command.argv[0]  # of this checkout, and no package's
                text = f"{command.argv[0]}: {error.strerror}{'' if ours else how}"
                print(text, file=log, flush=True)
                status = 127
            if status:
                return False
    return True


def run_stage(stage: Stage, logs: Path, total: Count, nice: int = 0) -> bool:
    """Run one stage, add its test results to `total`, and return whether all of it succeeded."""
    print(f"[{stage.name}]", flush=True)
    started = time.monotonic()
    log_path = logs / f"{stage.name}.log"
    for path, _ in stage.results:
        # Otherwise a stage that stops early would be judged by the results of an earlier run.
        path.unlink(missing_ok=True)
    good = run_commands(stage, log_path, nice)
    count = Count()
    for path, counter in stage.results:
        if path.exists():
            count.add(counter(path))
    # A test stage in which no test passed is a failure.
    good = good and not count.failed and (not stage.results or count.passed > 0)
    total.add(count)
    lines = []
    if not good:
        output = COLOUR.sub("", log_path.read_text(encoding="utf-8", errors="replace"))
        lines += [f"    | {line[:200]}" for line in output.splitlines()[-SHOWN_ON_FAILURE:]]
    tests = f", {count}" if stage.results else ""
    verdict = "ok" if good else f"FAILED (whole log: {log_path})"
    lines.append(f"[{stage.name}] {time.monotonic() - started:.0f} s  {verdict}{tests}")
    print("\n".join(lines), flush=True)
    return good


def run_stages(stages: Sequence[Stage], logs: Path) -> int:
    """Run all stages, and print the test counts as the last line; return the exit status."""
    logs.mkdir(parents=True, exist_ok=True)
    total = Count()
    failed: list[str] = []

    def run(stage: Stage, nice: int = 0) -> None:
        good = False
        try:
            good = run_stage(stage, logs, total, nice)
        finally:
            if not good:
                failed.append(stage.name)

    started = time.monotonic()
    for stage in stages:
        other = threading.Thread(target=run, args=(stage.beside, 19)) if stage.beside else None
        if other is not None:
            other.start()
        run(stage)
        if other is not None:
            other.join()
    minutes, seconds = divmod(int(time.monotonic() - started), 60)
    print(f"{minutes} min {seconds} s")
    if failed:
        print(f"failed stages: {', '.join(failed)}")
    # Repeat them, for those who see only the end.
    for name in total.bad:
        print(f"failed: {name}")
    if total.passed or total.failed:
        print(total)
    return 1 if failed else 0
