# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The parser of KTAP reads reports that are whole, cut or mixed with other lines, and any text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.testing.ktap import Report, Status, parse_ktap

NESTED = """\
KTAP version 1
1..2
    KTAP version 1
    # Subtest: plan
    # module: shard_plan_test
    1..3
    ok 1 one_llc
        KTAP version 1
        # Subtest: shapes
        ok 1 2x2x2
        not ok 2 holes
    # shapes: pass:1 fail:1 skip:0 total:2
    not ok 2 shapes
    ok 3 big # SKIP needs 512 CPUs
# plan: pass:1 fail:1 skip:1 total:3
not ok 1 plan
    KTAP version 1
    # Subtest: sbm
    1..1
    ok 1 set
ok 2 sbm
"""


def leaves(report: Report) -> dict[str, str]:
    return {name: test.status.value for name, test in report.leaves()}


def stamped(text: str, stamp: str = "[    1.234567] ") -> list[str]:
    return [stamp + line for line in text.splitlines()]


@pytest.mark.parametrize("stamp", ["", "[    1.234567] ", "[12345.678901][    T1] "])
def test_nested_reports_with_and_without_time_stamps(stamp: str) -> None:
    (report,) = parse_ktap(stamped(NESTED, stamp))
    assert [(t.name, t.status) for t in report.tests] == [
        ("plan", Status.FAILED),
        ("sbm", Status.PASSED),
    ]
    assert leaves(report) == {
        "plan.one_llc": "passed",
        "plan.shapes.2x2x2": "passed",
        "plan.shapes.holes": "failed",
        "plan.big": "skipped",
        "sbm.set": "passed",
    }
    assert report.tests[0].children[2].reason == "SKIP needs 512 CPUs"


def test_kernel_messages_between_the_lines_change_nothing() -> None:
    noise = [
        "random: crng init done",
        "ok, this is not a result",
        "okay 3 neither",
        "1..x",
        "BUG: KASAN: use-after-free in foo+0x10/0x20",
        "",
        "        indented text of a dump",
        "not okay",
    ]
    lines = stamped(NESTED)
    mixed = [part for i, line in enumerate(lines) for part in (line, noise[i % len(noise)])]
    assert leaves(parse_ktap(mixed)[0]) == leaves(parse_ktap(lines)[0])


def test_a_log_cut_anywhere_never_says_more_than_was_seen() -> None:
    whole = leaves(parse_ktap(NESTED.splitlines())[0])
    for end in range(len(NESTED)):
        for report in parse_ktap(NESTED[:end].split("\n")[:-1]):
            for name, status in leaves(report).items():
                # The result line of a suite is not there yet; its tests' are.
                if status != "unfinished":
                    assert status == whole[name]


def test_what_was_planned_and_did_not_come_is_unfinished() -> None:
    text = NESTED[: NESTED.index("    not ok 2 shapes")]
    (report,) = parse_ktap(stamped(text))
    assert leaves(report) == {
        "plan.one_llc": "passed",
        "plan.shapes.2x2x2": "passed",
        "plan.shapes.holes": "failed",
        "plan.shapes": "unfinished",
        "plan.test 3": "unfinished",
        "plan": "unfinished",
        "test 2": "unfinished",
    }


def test_a_result_broken_into_by_another_writer_loses_only_its_tail() -> None:
    text = ["KTAP version 1", "1..2", "ok 1 storm[    5.123456] ACPI: something", "ok 2 rest"]
    assert leaves(parse_ktap(text)[0]) == {"storm": "passed", "rest": "passed"}
    text[2] = "ok[    5.123456] ACPI: something"
    (report,) = parse_ktap(text)
    assert leaves(report) == {"rest": "passed", "test 2": "unfinished"}


def test_bail_out_gives_the_reason() -> None:
    (report,) = parse_ktap(["KTAP version 1", "1..1", "Bail out! no memory", "ok 1 a"])
    assert report.bail == "no memory"


def test_a_suite_that_fails_by_itself_is_counted() -> None:
    text = "KTAP version 1|1..1|    KTAP version 1|    1..1|    ok 1 a|not ok 1 suite"
    assert leaves(parse_ktap(text.split("|"))[0]) == {"suite": "failed", "suite.a": "passed"}


def test_an_absurd_plan_is_counted_and_not_listed() -> None:
    (report,) = parse_ktap(["KTAP version 1", "1..999999"])
    assert len(report.tests) == 1001
    assert report.tests[-1].name == "998999 more tests"


_WORDS = st.sampled_from([
    "KTAP version 1", "TAP version 12", "TAP version 13", "1..2", "1..0 # SKIP", "1..3 # TODO",
    "ok 1 a", "ok 2 - b # SKIP why", "not ok 1 c # TODO", "not ok 99999999999999 d",
    "ok ٣ digits of another script", "# Subtest: s", "# begin 1 x", "Bail out! why",
    "[    1.000000] ok 1 e", "Kernel panic - not syncing: x",
])  # fmt: skip
_LINE = st.tuples(st.sampled_from(["", " ", "  ", "    ", "        ", "\t"]), _WORDS | st.text())


@settings(max_examples=400, deadline=None)
@given(st.lists(_LINE, max_size=40))
def test_any_text_is_read(lines: list[tuple[str, str]]) -> None:
    for report in parse_ktap(indent + text for indent, text in lines):
        assert len([*report.leaves()]) >= len(report.tests)
