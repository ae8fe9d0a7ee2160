# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`record` gives advice only where the gain is more than chance."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from record.report import report
from record.report.moving import Move
from record.report.view import _advice

Machine = SimpleNamespace


def runs(*cycles: float) -> list[Any]:
    return [SimpleNamespace(work_cycles=work, hitm=100) for work in cycles]


def jobs(*names: str) -> list[Any]:
    return [SimpleNamespace(machine=Machine(name=name)) for name in names]


MOVE = Move("counters", ((0, 8),), 50.0, "pad counters to a line")


@pytest.mark.parametrize(
    ("after", "other", "given"),
    [
        ((930.0, 900.0, 950.0), (1000.0, 1000.0, 1000.0), True),  # 5% to 10% fewer on a
        ((930.0, 900.0, 1050.0), (1000.0, 990.0, 1010.0), False),  # both contain 0
        ((930.0, 900.0, 1050.0), (1000.0, 980.0, 990.0), True),  # that of b does not
        ((930.0, 900.0, 1050.0), (1000.0,), True),  # b has no ranged number
    ],
)
def test_a_gain_whose_intervals_contain_zero_is_no_advice(
    after: tuple[float, ...], other: tuple[float, ...], given: bool
) -> None:
    """``after`` (machine a) and ``other`` (b): cycles after the move, of one run, then of draws."""
    before = [runs(1000.0, 1000.0), runs(*[1000.0] * (len(other) - 1))]
    draws = [[before[0], runs(*after[1:])], [before[1], runs(*other[1:])]]
    tried = [(MOVE, [*runs(after[0]), *runs(other[0])])]
    made = report._gains(jobs("a", "b"), cast(Any, tried), runs(1000.0, 1000.0), draws)
    assert [entry.words for entry in made] == (["pad counters to a line"] if given else [])


def test_the_printed_gain_lies_in_its_interval() -> None:
    """The run with the file's numbers saves 3%, and all runs with drawn numbers save more."""
    draws = [[runs(1000.0, 1000.0, 1000.0), runs(800.0, 850.0, 820.0)]]
    tried = [(MOVE, runs(970.0))]
    advice = report._gains(jobs("a"), cast(Any, tried), runs(1000.0), draws)
    assert _advice(advice[0], ()).startswith("pad counters to a line: 18.0% (90%: 15.")
    assert advice[0].machines["a"].fewer == pytest.approx(0.03)


def test_the_best_advice_by_its_printed_gain_comes_first() -> None:
    """The run with the file's numbers favours the first move, and drawn numbers the second."""
    other = Move("flags", ((8, 16),), 50.0, "pad flags to a line")
    draws = [[runs(1000.0, 1000.0), runs(900.0, 910.0), runs(700.0, 710.0)]]
    tried = [(MOVE, runs(880.0)), (other, runs(890.0))]
    advice = report._gains(jobs("a"), cast(Any, tried), runs(1000.0), draws)
    assert [entry.object for entry in advice] == ["flags", "counters"]


def test_lines_that_cost_nothing_are_no_reason_for_advice() -> None:
    """One run gives no interval: lines with 0.4% of the cycles do not cost 7%."""
    assert not report._is_felt(MOVE, runs(12_500.0)[0])
    assert report._is_felt(MOVE, runs(10_000.0)[0])


@pytest.mark.parametrize(
    ("executed", "quantum", "note"),
    [
        ([70_000, 8_000, 3_000], 1000, "executed 5,500 instructions on average, only a few quanta"),
        ([70_000, 8_000, 4_000], 1000, ""),
        ([4_000, 4_000, 4_000], None, ""),  # an exact run has one order
    ],
)
def test_threads_that_execute_little_get_a_note(
    executed: list[int], quantum: int | None, note: str
) -> None:
    (run,) = runs(1000.0)
    run.cpu_times = [(cpu, count, 0, 0) for cpu, count in enumerate(executed)]
    notes = report._short(quantum, 3, run)
    assert len(notes) == bool(note)
    assert note in "".join(notes)
    assert report._short(quantum, 1, run) == []
