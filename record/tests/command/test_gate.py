# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The gate of continuous integration judges reports that are made here, and writes its verdicts."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from scipy import stats

import test_record_view
from common.paths import ROOT
from conftest import Cli
from model.results.c2c import Place, Recorded, RecordedLine
from record.gate.annotate import commands
from record.gate.baseline import side_of
from record.gate.judge import LEVEL, STUDENT, Judged, growth, judge
from record.gate.junit import junit
from record.gate.sarif import sarif
from record.lines.symbols import Frame
from record.report.costs import names_of, place_of
from saved_results import GONE, damaged

# Names as a program may have them: a newline before a command, '%', an escape, half a character.
HOSTILE = "a\n::error file=x::no%0A\x1b[31m<b>&\ud800,:\x00"


def cost(
    name: str, hitm: float, cycles: float, *more: str, file: str | None = "src/a.c"
) -> dict[str, Any]:
    place = {"file": file, "line": 7, "function": "add"} if file is not None else None
    return {
        "object": name, "names": sorted([name, *more]), "hitm": hitm, "cycles": cycles,
        "place": place,
    }  # fmt: skip


def run(*lines: dict[str, Any], operations: int = 0, threads: int = 4) -> dict[str, Any]:
    return {
        "threads": threads, "operations": operations, "work_cycles": 1000.0, "lines": list(lines),
    }  # fmt: skip


def report(*runs: dict[str, Any], recorder: str = "exact", machine: str = "m") -> dict[str, Any]:
    variant = {**test_record_view.variant(), "name": machine, "runs": list(runs)}
    return {**test_record_view.REPORT, "recorder": recorder, "variants": [variant]}


def judged(before: dict[str, Any], after: dict[str, Any], limit: float = 0.0) -> Judged:
    return judge(
        side_of(Recorded.of(before), "base.json"), side_of(Recorded.of(after), "this"), limit
    )


def verdicts(before: dict[str, Any], after: dict[str, Any], limit: float = 0.0) -> dict[str, str]:
    return {row.object: row.verdict for row in judged(before, after, limit).rows}


A = cost("a", 100, 50)
WHOLE, HALVES = run(cost("s.a", 100, 50, "s.b")), run(cost("s.a", 50, 25), cost("s.b", 50, 25))


@pytest.mark.parametrize(
    ("before", "after", "limit", "wanted"),
    [
        (run(A), run(A), 0.0, {"a": "same"}),
        (run(A), run(cost("a", 101, 50)), 0.0, {"a": "grew"}),
        (run(A), run(cost("a", 101, 50)), 0.01, {"a": "same"}),
        (run(A), run(cost("a", 102, 50)), 0.01, {"a": "grew"}),
        (run(A), run(A, cost("b", 9, 30)), 9.0, {"a": "same", "b": "appeared"}),
        # Less than half a percent of the cycles is noise, and a line that had less was there.
        (run(), run(cost("a", 100, 4.9)), 0.0, {}),
        (run(cost("a", 100, 4.9)), run(cost("a", 100, 5.1)), 0.05, {"a": "same"}),
        # A share that grows since others shrank is no growth.
        (run(A), {**run(A), "work_cycles": 500.0}, 0.05, {"a": "same"}),
        # A line that was split is compared with both halves.
        (WHOLE, HALVES, 0.0, {"s.b": "same"}),
        (HALVES, run(cost("s.a", 100, 50, "s.b", "s.c")), 0.0, {"s.a": "same"}),
    ],
)
def test_verdicts_of_one_run_each(
    before: dict[str, Any], after: dict[str, Any], limit: float, wanted: dict[str, str]
) -> None:
    assert verdicts(report(before), report(after), limit) == wanted


def test_figures_are_per_operation_where_both_sides_count_them() -> None:
    base = report(run(cost("a", 100, 50), operations=100))
    twice = {**run(cost("a", 200, 100), operations=200), "work_cycles": 2000.0}
    assert verdicts(base, report(twice)) == {"a": "same"}
    assert judged(base, report(twice)).per == "operation"
    assert verdicts(base, report({**twice, "operations": 0})) == {"a": "grew"}


