# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The data, programs, score and page of the published pairs of whole workloads are right."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import whole as script

from model.machines.presets import load_machine, machine_topology
from model.run.whole import (
    PAIRS,
    PREDICTED,
    Whole,
    effect_of,
    known_whole,
    left_out,
    read_whole,
    score,
    whole_sentence,
    whole_validation,
)  # fmt: skip

DATA = tomllib.loads(PAIRS.read_text(encoding="utf-8"))


def pair_of(machine: str, published: float, predicted: float, name: str = "lock") -> Whole:
    """A pair of the exact recorder, whose published object is the lock."""
    return Whole(machine, machine, "", published, "lock", 8, {"exact": predicted}, {"exact": name})


def test_the_score_counts_signs_objects_and_factors() -> None:
    pairs = [pair_of("a", 2.0, 1.0), pair_of("b", 0.5, 0.4), pair_of("c", 1.01, 0.99, "counter")]
    result = score(pairs, "exact")
    assert (result.pairs, result.signs, result.objects) == (3, 2, 2)
    assert result.median == pytest.approx(1.25)
    assert result.worst == pytest.approx(2.0)
    assert result.sentence().endswith("sign right in 2 of 3 published cases, median error 1.25")


def test_what_a_number_was_chosen_on_does_not_count() -> None:
    chosen = Whole("a", "a", "", 2.0, "", 8, {"exact": 9.0}, {}, chosen=True)
    assert score([chosen, pair_of("b", 2.0, 2.0)], "exact").pairs == 1


def test_intervals_come_from_other_machines_only() -> None:
    near = [pair_of("a", 1.5, 1.5), pair_of("b", 1.5, 1.6), pair_of("b", 1.5, 1.5)]
    assert left_out(near, "exact") == (2, 3)
    assert left_out([pair_of("a", 2.0, 1.0)], "exact") == (0, 0)


def test_a_time_is_better_when_it_is_lower() -> None:
    assert effect_of({"before": 10, "after": 5, "figure": "time"}) == 2
    assert effect_of({"before": 10, "after": 5, "figure": "requests/s"}) == 0.5


def test_each_pair_has_a_source_a_program_and_cpus_of_its_machine() -> None:
    assert len(DATA["pair"]) >= 12
    assert len(DATA["kernel"]) >= 12
    cases = re.findall(r'\{ "(\w+)", \d', script.SOURCE.read_text(encoding="utf-8"))
    for pair in DATA["pair"]:
        assert pair["case"] in cases
        assert re.search(r"https://|github\.com", pair["source"])
        assert (
            pair["work"].startswith(("after", "one thread", "estimate"))
            or "threads /" in (pair["work"])
            or "CPUs /" in pair["work"]
        )
        assert pair["object"] in script.SOURCE.read_text(encoding="utf-8")
        cpus = [
            cpu
            for part in DATA["place"][pair["place"]].split(",")
            for cpu in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)
        ]
        assert len(set(cpus)) >= pair["threads"]
        assert max(cpus) < len(machine_topology(load_machine(pair["preset"]))["cpus"])
    assert all(pair.get("why") or pair["compare"] for pair in DATA["kernel"])


def test_every_pair_with_a_program_was_predicted() -> None:
    names = {whole.name for whole in known_whole() if {"exact", "emulator"} <= set(whole.predicted)}
    assert names == {pair["name"] for pair in DATA["pair"]}
    guests = {whole.name for whole in known_whole() if "guest" in whole.predicted}
    assert guests == {pair["name"] for pair in DATA["kernel"] if "compare" in pair}
    # Four pairs do not show that guests err less than other programs in the emulator.
    assert whole_validation("guest")["factor"] >= whole_validation("emulator")["factor"]
    assert "sign right in" in whole_sentence()


def test_the_page_shows_the_predictions() -> None:
    """If this fails after a prediction changed, run `scripts/whole.py --page`."""
    known = read_whole(DATA, tomllib.loads(PREDICTED.read_text(encoding="utf-8")))
    for path in script.PAGES:
        page = path.read_text(encoding="utf-8")
        assert "table: whole-first" in page
        assert script.page_with(page, DATA, known) == page


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled to run natively."""
    made = tmp_path_factory.mktemp("whole") / "pairs"
    subprocess.run(["gcc", *script.FLAGS, str(script.SOURCE), "-o", str(made)], check=True)
    return made


@pytest.mark.parametrize("side", ["before", "after"])
def test_each_program_runs_to_its_end(program: Path, side: str) -> None:
    for case in {pair["case"] for pair in DATA["pair"]}:
        words = [str(program), case, side, "0", "1000", "500", "40"]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
        match = re.fullmatch(r"operations (\d+) ns \d+\n", done.stdout)
        assert match is not None
        assert int(match[1]) == 40


@pytest.mark.parametrize("words", [["none", "before", "0", "1", "1", "1"], ["urcu", "after", "x"]])
def test_the_program_refuses_bad_arguments(program: Path, words: list[str]) -> None:
    assert subprocess.run([str(program), *words], check=False).returncode == 2


def test_the_program_of_the_kernels_pairs_runs_and_refuses(tmp_path: Path) -> None:
    source = script.ROOT / "kernel/tests/whole/calls.c"
    calls = tmp_path / "calls"
    subprocess.run(["gcc", *script.FLAGS, "-Werror", str(source), "-o", str(calls)], check=True)
    for call in ("dup", "stat"):
        assert subprocess.run([calls, call, "1", "50"], check=False).returncode == 0
    for words in (["dup", "1"], ["open", "1", "1"], ["stat", "0", "1"], ["dup", "2000", "1"]):
        done = subprocess.run([calls, *words], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr[:6]) == (2, "usage:")
