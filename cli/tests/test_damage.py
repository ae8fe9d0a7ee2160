# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A damaged saved result, whatever its kind and the damage, causes at most one line of error."""

from __future__ import annotations

import itertools
import json
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from common.output import to_json
from common.paths import ROOT
from conftest import Cli, assert_user_error
from saved_results import GONE, damaged
from test_gate import cost, report, run

PAGES = ROOT / "report/tests/data"
TRACE = ROOT / "record/tests/plugin/data/stock-16cpu.trace"
SMALL = ("--cpus", "16", "--variant", "global", "--variant", "llc")
# By kind of file: the command that makes one, and the commands that read it.
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bars": (
        ("run", "cpumask-yield", *SMALL, "--uncertainty", "20"),
        ("report", "compare", "record show"),
    ),
    "published": (("run", "cpumask-yield"), ("report",)),
    "curve": (
        ("run", "atomic-inc", "--threads", "1,2", "--uncertainty", "20"),
        ("report", "compare", "record show"),
    ),
    "pairs": (("run", "ping-pong", "--op", "cas"), ("report", "compare", "record show")),
    "figures": (("run", "figures", "--uncertainty", "20"), ("report", "compare", "record show")),
    "live": (("bench", "ping-pong", "--op", "cas"), ("report", "compare")),
}
SAVED = {
    "record": ("report", "record show", "record diff"),
    "gate": ("record diff", "record diff --fail-above 5%"),
    "kernel": ("report", "record show"),
    "validate": ("report", "machine validate"),
}
OTHERS: tuple[Any, ...] = (
    GONE, None, "x", "\ud800", "x\n\x1b[1m", [], {}, [{}], -1, 1e300, 10**400, True,
)  # fmt: skip
# Of a longer list only the ends are damaged.
_ENDS = 2
# Damages of each kind.
TRIED = 150


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place of a value; in a list only those of the first and the last item."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, member in value.items():
            yield from places(member, (*path, key))
    elif isinstance(value, list):
        kept = range(len(value)) if len(value) <= _ENDS else (0, len(value) - 1)
        for index in kept:
            yield from places(value[index], (*path, index))


def calls(reader: str, path: Path) -> tuple[str | Path, ...]:
    """The arguments of a command that reads a file."""
    if reader == "report":
        return "report", path, "--out", path.with_name("page.html")
    if reader == "replay":
        trace = path.with_name(path.name.removesuffix(".names.json"))
        return "record", "replay", trace, "--machine", "epyc-7763-2s", "--lines", "2"
    return (
        *reader.split(),
        path,
        *([path] if reader.startswith(("compare", "record diff")) else ()),
    )


def assert_one_line(cli: Cli, reader: str, path: Path, what: object) -> None:
    """Success, or one line and status 2."""
    outcome = cli(*calls(reader, path))
    assert "\x1b" not in outcome.out + outcome.err, what
    if outcome.status in (0, 4, 5):  # validate: its predictions are off
        return
    lines = [line for line in outcome.err.splitlines() if line.startswith("schedshard:")]
    assert outcome.status == 2, (what, outcome.err)
    assert len(lines) == 1, (what, outcome.err)
    assert "internal error" not in lines[0], (what, outcome.err)


@pytest.mark.slow(reason="150 damages of each kind of file")
@pytest.mark.parametrize("kind", KINDS)
def test_a_damage_is_one_line(cli: Cli, figures: Path, tmp_path: Path, kind: str) -> None:
    make, readers = KINDS[kind]
    path = tmp_path / "result.json"
    assert cli(*make, "--out", path).status == 0
    assert_damages_are_one_line(cli, path, readers)