def noisy(*counts: float) -> dict[str, Any]:
    return report(*(run(cost("a", count, 50)) for count in counts), recorder="emulator")


def test_noise_between_runs_is_not_growth() -> None:
    before = noisy(100, 120, 90, 110, 80)
    assert verdicts(before, noisy(115, 125, 95, 110, 105), 0.05) == {"a": "unsure"}
    assert verdicts(before, noisy(300, 310, 290, 305, 295), 0.05) == {"a": "grew"}
    assert verdicts(noisy(100), noisy(300, 310, 290, 305, 295), 0.05) == {"a": "grew"}
    assert verdicts(noisy(100), noisy(90, 130, 100, 110, 105), 0.05) == {"a": "unsure"}


def test_a_line_that_only_some_runs_have_has_not_surely_appeared() -> None:
    with_it, without = run(cost("a", 9, 50), cost("b", 9, 90)), run(cost("a", 9, 50))
    after = report(with_it, without, without, recorder="emulator")
    judgement = verdicts(report(without, without, recorder="emulator"), after)
    assert judgement["b"] == "unsure"


@pytest.mark.parametrize(("before", "after"), [((1, 2, 4), (3, 9, 5, 6)), ((5, 7), (5, 6, 9))])
def test_the_interval_is_welchs(before: tuple[float, ...], after: tuple[float, ...]) -> None:
    welch = stats.ttest_ind(after, before, equal_var=False)
    mean = sum(before) / len(before)
    margin = (growth(before, after).high - growth(before, after).relative) * mean
    error = (sum(after) / len(after) - mean) / float(welch.statistic)
    assert margin / error == pytest.approx(STUDENT[int(welch.df) - 1])


def test_the_table_of_students_distribution() -> None:
    wanted = [stats.t.ppf(LEVEL, degrees) for degrees in range(1, len(STUDENT) + 1)]
    assert wanted == pytest.approx(STUDENT, rel=1e-3)


# ---- what is written ----


def hostile() -> Judged:
    after = run(cost(HOSTILE, 100, 50, file=f"src/{HOSTILE}.c"), cost("b", 3, 9, file=None))
    return judged(report(run()), report(after))


def test_annotations_are_one_line_each_whatever_the_names() -> None:
    lines = commands(hostile())
    assert len(lines) == 2
    for line in lines:
        assert line.isprintable()
        assert line.startswith("::error ")
        properties, _, message = line.removeprefix("::error ").partition("::")
        assert "%" not in message.replace("%25", "")
        names = [word.partition("=")[0] for word in properties.split(",")]
        assert names in (["file", "line", "title"], ["title"])
        assert ":" not in properties


def test_sarif_is_valid_and_points_at_the_source_line() -> None:
    log = sarif(hostile(), 4)
    text = json.dumps(log, ensure_ascii=False)
    text.encode("utf-8")
    first, second = log["runs"][0]["results"]
    where = first["locations"][0]["physicalLocation"]
    assert where["region"] == {"startLine": 7}
    assert where["artifactLocation"]["uriBaseId"] == "SRCROOT"
    # A URI contains only characters that RFC 3986 allows.
    assert set(where["artifactLocation"]["uri"]) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/%"
    )
    assert first["message"]["text"].isprintable()
    assert "physicalLocation" not in second["locations"][0]
    rules = {rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert {entry["ruleId"] for entry in (first, second)} <= rules
    assert log["version"] == "2.1.0"
    for result in (first, second):
        assert result.keys() == {
            "ruleId", "level", "message", "locations", "partialFingerprints",
        }  # fmt: skip
        assert result["level"] == "error"
        assert all(isinstance(text, str) for text in result["partialFingerprints"].values())


def test_junit_is_xml_and_counts() -> None:
    text = junit(hostile())
    suite = ElementTree.fromstring(text).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "2", "0")
    cases = suite.findall("testcase")
    assert all(case.find("failure") is not None for case in cases)
    assert "\\ud800" in str(cases[0].get("name"))


def test_fingerprints_stay_when_lines_of_the_source_move() -> None:
    def fingerprints(line: int) -> list[Any]:
        grown = cost("a", 100, 50)
        grown["place"]["line"] = line
        log = sarif(judged(report(run()), report(run(grown))))
        return [entry["partialFingerprints"] for entry in log["runs"][0]["results"]]

    assert fingerprints(3) == fingerprints(9)
    assert fingerprints(3) != []


