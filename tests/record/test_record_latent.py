# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""False sharing that sleeps: found where an object may begin elsewhere, or lines come in pairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, needs, run

PROGRAM = PROGRAMS / "record-latent"
pytestmark = needs(PROGRAM)


_OPTIONS = ("--machine", MACHINE, "--json", "--uncertainty", "0")


def found(verb: str, *arguments: str) -> list[tuple[str, int]]:
    """Of each sentence: the object's place, and the size of the lines."""
    done = run(verb, *_OPTIONS, *arguments)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert all(each["more"] > 0.02 for each in report["latent"])
    return [(each["object"].partition(" (")[0], each["line_bytes"]) for each in report["latent"]]


def test_an_object_that_luck_aligns(tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    known = found("record", "--trace", str(trace), "--", str(PROGRAM), "moves")
    assert ("heap: by_luck", 64) in known
    assert found("replay", str(trace)) == known


@pytest.mark.parametrize("how", ["pairs", "fixed"])
def test_an_aligned_object_in_pairs_of_lines(how: str) -> None:
    name = {"pairs": "heap: aligned", "fixed": "fixed"}[how]
    assert found("record", "--", str(PROGRAM), how) == [(name, 128)]


def test_what_is_well_apart_is_not_found() -> None:
    assert found("record", "--", str(PROGRAM), "apart") == []


def test_the_report_says_so() -> None:
    done = run("record", "--machine", MACHINE, "--uncertainty", "0", "--", str(PROGRAM), "moves")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("latent")]
    assert any(line.startswith("latent false sharing: heap: by_luck (") for line in said)


def test_without_advice_nothing_is_looked_for() -> None:
    assert found("record", "--no-advice", "--", str(PROGRAM), "pairs") == []