@pytest.mark.slow(reason="150 damages of each kind of file")
@pytest.mark.parametrize("kind", SAVED)
def test_a_damage_of_a_saved_file_is_one_line(cli: Cli, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"{kind}.json"
    if kind == "gate":
        runs = [run(cost("a", n, 50, "b"), cost("c", 3, 9)) for n in (100, 103)]
        path.write_text(to_json(report(*runs)))
    else:
        shutil.copy(PAGES / path.name, path)
    assert_damages_are_one_line(cli, path, SAVED[kind])


@pytest.mark.slow(reason="60 damages, of which some replay a trace")
def test_a_damage_of_a_traces_names_is_one_line(cli: Cli, real: Path, tmp_path: Path) -> None:
    shutil.copy(TRACE, tmp_path)
    path = Path(shutil.copy(TRACE.with_name(f"{TRACE.name}.names.json"), tmp_path))
    assert_damages_are_one_line(cli, path, ("replay",), 60)


def assert_damages_are_one_line(
    cli: Cli, path: Path, readers: Sequence[str], tried: int = TRIED
) -> None:
    """Success, or one line, for damages that a fixed seed draws, and one line for cut files."""
    text = path.read_text()
    whole = json.loads(text)
    dice = random.Random(1)
    for reader in readers:
        path.write_text(text[: dice.randrange(len(text.rstrip()))])
        assert_one_line(cli, reader, path, "cut")
    every = list(itertools.product(places(whole), OTHERS, readers))
    for place, other, reader in dice.sample(every, min(len(every), tried)):
        path.write_text(json.dumps(damaged(whole, place, other)))
        assert_one_line(cli, reader, path, (reader, place, other))


@pytest.mark.parametrize("kind", ["bars", "curve", "pairs", "figures"])
def test_a_result_is_written_as_it_was_read(
    cli: Cli, figures: Path, tmp_path: Path, kind: str
) -> None:
    from model.results.read import load_run

    path = tmp_path / "result.json"
    assert cli(*KINDS[kind][0], "--out", path).status == 0
    assert to_json(load_run(path).to_data()) == path.read_text()


@pytest.mark.parametrize(
    ("place", "other", "words"),
    [
        (("variants", 0, "points", 1, "threads"), "two", "Expected `int`, got `str` - at `$.varia"),
        (("variants", 0, "points"), [], "length >= 1 - at `$.variants[0].points`"),
        (("variants", 0, "points", 0, "ns_per_op"), -1.0, ">= 1e-09 - at `$.variants[0].points[0]"),
        (("sweep",), "cpus", "sweep is 'cpus', which is not one of ['threads', 'pairs']"),
        (("simulator",), GONE, "'simulator' is missing"),
        (("machine", "name"), GONE, "'name' is missing - at `$.machine`"),
    ],
)
def test_a_damaged_file_says_where(
    cli: Cli,
    curve_result: Path,
    tmp_path: Path,
    place: tuple[str | int, ...],
    other: Any,
    words: str,
) -> None:
    whole = json.loads(curve_result.read_text())
    curve_result.write_text(json.dumps(damaged(whole, place, other)))
    for reader in ("report", "compare", "record show"):
        outcome = cli(*calls(reader, curve_result))
        assert outcome.status == 2
        assert f"{curve_result} is damaged: " in outcome.err
        assert words in outcome.err


def test_half_a_character_is_an_escape(cli: Cli, curve_result: Path) -> None:
    """A lone surrogate, as in a file name that is not UTF-8, is printed as an escape."""
    whole = json.loads(curve_result.read_text())
    place = ("variants", 0, "points", -1, "lines", 0, "object")
    curve_result.write_text(json.dumps(damaged(whole, place, "\ud800")))
    for words in ((), ("--json",)):
        outcome = cli("record", "show", curve_result, *words)
        assert outcome.status == 0
        assert "\\ud800" in outcome.out


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" * 5000])
@pytest.mark.parametrize("typed", [True, False])
def test_what_is_no_number_is_refused(
    cli: Cli, curve_result: Path, number: str, typed: bool
) -> None:
    """JSON has no infinity, so 1e999 is refused even where no type is checked."""
    key = "ns_per_op" if typed else "not_known"
    text = curve_result.read_text()
    curve_result.write_text(text.replace('"ns_per_op": ', f'"{key}": {number}, "ns_per_op": ', 1))
    outcome = cli("record", "show", curve_result)
    assert outcome.status == 2
    assert f"{curve_result} is damaged" in outcome.err


def test_results_without_a_metric_in_common_are_refused(cli: Cli, curve_result: Path) -> None:
    whole = json.loads(curve_result.read_text())
    for variant in whole["variants"]:
        variant["points"] = [{**point, "metrics": {}} for point in variant["points"]]
    curve_result.write_text(json.dumps(whole))
    outcome = cli("compare", curve_result, curve_result)
    assert_user_error(outcome, "have no metric in common: nothing to compare")
