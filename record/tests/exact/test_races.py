# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: data races are reported, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from running import HERE, NEEDED, compiled, each_compiler, record, runs

from record.exact.races import ALL, SHARED, races

pytestmark = NEEDED
SOURCE = HERE / "raced.c"


# The program with a part for each kind of race, and of order.
raced = each_compiler("raced.c")


def name_of(race: Mapping[str, Any]) -> str:
    """Return the object of a race; clang makes a separate object of each field."""
    return str(race["object"]).partition(".")[0]


@pytest.mark.parametrize(
    ("kind", "objects"),
    [
        ("increments", {"count"}), ("once", {"count"}), ("two-locks", {"count"}),
        ("readers", {"count"}), ("plain-flag", {"plain_flag", "data"}),
        ("relaxed-store", {"data"}), ("relaxed-load", {"data"}),
        ("mixed", {"flag"}),
    ],
)  # fmt: skip
def test_a_race_is_reported(raced: Path, kind: str, objects: set[str], tmp_path: Path) -> None:
    found = races(runs(raced, tmp_path, kind, races=ALL).meta)
    assert {name_of(race) for race in found} == objects
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    for race in found:
        threads = {access["thread"] for access in race["accesses"]}
        assert threads == {1, 2}
        assert any("write" in kind for access in race["accesses"] for kind in access["kinds"])
        for access in race["accesses"]:
            path, _, number = access["source"].rpartition(":")
            assert path.endswith("raced.c")
            assert name_of(race) in lines[int(number) - 1]


@pytest.mark.parametrize("kind", ["increments", "plain-flag"])
def test_races_on_shared_lines_are_always_reported(raced: Path, kind: str, tmp_path: Path) -> None:
    found = races(runs(raced, tmp_path, kind, races=SHARED).meta)
    assert {name_of(race) for race in found} >= {"count" if kind == "increments" else "plain_flag"}


@pytest.mark.parametrize("which", [SHARED, ALL])
@pytest.mark.parametrize(
    "kind",
    [
        "acquire", "fences", "swaps", "locked", "writers", "rounds", "posts", "apart", "assembly",
        "pipe", "maps", "stacks",
    ],
)  # fmt: skip
def test_what_is_ordered_is_no_race(raced: Path, kind: str, which: int, tmp_path: Path) -> None:
    done = runs(raced, tmp_path, kind, races=which)
    assert (done.status, races(done.meta)) == (0, [])


ONCE = """
#include <pthread.h>
#include <vector>

static const std::vector<int> &made()
{
	static const std::vector<int> all(100, 7);
	return all;
}

static void *reads(void *)
{
	long sum = 0;
	for (int each : made())
		sum += each;
	return reinterpret_cast<void *>(sum);
}

int main()
{
	pthread_t t[4];
	void *sum;

	for (auto &each : t)
		pthread_create(&each, nullptr, reads, nullptr);
	for (auto &each : t)
		if (pthread_join(each, &sum) || reinterpret_cast<long>(sum) != 700)
			return 1;
	return 0;
}
"""


def test_a_static_object_of_a_function_is_no_race(tmp_path: Path) -> None:
    source = tmp_path / "once.cc"
    source.write_text(ONCE, encoding="utf-8")
    made = compiled(tmp_path / "once", "g++", str(source), language="c++")
    done = runs(made, tmp_path, races=ALL)
    assert (done.status, races(done.meta)) == (0, [])


REDUCTION = """
int main(void)
{
	static int data[256];
	long sum = 0, again = 0;

	for (int round = 0; round < 3; round++) {
#pragma omp parallel for reduction(+ : sum) num_threads(4)
		for (int i = 0; i < 256; i++) {
			data[i]++;
			sum += data[i];
		}
		again += sum + data[0] + data[100] + data[255];
	}
	return sum != 256 * 6 || again != 256 * 10 + 3 * 6;
}
"""


@pytest.mark.parametrize("which", [SHARED, ALL])
def test_what_a_parallel_region_leaves_is_no_race(which: int, tmp_path: Path) -> None:
    source = tmp_path / "reduction.c"
    source.write_text(REDUCTION, encoding="utf-8")
    made = compiled(tmp_path / "reduction", "gcc", str(source), "-fopenmp")
    done = runs(made, tmp_path, races=which)
    assert (done.status, races(done.meta)) == (0, [])


def test_the_report_has_the_races(raced: Path) -> None:
    report = json.loads(record(raced, "once", options=("--races",)).stdout)
    (race,) = report["recording"]["races"]
    assert (name_of(race), race["bytes"]) == ("count", 8)
    (note,) = [note for note in report["notes"] if "race" in note]
    assert note.startswith("data race on count.")
    assert note.count("raced.c:") == 2
    assert " by thread 1 at " in note
    assert " by thread 2 at " in note
    clean = json.loads(record(raced, "locked", options=("--races",)).stdout)
    assert "races" not in clean["recording"]
    assert not any("race" in note for note in clean["notes"])


def test_a_race_is_reported_again(raced: Path) -> None:
    first, second = (record(raced, "increments").stdout for _ in range(2))
    assert first == second
    assert "data race on count." in first
