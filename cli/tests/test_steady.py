# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The steady part, from how long accesses took in each part of a run."""

from __future__ import annotations

import random

import pytest

from model.results.raw import Model, Run
from record.report.steady import steady_part

WIDTH = 1000  # instructions, of a cycle each, at 2 GHz: 500,000 ps


def raw(took: list[float] | None) -> Run:
    time = None
    if took is not None:
        time = {"width": WIDTH, "instructions": WIDTH * len(took), "took_ps": took}
    counts = {"nr_lines": 0, "hitm_remote": 0, "hitm_local": 0}
    model = dict.fromkeys(Model.__struct_fields__, 0)
    return Run.of(
        {"machine": {"clock_ghz": 2.0}, "model": model, "lines": [], "time": time, **counts}
    )


def ends(took: list[float]) -> tuple[int, int] | None:
    found = steady_part(raw(took))
    return (found.begin // WIDTH, found.end // WIDTH) if found is not None else None


def test_start_and_end_are_left_out() -> None:
    found = steady_part(raw([1e3] * 30 + [500e3] * 50 + [1e3] * 20))
    assert found is not None
    assert (found.begin, found.end) == (30 * WIDTH, 80 * WIDTH)
    assert found.share == pytest.approx(0.5)
    assert found.share_of_run == pytest.approx(25.05e6 / (25.05e6 + 50e6))


@pytest.mark.parametrize("seed", range(20))
def test_noise_and_single_outliers_do_not_end_it(seed: int) -> None:
    dice = random.Random(seed)
    took = [0.0] * 40 + [dice.uniform(300e3, 500e3) for _ in range(60)]
    for place in (50, 64, 81):
        took[place] = dice.choice((0.0, 5e6))
    assert ends(took) == (40, 100)


@pytest.mark.parametrize(
    "took",
    [
        [],  # no access
        [0.0] * 100,
        [1e3] * 30 + [2e3] * 70,  # waits of 0.3% are too few to look at
        [400e3] * 100,  # all of it is steady
        [0.0] * 5 + [400e3] * 95,
        [0.0] * 95 + [400e3] * 5,  # too short
        [each for _ in range(25) for each in (0.0, 0.0, 900e3, 900e3)],
    ],
)
def test_runs_without_a_steady_part(took: list[float]) -> None:
    assert ends(took) is None


def test_of_several_phases_the_one_with_most_waits() -> None:
    assert ends([100e3] * 30 + [400e3] * 30 + [1600e3] * 30) == (60, 90)


def test_a_result_without_times_has_none() -> None:
    assert steady_part(raw(None)) is None
