# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verbs report and reproduce: one page that needs nothing else."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote

import pytest

from common.progress import Ticker
from common.show.format import compact, nanoseconds, percent, signed_percent, significant, times
from conftest import Cli, assert_user_error
from model.results.run import Result
from model.run.run import RunPlan, execute
from model.tables.results import FORMS
from report import forms
from saved_results import bar, result, swept

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Checks that elements nest, and collects what could reach outside."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.headings: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def parse(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    assert page.open == []
    return page


def assert_self_contained(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert not re.search(r"https?:|//[a-z]|@import|<script|<iframe|<link", text)
    assert not re.search(r"url\((?!#)", text)
    page = parse(path)
    assert all(link.startswith(("#", "data:text/csv;charset=utf-8,")) for link in page.links)
    return page


def test_page_of_everything(
    cli: Cli, yield_result: Path, curve_result: Path, tmp_path: Path
) -> None:
    others = []
    for name in ("xeon-480", "future-2048"):
        others.append(tmp_path / f"{name}.json")
        assert cli("run", "cpumask-yield", "--machine", name, "--out", others[-1]).status == 0
    assert cli("topo", "--out", tmp_path / "topo.json").status == 0
    page = tmp_path / "page.html"
    outcome = cli(
        "report", yield_result, curve_result, *others, tmp_path / "topo.json", "--out", page,
    )  # fmt: skip
    assert (outcome.status, outcome.out) == (0, "")
    parsed = assert_self_contained(page)
    assert len([h for h in parsed.headings if h.strip()]) == 6
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 4
    for words in (
        "K Prateek Nayak",
        "perfbook",
        "predicted, hypothetical machine",
        "the calibration curve, not a test of the model",
        "within a factor of 1.5",
        "machine file sha256",
    ):
        assert words in text


def test_page_says_what_is_outside_its_band(cli: Cli, yield_result: Path, tmp_path: Path) -> None:
    data = json.loads(yield_result.read_text())
    node = next(v for v in data["variants"] if v["name"] == "node")
    node.update(relative=0.45, accepted=False, lacks="No <prefetcher> in the model.")
    yield_result.write_text(json.dumps(data))
    page = tmp_path / "page.html"
    assert cli("report", yield_result, "--out", page).status == 0
    text = page.read_text(encoding="utf-8")
    assert "Outside the band: &#39;node&#39; is predicted at 45.0%" in text
    assert "No &lt;prefetcher&gt; in the model." in text
    assert "not within 20%" in text
    assert_self_contained(page)


def test_page_begins_with_the_answer(cli: Cli, yield_result: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert cli("report", yield_result, "--out", page).status == 0
    text = page.read_text(encoding="utf-8")
    head = text[: text.index("<section")]
    assert "what does each layout cost on 2 x AMD EPYC 7763" in head
    assert "Predicted: &#39;llc-byte&#39; costs 0.525% of &#39;global&#39;" in head
    assert "(published: 0.493%), 85.7 ns per operation" in head
    assert "none: one run; &#39;run --uncertainty N&#39; draws" in head


def test_plots_have_their_numbers(cli: Cli, yield_result: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert cli("report", yield_result, "--out", page).status == 0
    [link] = [link for link in parse(page).links if link.startswith("data:")]
    rows = list(csv.reader(io.StringIO(unquote(link.partition(",")[2]))))
    variants = json.loads(yield_result.read_text())["variants"]
    assert rows[0] == ["variant", "predicted_relative", "published_relative"]
    assert rows[1:] == [
        [v["name"], str(v["relative"]), str(v.get("published") or "")] for v in variants
    ]


def test_same_results_same_page(cli: Cli, yield_result: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "1.html", tmp_path / "2.html"
    cli("report", yield_result, "--out", first)
    cli("report", yield_result, "--out", second)
    assert first.read_bytes() == second.read_bytes()


def test_page_without_the_baseline(cli: Cli, tmp_path: Path) -> None:
    path, page = tmp_path / "r.json", tmp_path / "p.html"
    cli("run", "cpumask-yield", "--variant", "llc", "--out", path)
    assert cli("report", path, "--out", page).status == 0
    assert_self_contained(page)


def test_report_refuses_other_files(cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "x.json"
    other.write_text('{"format": "schedshard/kernel-count/1"}')
    assert_user_error(
        cli("report", other, "--out", tmp_path / "p.html"), "x.json is not a result", "topo --out"
    )
    assert not (tmp_path / "p.html").exists()


def test_every_kind_of_result_has_a_table_and_a_box() -> None:
    metric = {"name": "x", "title": "", "unit": "", "relative_to_baseline": False}
    figures = {"name": "b", "title": "", "x": 1, "published": {}, "error": {}, "metrics": {}}
    many = [swept(name, {"threads": 1, "ns_per_op": 1.0}) for name in "abcd"]
    pair = swept("b", {"class": "llc", "from": 0, "to": 1, "ns_per_op": 1.0})
    results = [
        result([bar("b")]), result(many, sweep="threads"), result(many[:1], sweep="threads"),
        result([pair], sweep="pairs"), result([{**figures, "lines": []}], metrics=[metric]),
    ]  # fmt: skip
    kinds = {type(each) for each in results}
    assert kinds == set(get_args(Result))
    assert {each.form for each in results} == set(FORMS) == set(forms.FORMS)
    assert all(each.headlines for each in results)


@pytest.mark.slow(reason="all experiments")
def test_reproduce_quick(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    outcome = cli("reproduce", "--quick", "--out", out)
    assert outcome.status == 0, outcome.err
    for words in ("This host", "calibration", "32.9%", "xeon-480"):
        assert words in outcome.out
    assert "Others measured 77x on the real machine" in " ".join(outcome.out.split())
    assert_self_contained(out / "report.html")
    assert {p.name for p in out.iterdir()} >= {
        "report.html",
        "topology.json",
        "atomic-inc-xeon-8176-8s.json",
        "cpumask-yield-epyc-7763-2s.json",
    }


@pytest.mark.slow(reason="20 samples of all experiments")
def test_reproduce_keeps_what_is_there(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def interrupted(plan: RunPlan, tick: Ticker) -> list[Any]:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(f"{plan.request.experiment.name}-{plan.request.machine.name}.json")
        return execute(plan, tick)

    monkeypatch.setattr("report.reproduce.execute", interrupted)
    outcome = cli("reproduce", "--quick", "--out", tmp_path)
    assert outcome.status == 130
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {*done, "topology.json"}
    assert json.loads((tmp_path / done[1]).read_text())["format"] == "schedshard/run/2"


@pytest.mark.long
def test_reproduce_shows_intervals(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("report.reproduce.preset_names", lambda: ["epyc-7763-2s", "xeon-480"])
    monkeypatch.setattr("report.reproduce.SAMPLES", {"cpumask-yield": 20})
    outcome = cli("reproduce", "--out", tmp_path)
    assert outcome.status == 0, outcome.err
    assert "The RT scheduler's global state" in outcome.out
    assert "Cache-aware scheduling" in outcome.out
    assert "Median (90% interval) of 20 samples" in outcome.out
    assert "192 redis-like servers" in (tmp_path / "report.html").read_text(encoding="utf-8")
    ffmpeg = json.loads((tmp_path / "ffmpeg-rt-xeon-480.json").read_text())
    assert ffmpeg["variants"][0]["published"] == {"fps_relative": 1.0, "kernel_share": 0.2}
    assert ffmpeg["params"]["push_ipi"] == 1
    default = json.loads((tmp_path / "ffmpeg-rt-xeon-480-push_ipi-0.json").read_text())
    assert default["params"]["push_ipi"] == 0
    assert [variant["name"] for variant in default["variants"]] == ["stock", "partition", "shard"]
    assert "published" not in default
    said = " ".join(outcome.out.split())
    assert said.index("RT_PUSH_IPI off (Linux's default)") < said.index(
        "RT_PUSH_IPI on (as on the published machine)"
    )
    data = json.loads((tmp_path / "cpumask-yield-epyc-7763-2s.json").read_text())
    assert data["uncertainty"]["samples"] == 20
    assert "param.yield_ns" in {one["name"] for one in data["uncertainty"]["inputs"]}
    other = json.loads((tmp_path / "cpumask-yield-xeon-480.json").read_text())
    assert "uncertainty" not in other


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (1.0, "1.00"), (0.4930, "0.493"), (9.999, "10.0"), (99.96, "100"),
        (1234.5, "1,230"), (14820.1, "14,800"), (0.00123456, "0.00123"),
    ],
)  # fmt: skip
def test_significant(value: float, text: str) -> None:
    assert significant(value) == text


def test_other_numbers() -> None:
    assert percent(1.0) == "100%"
    assert percent(0.329209) == "32.9%"
    assert percent(0.00493) == "0.493%"
    assert signed_percent(0.042) == "+4.2%"
    assert signed_percent(-0.3) == "-30.0%"
    assert signed_percent(1.5) == "2.5x"
    assert signed_percent(-0.75) == "1/4.0x"
    assert times(77.06) == "77x"
    assert times(3.04) == "3.0x"
    assert [compact(v) for v in (10, 1000, 20000, 3e6)] == ["10", "1k", "20k", "3M"]
    assert nanoseconds(56.5) == "56.5 ns"
    assert nanoseconds(4780) == "4.78 us"
    assert nanoseconds(2.5e9) == "2.50 s"
