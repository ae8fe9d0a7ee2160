# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Calls record, and finds figures in its reports."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calling import call_apart
from common.paths import build_dir

PROGRAMS = build_dir() / "record" / "tests" / "program"
MACHINE = "epyc-7763-2s"
BUSY = 2  # waits that timed out

Report = dict[str, Any]


def needs(path: Path) -> pytest.MarkDecorator:
    """Skip a test that needs a program which this host cannot run or this build does not have."""
    return pytest.mark.skipif(
        platform.machine() != "x86_64" or shutil.which("qemu-x86_64") is None or not path.is_file(),
        reason="needs qemu-user and a build of x86-64",
    )


recorded = needs(build_dir() / "record" / "program" / "libschedshard-record.so")


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `schedshard record`, or a verb below it, with the options of call_apart()."""
    words = arguments if arguments[0] == "record" else ("record", *arguments)
    return call_apart(*words, **options)


def built(folder: Path, command: str, source: str) -> Path:
    """Compile a program in a folder, with a command such as 'gcc -g p.c -o p'."""
    words = command.split()
    (name,) = (word for word in words if word.endswith((".c", ".cc", ".f90", ".go", ".rs")))
    (folder / name).write_text(source, encoding="utf-8")
    headers = {**os.environ, "CPATH": str(Path(__file__).parent)}
    subprocess.run(words, check=True, cwd=folder, env=headers)
    return folder / words[words.index("-o") + 1]


def compiled(folder: Path, name: str, text: str, *options: str) -> Path:
    """Compile a program in C with threads, or a library, in a folder."""
    return built(folder, f"gcc -O2 -g -pthread {name}.c -o {name} {' '.join(options)}", text)


def record(*arguments: str, machines: tuple[str, ...] = (MACHINE,)) -> Report:
    """Record a program, which must succeed, and return the report of its window."""
    named = [word for machine in machines for word in ("--machine", machine)]
    done = run("record", *named, "--marks", "--json", "--uncertainty", "0", *arguments)
    assert done.returncode == 0, done.stderr
    report: Report = json.loads(done.stdout)
    return report


def record_to(
    out: Path, program: Path, *words: str, options: tuple[str, ...] = ()
) -> tuple[str, Report]:
    """Record a program, which must succeed; return its output and the report of the whole run."""
    before = ("--machine", MACHINE, "--uncertainty", "0", "--out", str(out))
    done = run("record", *before, *options, "--", str(program), *words)
    assert done.returncode == 0, done.stderr
    report: Report = json.loads(out.read_text(encoding="utf-8"))
    return done.stdout, report


def quiet(make: Callable[[], Report], holds: Callable[[Report], bool]) -> Report:
    """Return the first of at most six reports for which ``holds`` is true.

    The host decides how threads alternate. On a busy host a wait can reach its limit of 20 ms, and
    threads then go on without each other. ``holds`` itself asserts what must be true of each run.
    """
    attempts = []
    for _ in range(6):
        report = make()
        if holds(report):
            return report
        objects = [(line["object"], hitm_of(line)) for line in report["variants"][0]["lines"][:4]]
        attempts.append((report["recording"]["timeouts"], objects))
    assert all(timeouts > BUSY for timeouts, _ in attempts), attempts
    pytest.skip(f"the host is too busy: waits and what was found {attempts}")


def hot_lines(program: Path, lines: int = 1, transfers: int = 1000) -> list[dict[str, Any]]:
    """Record a program until at least so many lines have so many transfers each; return these."""

    def hot(report: Report) -> list[dict[str, Any]]:
        return [line for line in report["variants"][0]["lines"] if hitm_of(line) >= transfers]

    def make() -> Report:
        return record_to(program.with_name("out.json"), program)[1]

    return hot(quiet(make, lambda report: len(hot(report)) >= lines))


def hitm_of(line: dict[str, Any]) -> int:
    return int(line["hitm_remote"]) + int(line["hitm_local"])


def hottest(report: Report) -> dict[str, Any]:
    """Return the first line of the first machine."""
    line: dict[str, Any] = report["variants"][0]["lines"][0]
    return line


def hitm(report: Report) -> int:
    """Return the number of transfers of modified lines."""
    return int(report["variants"][0]["hitm_total"])


def simulated(operation: str, threads: int, machine: str = MACHINE, *options: str) -> float:
    """Return the transfers of one operation in the experiment with primitives."""
    words = ("--machine", machine, "--op", operation, "--threads", str(threads), *options)
    done = call_apart("run", "primitives", *words, "--json")
    point = json.loads(done.stdout)["variants"][0]["points"][0]
    transfers = sum(hitm_of(line) for line in point["lines"])
    return transfers / float(point["metrics"]["ops"])