# ---- the key of a line ----


def names(kind: str, *, field: str = "", **more: Any) -> list[str]:
    """Return the names of a line whose accesses are all of one instruction."""
    line = test_record_view.line(0.1)
    line["accesses"][0] |= {
        "field": field,
        "frames": [
            {"function": "fetch_add", "source": "atomic:3"},
            {"function": "work", "source": "a.c:9"},
        ],
    }
    named = RecordedLine.of({**line, "kind": kind, "object": "o", "type": "struct s", **more})
    return sorted(names_of(named))


def test_names_have_neither_addresses_nor_lines_nor_elements() -> None:
    made = [{"function": "make", "source": "a.c:205"}]
    heap = names("heap", object="heap: make (a.c:205)", field="[3].count", allocated=made)
    assert heap == ["heap make struct s [].count"]
    assert names("variable", object="side", field="side[2].count") == ["side[].count"]
    assert names("variable", object="side") == ["side"]
    assert names("mapped", object="mapped memory at 0x7f00") == ["mapped by work"]


def test_the_place_is_the_first_of_the_programs_own_lines(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.c").touch()
    frames = (
        Frame("fetch_add", "atomic_base.h:3", "/usr/include/c++/12/bits/atomic_base.h"),
        Frame("odd", "?", ""),
        Frame("work", "a.c:9", "/built/elsewhere/src/a.c"),
    )
    assert place_of(frames, tmp_path) == Place(file="src/a.c", line=9, function="work")
    assert place_of(frames[:2], tmp_path) is None
    long = (Frame("f", "c.c:4", f"/{'x' * 300}/c.c"),)
    assert place_of(long, tmp_path) is not None
    outside = (Frame("f", "b.c:4", "/other/b.c"),)
    assert place_of(outside, tmp_path) == Place(file="/other/b.c", line=4, function="f")


# ---- the command ----


def saved(path: Path, data: dict[str, Any]) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_diff_ends_with_four_and_one_sentence(cli: Cli, tmp_path: Path) -> None:
    a = saved(tmp_path / "a.json", report(run(cost("a", 100, 50))))
    b = saved(tmp_path / "b.json", report(run(cost("a", 200, 90))))
    assert cli("record", "diff", a, b).status == 0
    files = ("--sarif", tmp_path / "s", "--junit", tmp_path / "j", "--annotate")
    done = cli("record", "diff", a, b, "--fail-above", "5%", *files)
    assert done.status == 4
    messages = done.err.splitlines()
    assert messages[0].startswith("::error file=src/a.c,line=7,title=")
    assert messages[1].startswith("gate: failed: 1 line grew by more than 5% since ")
    assert "HITM per run 100 to 200 (+100.0%)" in messages[1]
    assert len(messages) == 2
    assert json.loads((tmp_path / "s").read_text())["runs"][0]["results"]
    assert ElementTree.parse(tmp_path / "j").find(".//failure") is not None
    assert cli("record", "diff", a, b, "--fail-above", "100").status == 0
    assert cli("record", "diff", b, a, "--fail-above", "0").status == 0


@pytest.mark.parametrize("text", ["", "five", "-5%", "5%%", "nan", "1e3", "5 %", "\u0665%"])
def test_a_text_that_is_no_limit_is_refused(cli: Cli, tmp_path: Path, text: str) -> None:
    a = saved(tmp_path / "a.json", report(run(cost("a", 100, 50))))
    done = cli("record", "diff", a, a, f"--fail-above={text}")
    assert (done.status, done.out) == (2, "")
    assert "not a percentage, such as 5%" in done.err


VARIANT = ("variants", 0)
RUN, LINE = (*VARIANT, "runs", 0), (*VARIANT, "runs", 0, "lines", 0)
OTHERS = [
    (("recorder",), "emulator", "with the emulator recorder, this report with the exact"),
    ((*VARIANT, "name"), "other", "is for other, this report for m"),
    ((*VARIANT, "machine_sha256"), "1", "was recorded with an earlier machine file of m"),
    (("program", "compiler"), "cc", "'cc' compiled, this report from one that 'gcc' compiled"),
    (("program", "placement"), "scatter", "with --placement scatter, this report with os"),
    ((*RUN, "threads"), 5, "has 5 threads, this report 4"),
    (("program", "status"), 1, "was recorded from a program that failed or was stopped"),
    (("recorder",), GONE, "is damaged: 'recorder' is missing"),
    (("program",), GONE, "is not a recorded program"), ((*VARIANT, "runs"), [], "is damaged"),
    ((*VARIANT, "runs"), [7], "is damaged"), (("variants",), [], "is damaged"),
    ((*RUN, "work_cycles"), "many", "is damaged"), ((*RUN, "work_cycles"), math.nan, "is damaged"),
    ((*LINE, "hitm"), -1, "is damaged"), ((*LINE, "hitm"), 10**400, "is damaged"),
    ((*LINE, "cycles"), 1e200, "is damaged"), ((*LINE, "cycles"), 1e-200, "is damaged"),
    ((*LINE, "names"), GONE, "is damaged"),
]  # fmt: skip


@pytest.mark.parametrize("side", ["a", "b"])
@pytest.mark.parametrize(("place", "other", "message"), OTHERS)
def test_reports_that_do_not_compare_are_refused_in_a_line(
    cli: Cli, tmp_path: Path, place: tuple[str | int, ...], other: Any, message: str, side: str
) -> None:
    """The files of the verdict say that the comparison failed if the new report is at fault."""
    good = report(run(A))
    for name in ("a", "b"):
        saved(tmp_path / name, damaged(good, place, other) if name == side else good)
    saved(tmp_path / "s", {"runs": "of an earlier verdict"})
    files = ("--sarif", tmp_path / "s", "--junit", tmp_path / "j")
    done = cli("record", "diff", tmp_path / "a", tmp_path / "b", "--fail-above", "5%", *files)
    assert (done.status, len(done.err.splitlines())) == (2, 1)
    assert message in done.err or side == "b"
    is_recording = place != ("program",) and other is not math.nan
    if (side == "b" and is_recording) or ", this " in message or "earlier machine file" in message:
        failed = json.loads((tmp_path / "s").read_text())["runs"][0]
        assert failed["results"] == []
        assert failed["invocations"] == [{"executionSuccessful": False, "exitCode": 2}]
        assert ElementTree.parse(tmp_path / "j").find(".//error") is not None


def test_what_a_file_says_cannot_change_the_terminal(cli: Cli, tmp_path: Path) -> None:
    a = report(run(cost("a", 100, 50)))
    a["recorder"] = "emu\x1b[31mlator"
    b = saved(tmp_path / "b.json", report(run(cost("a", 100, 50))))
    done = cli("record", "diff", saved(tmp_path / "a.json", a), b, "--fail-above", "5%")
    assert done.status == 2
    assert "emu\\x1b[31mlator" in done.err


def test_a_text_of_bytes_that_are_no_text_can_be_printed(tmp_path: Path) -> None:
    """A name with half a character must not end the command with a traceback."""
    bad = report(run(cost("\udc80x", 100, 50)))
    a, b = saved(tmp_path / "a.json", report(run())), saved(tmp_path / "b.json", bad)
    words = ["./schedshard", "record", "diff", str(a), str(b), "--fail-above", "0", "--annotate"]
    done = subprocess.run(words, capture_output=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr.count(b"Traceback")) == (4, 0)
    assert b"\\udc80x" in done.stderr


@pytest.mark.parametrize("options", [(), ("--fail-above", "5%")])
@pytest.mark.parametrize("text", ["{}", "[]", '{"format": "schedshard/run/2"}'])
def test_what_is_no_recording_names_the_command_that_makes_one(
    cli: Cli, tmp_path: Path, text: str, options: tuple[str, ...]
) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    a.write_text(text)
    saved(b, report(run(cost("a", 100, 50))))
    for files in ((a, b), (b, a)):
        done = cli("record", "diff", *files, *options)
        assert (done.status, len(done.err.splitlines())) == (2, 1)
        assert f"{a} is not a recorded program: './schedshard record --out FILE'" in done.err
