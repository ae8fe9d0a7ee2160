# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A comparison of two kernels by a program gives the effect on its operations, and an interval."""

import json

import pytest

from common.errors import UserError
from kernel.profile.compare import compared, saved, words_of
from model.results.c2c import Cost, Run
from record.gate.baseline import Side
from record.gate.judge import judge
from record.gate.junit import junit
from record.gate.words import verdict


def run(cycles: float, of_line: float, operations: int = 100) -> Run:
    """A run with one line."""
    line = Cost(object="file.f_ref", names=["file.f_ref"], hitm=10.0, cycles=of_line,
                place=None)  # fmt: skip
    return Run(threads=16, operations=operations, work_cycles=cycles, lines=[line])


def side(name: str, *runs: Run) -> Side:
    """A side of a gate, of one machine."""
    return Side(name, "guest", "os", "", "", {"epyc": list(runs)}, {"epyc": "0"})


def test_more_cycles_per_operation_are_fewer_operations_per_second() -> None:
    before, after = side("base", run(1000.0, 50.0)), side("mine", run(1250.0, 300.0))
    judged = judge(before, after, 0.05)
    comparison = compared(before, after, judged)
    assert comparison.change == pytest.approx(-0.2)
    assert comparison.closing(judged).failed
    assert verdict(comparison.closing(judged)) == (
        "gate: failed: predicted -20% of operations per second (limit: -5%) since base"
    )
    assert 'type="slower"' in junit(comparison.closing(judged))
    assert comparison.sentence() == (
        "mine against base: predicted -20% of operations per second; the line is file.f_ref: "
        "5.00% to 24.0% of all cycles"
    )


def test_a_line_that_grows_does_not_fail_a_faster_kernel() -> None:
    before, after = side("base", run(1000.0, 50.0)), side("mine", run(850.0, 60.0))
    judged = judge(before, after, 0.05)
    assert judged.failed
    closing = compared(before, after, judged).closing(judged)
    assert not closing.failed
    assert "<failure" not in junit(closing)
    slower = side("mine", run(1250.0, 10.0))
    judged = judge(before, slower, 0.05)
    assert (judged.failed, compared(before, slower, judged).closing(judged).failed) == (False, True)


def test_several_boots_give_an_interval_around_the_change() -> None:
    before = side("base", *(run(1000.0 + noise, 50.0) for noise in (0, 5, 10, 5)))
    after = side("mine", *(run(800.0 + noise, 50.0) for noise in (0, 5, 10, 5)))
    comparison = compared(before, after, judge(before, after, 0.05))
    assert comparison.low < comparison.change < comparison.high
    assert comparison.change == pytest.approx(0.25, abs=0.01)


def test_an_interval_without_an_upper_end_is_saved_and_said() -> None:
    before = side("base", run(1000.0, 50.0), run(4000.0, 50.0))
    after = side("mine", run(900.0, 50.0), run(3900.0, 50.0))
    comparison = compared(before, after, judge(before, after, 0.05))
    assert "% or more) of operations" in comparison.effect
    data = saved(comparison, {})
    assert data["high"] is None
    json.dumps(data, allow_nan=False)


def test_without_marks_a_run_counts_as_one_operation() -> None:
    before, after = side("base", run(1000.0, 1.0, 0)), side("mine", run(500.0, 1.0, 0))
    comparison = compared(before, after, judge(before, after, 0.05))
    assert comparison.change == pytest.approx(1.0)
    assert "of runs per second" in comparison.sentence()


def test_a_workload_is_a_program() -> None:
    assert words_of("./program 16 'a b'") == ("./program", "16", "a b")
    for bad in ("cyclic", "", "./program '"):
        with pytest.raises(UserError, match="--workload"):
            words_of(bad)
