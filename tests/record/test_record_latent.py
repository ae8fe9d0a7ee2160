# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Latent false sharing: it appears if an object begins elsewhere, or if lines come in pairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, Report, needs, quiet, run

PROGRAM = PROGRAMS / "record-latent"
pytestmark = needs(PROGRAM)


_OPTIONS = ("--machine", MACHINE, "--json", "--uncertainty", "0")


def latent(report: Report) -> list[tuple[str, int]]:
    """Return the object and the size of lines of each sentence about latent false sharing."""
    assert all(each["more"] > 0.02 for each in report["latent"])
    return [(each["object"].partition(" (")[0], each["line_bytes"]) for each in report["latent"]]


def reported(verb: str, *arguments: str) -> Report:
    done = run(verb, *_OPTIONS, *arguments)
    assert done.returncode == 0, done.stderr
    report: Report = json.loads(done.stdout)
    return report


def recorded(how: str, *options: str) -> list[tuple[str, int]]:
    """Return the latent false sharing of the first run that has some."""

    def make() -> Report:
        return reported("record", *options, "--", str(PROGRAM), how)

    return latent(quiet(make, lambda report: bool(report["latent"])))


def test_an_object_that_luck_aligns(tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    known = recorded("moves", "--trace", str(trace))
    assert ("heap: by_luck", 64) in known
    assert latent(reported("replay", str(trace))) == known


@pytest.mark.parametrize("how", ["pairs", "fixed", "alone"])
def test_an_aligned_object_in_pairs_of_lines(how: str) -> None:
    name = "fixed" if how == "fixed" else "heap: aligned"
    assert recorded(how) == [(name, 128)]


def test_what_all_read_beside_what_one_writes() -> None:
    """Regression: the merged line was left out, having no more CPUs than the one that is read."""
    assert ("heap: cut", 64) in recorded("limits")


def test_what_is_well_apart_is_not_found() -> None:
    assert latent(reported("record", "--", str(PROGRAM), "apart")) == []


def test_the_report_says_so(tmp_path: Path) -> None:
    trace = tmp_path / "run.trace"
    recorded("moves", "--trace", str(trace))
    done = run("replay", str(trace), "--machine", MACHINE)
    said = [line for line in done.stdout.splitlines() if line.startswith("latent")]
    assert any(line.startswith("latent false sharing: heap: by_luck (") for line in said)


def test_without_advice_nothing_is_looked_for() -> None:
    assert latent(reported("record", "--no-advice", "--", str(PROGRAM), "pairs")) == []
