# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The steady part of a run: found without marks, and reported alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, Report, needs, quiet, run

PROGRAM = PROGRAMS / "record-phases"
pytestmark = needs(PROGRAM)
# Turns of five instructions: two million of them, 4,000 additions in the same, and half of it.
PHASES = ("400000", "1000", "200000")
OPTIONS = ("--machine", MACHINE, "--json", "--uncertainty", "0")


def reported(*arguments: str) -> Report:
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    report: Report = json.loads(done.stdout)
    return report


def test_the_threads_part_is_found_and_reported_alone(tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"

    def make() -> Report:
        program = ("--", str(PROGRAM), *PHASES)
        return reported("record", *OPTIONS, "--trace", str(trace), *program)

    whole = quiet(make, lambda report: report["steady"] is not None)
    part = whole["steady"]
    assert not part["only"]
    # Before it are the loader's instructions and the first loop, behind it the last one.
    assert 0.3 < part["begin"] / part["instructions"] < 0.55
    assert 0.7 < part["end"] / part["instructions"] < 0.95
    assert part["share"] > 1.5 * part["share_of_run"]
    alone = reported("replay", str(trace), *OPTIONS, "--steady")
    assert alone["steady"] == {**part, "only": True}
    before, after = whole["variants"][0], alone["variants"][0]
    executed = after["model"]["instructions"]
    assert executed == pytest.approx(part["end"] - part["begin"], rel=0.05)
    hottest = after["lines"][0]
    assert hottest["object"] == before["lines"][0]["object"] == "counter"
    assert hottest["cycle_share"] > 1.5 * before["lines"][0]["cycle_share"]
    # Nearly all additions are in it.
    assert 0.75 * before["lines"][0]["records"] < hottest["records"] < before["lines"][0]["records"]


def test_the_report_says_where(tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    for _ in range(6):
        done = run(
            "record", "--machine", MACHINE, "--uncertainty", "0", "--trace", str(trace),
            "--", str(PROGRAM), *PHASES,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if "steady from" in done.stderr:
            break
    assert "--steady reports that part" in done.stderr.splitlines()[1]
    done = run("replay", str(trace), "--machine", MACHINE, "--uncertainty", "0", "--steady")
    assert done.stdout.splitlines()[1].startswith("of the steady part alone, ")


def test_refusals(tmp_path: Path) -> None:
    for options, said in (
        (("--marks",), "--marks is the program's own window: leave --steady out"),
        (("--exact",), "--steady: a program runs exactly without; leave it out"),
    ):
        done = run("record", "--machine", MACHINE, *options, "--steady", "--", str(PROGRAM))
        assert (done.returncode, done.stderr) == (2, f"schedshard: {said}\n")
    # One phase: the whole run is steady, or nothing is shared.
    done = run("record", *OPTIONS, "--steady", "--", str(PROGRAM), "300000", "0", "0")
    assert done.returncode == 1
    assert "the run has no steady part of its own" in done.stderr
    assert len(done.stderr.splitlines()) == 1
