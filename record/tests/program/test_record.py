# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`record` finds the known sharing of small programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from recording import (
    MACHINE,
    PROGRAMS,
    Report,
    hitm,
    hitm_of,
    hottest,
    needs,
    quiet,
    record,
    simulated,
)

pytestmark = needs(PROGRAMS / "record-known")


def known(
    case: str, threads: int, operations: int, think: int, holds: Callable[[Report], bool]
) -> Report:
    """Return the report of a case of record-known, without advice."""
    program = str(PROGRAMS / "record-known")
    words = ("--no-advice", "--", program, case, str(threads), str(operations), str(think))
    return quiet(lambda: record(*words), holds)


# The last number is modified lines found in another cache, per operation. For the queue lock these
# are its tail, the node twice (the next waiter links itself to it, and its owner later passes the
# lock on), and the counter. Readers enter and leave. A message moves with both indices.
EXACT = [
    ("one", 6, 1000, 400, 6000, 1.0), ("side", 6, 1000, 400, 6000, 1.0),
    ("heap", 6, 1000, 400, 6000, 1.0), ("queue", 6, 400, 1000, 2400, 4.0),
    ("readers", 6, 500, 800, 3000, 2.0), ("ring", 2, 1000, 0, 1000, 3.0),
]  # fmt: skip


def test_messages_in_one_line_move_it_at_most_once_for_each_side() -> None:
    """The recorder misses some transfers; the host decides how many (docs/record.md)."""

    def holds(report: Report) -> bool:
        assert hitm(report) < 2.1 * 1000
        return hitm(report) > 0.5 * 1000

    known("packed", 2, 1000, 0, holds)


@pytest.mark.parametrize(("case", "threads", "rounds", "think", "operations", "expected"), EXACT)
def test_exact_cases(
    case: str, threads: int, rounds: int, think: int, operations: int, expected: float
) -> None:
    def holds(report: Report) -> bool:
        assert not report["partial"]
        assert report["program"]["threads"] == threads + 1
        return bool(hitm(report) / operations == pytest.approx(expected, rel=0.05))

    known(case, threads, rounds, think, holds)


# Operations lie 50,000 instructions apart; meanwhile threads that work alone may run further ahead.
SELDOM = [("store", {"one": 1}), ("one", {"one": 1}), ("meet", {"tail": 1, "protected": 1})]


@pytest.mark.parametrize(("case", "expected"), SELDOM)
def test_threads_that_seldom_meet_are_found_where_they_do(
    case: str, expected: dict[str, int]
) -> None:
    def holds(report: Report) -> bool:
        lines = report["variants"][0]["lines"]
        shown = [line for line in lines if line["object"] in expected]
        transfers = {line["object"]: hitm_of(line) / 240 for line in shown}
        return bool(transfers == pytest.approx(expected, rel=0.05))

    known(case, 6, 40, 17000, holds)


def test_lines_apart_are_not_contended() -> None:
    words = ("--", str(PROGRAMS / "record-known"), "apart", "6", "1000", "400")
    report = quiet(lambda: record(*words), lambda report: hitm(report) / 6000 < 0.02)
    assert report["advice"] == []


def contended(times: int) -> Callable[[Report], bool]:
    """Make a check that nearly each operation finds its line modified."""
    return lambda report: hitm(report) > 0.9 * times


def test_a_counter_of_all_is_true_sharing() -> None:
    line = hottest(known("one", 4, 1000, 400, contended(4000)))
    assert (line["object"], line["sharing"], line["type"]) == ("one", "true", "struct alone")
    assert line["accesses"][0]["field"] == "one.worker.count"
    assert line["accesses"][0]["source"].startswith("record/tests/program/known.c:")
    assert "add" in line["accesses"][0]["symbol"]
    assert line["accesses"][0]["threads"] == [1, 2, 3, 4]


def test_counters_side_by_side_are_false_sharing_and_padding_ends_it() -> None:
    words = ("--", str(PROGRAMS / "record-known"), "side", "4", "1000", "400")
    report = quiet(lambda: record(*words), contended(4000))
    line = hottest(report)
    assert (line["object"], line["sharing"], line["type"]) == ("side", "false", "struct worker[]")
    assert {access["field"] for access in line["accesses"] if access["kind"] == "rmw"} == {
        f"side[{index}].count" for index in range(4)
    }
    assert [len(a["threads"]) for a in line["accesses"] if a["kind"] == "rmw"] == [1] * 4
    # The predicted gain of padding is that of the case 'apart'.
    gain = report["advice"][0]["machines"][MACHINE]
    assert "`struct worker`" in report["advice"][0]["words"]
    assert gain["hitm_after"] < gain["hitm_before"] / 50

    def costs_as_much(apart: Report) -> bool:
        cycles = apart["variants"][0]["work_cycles"]
        return bool(gain["cycles_after"] == pytest.approx(cycles, rel=0.1))

    known("apart", 4, 1000, 400, costs_as_much)


def test_heap_objects_are_named_by_the_place_that_allocated_them() -> None:
    line = hottest(known("heap", 4, 1000, 400, contended(4000)))
    assert line["kind"] == "heap"
    assert line["object"].startswith("heap: main (record/tests/program/known.c:")
    assert line["allocated"][0]["function"] == "main"
    assert line["sharing"] == "false"


# Compare-and-swap loops are left out: see docs/record.md.
@pytest.mark.parametrize("operation", ["refcount", "rwlock-read", "list-refcount", "spinlock"])
def test_loops_agree_with_the_experiment(operation: str) -> None:
    threads, times = 8, 100 if operation.startswith("list") else 1000
    expected = simulated(operation, threads)
    words = ("--no-advice", "--", str(PROGRAMS / "record-loops"), operation)

    def holds(report: Report) -> bool:
        lines = report["variants"][0]["lines"]
        hot = sum(hitm_of(line) for line in lines if line["hitm_share"] > 0.02)
        return bool(hot / (threads * times) == pytest.approx(expected, rel=0.2))

    quiet(lambda: record(*words, str(threads), str(times)), holds)
