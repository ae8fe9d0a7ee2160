# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the output of a verdict as a page with a picture, for Nagios and for Prometheus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from doctor_cli import assert_refused, call
from doctor_tree import KTHREAD, Machine, Task, tar
from html_page import read_page
from test_doctor_verdict import DATA, ROOT, groups, partitions

Capture = pytest.CaptureFixture[str]


def page(capsys: Capture, tmp_path: Path, *args: str | Path) -> str:
    out = tmp_path / "page.html"
    outcome = call(capsys, "doctor", *args, "--html", out)
    assert outcome.status in (0, 3, 4)
    assert outcome.err.endswith(f"wrote {out}\n")
    read_page(out)  # which needs no other file
    return out.read_text()


def test_page_shows_the_root_domains(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(tasks=groups(4_000_000), cgroups=partitions("isolated"))
    text = page(capsys, tmp_path, tar(tmp_path, machine))
    for words in ("LLC 3", "node 1", "HIGH: Isolated CPUs", "def_root_domain", "what helps"):
        assert words in text, words
    # 12 CPUs of real-time threads, in three partitions of a plan; one number and one sentence.
    assert (text.count("--n: 5"), text.count("--n: 0")) == (12, 4)
    assert text.count("<b>partition ") == 3
    sentence = re.findall("<h2>(.*)</h2>", text)[0]
    assert sentence.startswith("3 partitions would free ")
    assert len(sentence.split()) <= 20
    assert page(capsys, tmp_path, tmp_path / "host.tar") == text


def test_page_without_findings(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(tasks=groups(4_000_000), cgroups=partitions("root"))
    text = page(capsys, tmp_path, tar(tmp_path, machine))
    assert "No remedy was found." in text
    assert "no partition would save enough" in text
    assert text.count("<b>group ") == 3


def test_page_claims_no_more_than_the_verdict(capsys: Capture, tmp_path: Path) -> None:
    interrupts = [
        Task(100 + n, f"irq/{n}", allowed=str(n), voluntary=200_000, flags=KTHREAD)
        for n in range(16)
    ]
    for name, tasks, answer, sentence in (
        ("impossible", groups(40_000_000), "cannot tell<", "Whether anything is lost is not known"),
        (
            "wide",
            groups(4_000_000),
            r"cannot tell: [\d.]+%",
            "3 partitions would free CPU time, but",
        ),
        ("interrupts", interrupts, r"[\d.]+% \(", "Real-time threads of separate groups share"),
        ("narrow", groups(400_000), r"[\d.]+% \(", r"3 partitions would free [\d.]+ of 16"),
    ):
        host = tar(tmp_path / name, Machine(tasks=tasks, node_cpus=16))
        text = page(capsys, tmp_path / name, host)
        assert re.search(f">{answer}", text), name
        assert re.match(sentence, re.findall("<h2>(.*)</h2>", text)[0]), name


def test_page_of_a_profile(capsys: Capture, tmp_path: Path) -> None:
    text = page(capsys, tmp_path, "--perf", DATA / "c2c-mail.txt")
    assert 'class="box"' not in text
    assert "its third line" in text


def test_nagios(capsys: Capture, tmp_path: Path) -> None:
    cases = {
        "ok": (Machine(tasks=groups(500)), 0, "SCHEDSHARD OK - Nothing found"),
        "low": (Machine(cpus=64, node_cpus=64, tasks=groups(400_000)), 0, "SCHEDSHARD OK - "),
        "medium": (Machine(node_cpus=16, tasks=groups(200_000)), 1, "SCHEDSHARD WARNING - "),
        "high": (Machine(tasks=groups(4_000_000)), 2, "SCHEDSHARD CRITICAL - "),
        "hidden": (Machine(tasks=groups(5), kernel_threads=False), 3, "SCHEDSHARD UNKNOWN - "),
    }
    for name, (machine, status, begins) in cases.items():
        outcome = call(capsys, "doctor", tar(tmp_path / name, machine), "--batch", "nagios")
        assert (outcome.status, outcome.err) == (status, ""), name
        first = outcome.out.splitlines()[0]
        assert first.startswith(begins)
        text, _, data = first.partition(" | ")
        assert "|" not in text
        values = dict(pair.split("=") for pair in data.split())
        assert values["findings"] == ("0" if name in ("ok", "hidden") else "1")
    bad = call(capsys, "doctor", tmp_path / "no.tar", "--batch", "nagios")
    assert (bad.status, bad.err) == (3, "")
    assert bad.out.startswith("SCHEDSHARD UNKNOWN - cannot read host file")


def test_a_severity_near_its_limit_stays(capsys: Capture, tmp_path: Path) -> None:
    host, out = tar(tmp_path, Machine(tasks=groups(800_000))), tmp_path / "schedshard.prom"
    saved = call(capsys, "doctor", host, "--json").json["findings"][0]["predicted"]["variants"]
    gain = 100 * (saved[0]["share"]["value"] - saved[1]["share"]["value"])
    batch = ("doctor", host, "--batch", "nagios", "--out", out, "--threshold")
    assert call(capsys, *batch, str(1.2 * gain)).status == 0
    assert call(capsys, *batch, str(0.9 * gain)).status == 2
    assert call(capsys, *batch, str(1.2 * gain)).status == 2
    assert call(capsys, *batch, str(1.5 * gain)).status == 0
    assert call(capsys, *batch, str(1.2 * gain)).status == 0


def test_a_bar_in_a_name_begins_no_data(capsys: Capture, tmp_path: Path) -> None:
    cgroups = {f"{ROOT}/a|b": {"cpuset.cpus": "4", "cpuset.cpus.partition": "root invalid (x|y=1)"}}
    host = tar(tmp_path, Machine(tasks=[Task(90, "x")], cgroups=cgroups))
    out = call(capsys, "doctor", host, "--batch", "nagios").out
    assert out.count("|") == 1


_SAMPLE = re.compile(
    r'schedshard_doctor_[a-z_]+(\{([a-z]+="([^"\\\n]|\\["\\n])*",?)*\})? [0-9.e+-]+'
)


def test_prometheus(capsys: Capture, tmp_path: Path) -> None:
    out = tmp_path / "schedshard.prom"
    machine = Machine(tasks=groups(4_000_000), cgroups=partitions("isolated"))
    host = tar(tmp_path, machine)
    args = ("doctor", host, "--batch", "prometheus", "--out", out)
    outcome = call(capsys, *args)
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    lines = out.read_text().splitlines()
    for line in lines:
        assert line.startswith(("# HELP ", "# TYPE ")) or _SAMPLE.fullmatch(line), line
    assert "schedshard_doctor_verdict 4" in lines
    assert 'schedshard_doctor_severity{id="rd-isolated"} 3' in lines
    assert 'schedshard_doctor_severity{id="rd-shared"} 0' in lines
    rate = 'schedshard_doctor_rt_wakeups_per_second{cpus="4-15",default="1"} '
    assert any(line.startswith(rate) for line in lines)
    # A failed run leaves the old file, and nothing beside it.
    before = sorted(tmp_path.iterdir())
    old = out.read_text()
    assert_refused(call(capsys, "doctor", tmp_path / "no.tar", *args[2:]), "no such file")
    assert out.read_text() == old
    assert sorted(tmp_path.iterdir()) == before


def test_prometheus_has_no_severity_of_what_was_not_judged(capsys: Capture, tmp_path: Path) -> None:
    host, out = tar(tmp_path, Machine(tasks=groups(500))), tmp_path / "schedshard.prom"
    report = tmp_path / "report.txt"
    report.write_text(
        "# Samples: 4K of event 'cpu-clock'\n#\n# Overhead  Command  Shared Object      Symbol\n"
        "    50.00%  work     [kernel.kallsyms]  [k] some_function\n"
        "    40.00%  other    [kernel.kallsyms]  [k] a_function\n"
    )
    alone = tmp_path / "alone.txt"
    alone.write_text(report.read_text().replace("other", "work:7").replace("work ", "work:7"))
    profile = ("--perf", DATA / "c2c-mail.txt")
    every = {"rd-shared", "rd-isolated", "partition-invalid", "vm-llc", "futex-hash"}
    hidden = tar(tmp_path / "hidden", Machine(tasks=groups(500), kernel_threads=False))
    for args, judged in (
        ((host,), every - {"futex-hash"}),
        ((hidden,), set()),
        ((host, "--perf", report), every),
        ((host, "--perf", alone), every - {"futex-hash"}),
        (("--perf", report), {"rd-shared", "futex-hash"}),
        (profile, {"rd-shared"}),
    ):
        call(capsys, "doctor", *args, "--batch", "prometheus", "--out", out)
        metrics = set(re.findall(r'_severity\{id="([a-z-]+)"\}', out.read_text()))
        assert metrics & every == judged, args


def test_options_that_exclude_each_other(capsys: Capture, tmp_path: Path) -> None:
    host = tar(tmp_path, Machine())
    for args, words in (
        (("--batch", "prometheus"), ("--out FILE",)),
        (("--out", tmp_path / "x"), ("--batch", "--html")),
        (("--batch", "prometheus", "--out", tmp_path / "x", "--json"), ("exclude",)),
        (("--html", tmp_path), ("is a directory",)),
        (("--html", tmp_path / "no" / "x.html"), ("no directory",)),
        (("--batch", "zabbix"), ("nagios",)),
        (("--threshold", "nan"), ("--threshold", "percentage")),
        (("--threshold", "101"), ("--threshold", "percentage")),
    ):
        assert_refused(call(capsys, "doctor", host, *args), *words)
    assert not (tmp_path / "x").exists()
