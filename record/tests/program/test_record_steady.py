# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The steady part of a run: found without marks, and reported alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, Report, needs, quiet, run

PROGRAM = PROGRAMS / "record-phases"
pytestmark = needs(PROGRAM)
# Two million instructions of one thread, as many with 4,000 additions, then one million again.
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
    # The loader's instructions and the first loop are before the part, the last loop is after it.
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
    # The part contains most additions.
    assert 0.75 * before["lines"][0]["records"] < hottest["records"] < before["lines"][0]["records"]


def test_the_report_says_where(tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"

    def make() -> Report:
        program = ("--", str(PROGRAM), *PHASES)
        return reported("record", *OPTIONS, "--trace", str(trace), *program)

    quiet(make, lambda report: report["steady"] is not None)
    shown = ("replay", str(trace), "--machine", MACHINE, "--uncertainty", "0")
    said = run(*shown).stdout.splitlines()[1]
    assert said.startswith("steady from ")
    assert said.endswith("--steady reports that part")
    said = run(*shown, "--steady").stdout.splitlines()[1]
    assert said.startswith("of the steady part alone, ")


def test_a_run_without_such_a_part_is_reported_whole() -> None:
    report = reported("record", *OPTIONS, "--steady", "--", str(PROGRAM), "300000", "0", "0")
    part = report["steady"]
    assert (part["begin"], part["end"], part["only"]) == (0, part["instructions"], True)
    assert report["variants"][0]["model"]["instructions"] == part["instructions"]


def test_a_program_that_runs_exactly_has_no_trace() -> None:
    done = run("record", "--machine", MACHINE, "--exact", "--steady", "--", str(PROGRAM))
    said = "--steady cannot be used with --exact; leave it out"
    assert (done.returncode, done.stderr) == (2, f"schedshard: {said}\n")
