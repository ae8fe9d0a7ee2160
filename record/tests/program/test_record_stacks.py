# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --stacks shows the program's calls that led to a line, whichever way they took."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from recording import MACHINE, PROGRAMS, Report, needs, run
from ways import WAYS, ways

from saved_results import damaged

pytestmark = needs(PROGRAMS / "record-ways")

# The emulator also recognises the stacks of signals and fibers.
ALL = {**WAYS, "handled": {("on_signal",)}, "inside": {("in_fiber",)}}
_ENDS = {"start_thread", "clone", "clone3", "__clone", "__clone3"}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the trace that the fixture `report` writes."""
    return tmp_path_factory.mktemp("stacks") / "ways.trace"


@pytest.fixture(scope="module")
def report(trace: Path) -> Report:
    done = run(
        "record", "--machine", MACHINE, "--stacks", "--json", "--lines", "50", "--no-advice",
        "--uncertainty", "0", "--cpus", "4", "--trace", str(trace), "--",
        str(PROGRAMS / "record-ways"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result: Report = json.loads(done.stdout)
    return result


def own_ways(report: Report, name: str) -> set[tuple[str, ...]]:
    """Return the ways to a counter without the functions that start a thread."""
    return {tuple(f for f in way if f not in _ENDS) for way in ways(report, name)}


@pytest.mark.parametrize("name", ALL)
def test_the_calls_are_the_programs(report: Report, name: str) -> None:
    assert own_ways(report, name) == ALL[name]


def test_a_replay_knows_the_calls_too(trace: Path, report: Report) -> None:
    done = run("replay", str(trace), "--machine", "xeon-8358-2s", "--json", "--lines", "50")
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    assert {name: own_ways(again, name) for name in ALL} == ALL


def test_more_ways_than_are_told_apart_are_counted(report: Report) -> None:
    (line,) = [line for line in report["variants"][0]["lines"] if line["object"] == "many"]
    assert line["locked"] == 2 * 2048
    assert any("1,024 call paths" in note for note in report["notes"])


@pytest.mark.parametrize("name", ALL)
def test_costs_of_the_ways_are_those_of_the_access(report: Report, name: str) -> None:
    (line,) = [line for line in report["variants"][0]["lines"] if line["object"] == name]
    # Only accesses of add() have ways, because no call leads to the first function of a thread.
    (access,) = [access for access in line["accesses"] if access["symbol"] == "add"]
    ways_hitm = sum(caller["hitm"] for caller in access["callers"])
    assert ways_hitm == access["hitm_remote"] + access["hitm_local"]


def test_a_report_of_an_earlier_version_is_shown(report: Report, tmp_path: Path) -> None:
    old = json.loads(json.dumps(report))
    for line in old["variants"][0]["lines"]:
        for access in line["accesses"]:
            del access["callers"]
    saved = tmp_path / "old.json"
    saved.write_text(json.dumps(old))
    done = run("show", str(saved))
    assert done.returncode == 0, done.stderr
    assert "Contended lines on" in done.stdout


def replayed(
    trace: Path, folder: Path, place: tuple[str, ...], value: Any
) -> subprocess.CompletedProcess[str]:
    """Replay a copy of the trace whose file of names has another value at a place."""
    copy = folder / "copy.trace"
    copy.write_bytes(trace.read_bytes())
    names = json.loads(Path(f"{trace}.names.json").read_text())
    Path(f"{copy}.names.json").write_text(json.dumps(damaged(names, place, value)))
    return run("replay", str(copy), "--machine", MACHINE)


SITES = (None, 5, ["abc"], [[1, 2]], [["x", 1, 2]], [[1, 2, None]], {"a": 1})
DAMAGES: list[tuple[tuple[str, ...], Any, str]] = [
    *((("meta", "sites"), value, "the names of the trace are damaged: ") for value in SITES),
    (("meta", "images"), 5, "copy.trace.names.json is damaged: "),
    (("meta", "pages"), [[1]], "copy.trace.names.json is damaged: "),
    (("meta", "processes"), [{}], "copy.trace.names.json is damaged: "),
    (("stepping",), {"instructions": 1}, "'accesses_reported' is missing - at `$.stepping`"),
    (("operations",), -1, "Expected `int` >= 0 - at `$.operations`"),
    (("cpus",), "four", "Expected `int`, got `str` - at `$.cpus`"),
]


@pytest.mark.parametrize(("place", "value", "words"), DAMAGES)
def test_damaged_names_are_refused(
    trace: Path, report: Report, tmp_path: Path, place: tuple[str, ...], value: Any, words: str
) -> None:
    done = replayed(trace, tmp_path, place, value)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert words in done.stderr


def test_a_call_that_leads_to_itself_is_refused(
    trace: Path, report: Report, tmp_path: Path
) -> None:
    sites = json.loads(Path(f"{trace}.names.json").read_text())["meta"]["sites"]
    rounds = [[site, pc, site] for site, pc, _ in sites]
    done = replayed(trace, tmp_path, ("meta", "sites"), rounds)
    assert done.returncode == 2
    assert "a call led to itself" in done.stderr
