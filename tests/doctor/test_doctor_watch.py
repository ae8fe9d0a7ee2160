# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Watching a host: metrics, the count of wake-ups, and when a message is printed."""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from shutil import which

import pytest

from common.errors import UserError
from doctor.facts.archive import read_tar
from doctor.watch import watch as watching
from doctor.watch.count import Counting, counters
from doctor.watch.unit import unit_text
from doctor.watch.watch import Alarm, WatchRequest, scaled, watch
from doctor_cli import assert_refused, call
from doctor_tree import Machine, build
from test_doctor_predict import facts_of
from test_doctor_verdict import groups, tar

Capture = pytest.CaptureFixture[str]


def program(folder: Path, name: str, text: str) -> None:
    """A program of that name that prints a text, or does what its lines say."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def request(out: Path | None, count: int, rounds: int = 2) -> WatchRequest:
    return WatchRequest(seconds=1, every=1, threshold=0.05, rounds=rounds, count=count, out=out)


def test_an_alarm_speaks_once_and_takes_it_back() -> None:
    alarm = Alarm(0.05, 2)
    told = [alarm.tell(cost) for cost in (0.06, 0.04, 0.06, 0.07, 0.08, 0.01, 0.06, 0.01, 0.01)]
    said = [number for number, text in enumerate(told) if text]
    assert said == [3, 8]
    assert (told[3], told[8]) == ("above 5.0% for 2 rounds", "no longer above 5.0%, for 2 rounds")


def test_rounds_write_metrics_and_speak(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = []
    for name, rate in (("low", 500), ("high", 4_000_000)):
        (tmp_path / name).mkdir()
        lists.append(read_tar(tar(tmp_path / name, Machine(tasks=groups(rate)))))
    monkeypatch.setenv("PATH", "/nowhere")
    turns = iter([lists[0], lists[1], lists[1], lists[1]])
    out = tmp_path / "metrics.prom"
    seen = []

    def sleep(_: float) -> None:
        seen.append(out.read_text())

    assert watch(request(out, 4), lambda seconds: next(turns), sleep) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert said[0].endswith("(wake-ups from /proc)")
    assert "above 5.0% for 2 rounds" in said[1]
    assert "schedshard_doctor_verdict 0" in seen[0]
    assert "schedshard_doctor_cost_alarm 0" in seen[1]
    assert "schedshard_doctor_cost_alarm 1" in out.read_text()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["high", "low", "metrics.prom"]


def test_a_round_that_fails_is_not_the_end(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = read_tar(tar(tmp_path, Machine(tasks=groups(500))))
    monkeypatch.setenv("PATH", "/nowhere")
    turns = iter([None, lists])

    def read(_: int) -> dict[str, str]:
        made = next(turns)
        if made is None:
            raise UserError("the collector failed: no reason")
        return made

    out = tmp_path / "metrics.prom"
    assert watch(request(out, 2), read, lambda _: None) == 0
    assert "the collector failed: no reason" in capsys.readouterr().err
    assert "schedshard_doctor_verdict 0" in out.read_text()


def test_the_tracepoint_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    perf = "echo '123456;;sched:sched_wakeup;2000;100.00;;'"
    program(tmp_path, "perf", perf)
    program(tmp_path, "bpftrace", "echo; echo '@rt: 4444'")
    counting = Counting(counters(2), 2)
    counting.start()
    assert counting.result() == ("perf", 61728.0)
    program(tmp_path, "perf", "echo '\u0661\u0662;;sched:sched_wakeup;2000;100.00;;'")
    counting.start()
    assert counting.result() == ("/proc", None)
    # A perf that may not: bpftrace from the next round on, and then what /proc says.
    program(tmp_path, "perf", "echo 'Error: no permission' >&2; exit 255")
    counting = Counting(counters(2), 2)
    results = []
    for _ in range(4):
        counting.start()
        results.append(counting.result())
        if len(results) == 2:
            program(tmp_path, "bpftrace", "exit 1")
    assert results == [("/proc", None), ("bpftrace", 2222.0), ("/proc", None), ("/proc", None)]


def test_what_is_counted_and_not_in_proc(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, Machine(tasks=groups(1000)))
    rate = sum(each.voluntary or 0 for each in facts.threads if not each.stopper) / facts.seconds
    assert scaled(facts, rate * 1.05) is facts
    more = scaled(facts, rate * 3)
    counted = sum(each.voluntary or 0 for each in more.threads if not each.stopper)
    assert counted / more.seconds == pytest.approx(3 * rate, rel=0.01)
    idle = replace(facts, threads=())
    assert scaled(idle, 5000.0) is idle


@pytest.mark.long
def test_the_command(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "metrics.prom"
    lists = read_tar(tar(tmp_path, Machine(tasks=groups(500))))
    monkeypatch.setattr(watching, "read_host", lambda seconds: lists)
    monkeypatch.setattr(watching.watch, "__defaults__", (lambda _: lists, lambda _: None))
    outcome = call(capsys, "doctor", "--watch", "--count", "2", "--every", "3", "--out", out)
    assert outcome.status == 0
    assert "schedshard_doctor_cost_alarm 0" in out.read_text()


def test_what_excludes_each_other(capsys: Capture, tmp_path: Path) -> None:
    host = build(tmp_path / "tree", Machine())
    for args, words in (
        (("--watch", host), ("HOST.tar",)),
        (("--watch", "--json"), ("--json",)),
        (("--watch", "--predict"), ("--predict",)),
        (("--watch", "--every", "2"), ("--every 2", "--seconds 3")),
        (("--every", "5"), ("--every", "--watch")),
        (("--watch", "--out", tmp_path / "no" / "x"), ("no directory",)),
    ):
        assert_refused(call(capsys, "doctor", *args), *words)


def test_a_unit(capsys: Capture, tmp_path: Path) -> None:
    program = ["/usr/bin/python3", "/opt/schedshard-doctor.pyz"]
    text = unit_text(program, Path("/var/lib/metrics/s.prom"))
    assert "ExecStart=/usr/bin/python3 /opt/schedshard-doctor.pyz --watch " in text
    assert "ReadWritePaths=/var/lib/metrics\n" in text
    # ProtectSystem=strict makes /tmp read-only, but each round writes its lists there.
    assert "ProtectSystem=strict\n" in text
    assert "PrivateTmp=yes\n" in text
    # Else the unit would count as failed after systemctl stop.
    assert "SuccessExitStatus=143\n" in text
    ours = call(capsys, "doctor", "unit", "--out", "/run/x.prom").out
    [command] = [line for line in ours.splitlines() if line.startswith("ExecStart=")]
    # ExecStart names an executable, whose message shows that --watch is on.
    words = command.partition("=")[2].partition(" --every")[0].split()
    assert os.access(words[0], os.X_OK)
    said = subprocess.run([*words, "--html", "x"], capture_output=True, text=True)
    assert "--watch looks at this host" in said.stderr
    if which("systemd-analyze"):
        unit = tmp_path / "schedshard-doctor.service"
        unit.write_text(ours)
        checked = subprocess.run(
            ["systemd-analyze", "verify", unit], capture_output=True, text=True
        )
        assert "schedshard" not in checked.stderr
    for path in ("relative.prom", "/a b.prom", "/a%n", '/a"', "/a$x", "/a\nExecStart=/bin/x"):
        for program_path, metrics_path in (("/opt/x.pyz", path), (f"{path}/", "/run/x.prom")):
            with pytest.raises(UserError, match="a unit needs an absolute path"):
                unit_text(["/usr/bin/python3", program_path], Path(metrics_path))
