# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record replay makes the same report from a trace, and reports on other machines to compare."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, Report, needs, run

from calling import call
from common.paths import ROOT

pytestmark = needs(PROGRAMS / "record-known")


def check_intervals(report: Report) -> None:
    """Check the intervals of cycles per load, of all cycles, and of the gain of advice."""
    assert report["uncertainty"]["samples"] == 20
    for variant in report["variants"]:
        line = variant["lines"][0]
        assert line["interval"]["samples"] == 20
        assert line["interval"]["low"] < line["interval"]["high"]
        assert line["interval"]["low"] * 0.8 < line["avg_load_cycles"]
        assert line["avg_load_cycles"] < line["interval"]["high"] * 1.2
        work = variant["interval"]["work_cycles"]
        assert work["low"] <= work["median"] <= work["high"]
        gain = report["advice"][0]["machines"][variant["name"]]
        assert 0 < gain["interval"]["low"] <= gain["interval"]["high"] < 1
        assert gain["interval"]["low"] * 0.8 < gain["fewer"] < gain["interval"]["high"] * 1.2


def test_a_trace_is_replayed_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, saved = tmp_path / "trace", tmp_path / "a.json"
    program = [str(PROGRAMS / "record-known"), "side", "4", "500", "400"]
    done = run(
        "record", "--machine", MACHINE, "--cpus", "64", "--placement", "scatter", "--marks",
        "--trace", str(trace), "--out", str(saved), "--html", str(tmp_path / "page.html"), "--",
        *program,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "side: right\n"
    assert "side" in (tmp_path / "page.html").read_text(encoding="utf-8")
    first = json.loads(saved.read_text(encoding="utf-8"))
    # Far apart: half of the four are in the other socket.
    assert first["variants"][0]["hitm_remote"] > 0
    again = run("replay", str(trace), "--machine", MACHINE, "--machine", "xeon-480", "--json")
    assert again.returncode == 0, again.stderr
    replayed = json.loads(again.stdout)
    assert [variant["name"] for variant in replayed["variants"]] == [MACHINE, "xeon-480"]
    assert replayed["variants"][0] == first["variants"][0]
    check_intervals(replayed)
    other = tmp_path / "b.json"
    other.write_text(again.stdout, encoding="utf-8")
    compared = json.loads(run("diff", str(saved), str(other), "--json").stdout)
    assert compared["machines"][0]["hitm"]["a"] == compared["machines"][0]["hitm"]["b"]
    too = call(capsys, "compare", saved, other, "--json")
    assert (too.status, too.json) == (0, compared)
    refused = call(capsys, "compare", saved, other, "--metric", "x")
    assert refused.status == 2
    assert "--metric: recordings of programs are compared by object" in refused.err
    shown = run("show", str(saved))
    assert shown.returncode == 0
    assert "Contended lines" in shown.stdout
    trace.write_bytes(trace.read_bytes()[:2000])
    cut = run("replay", str(trace), "--machine", MACHINE, "--json", "--no-advice")
    assert cut.returncode == 0
    assert json.loads(cut.stdout)["partial"]


def _interrupt(which: signal.Signals, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Record a program that says when it waits, and send a signal to the recorder alone."""
    command = [sys.executable, "-m", "cli", "record", "--machine", MACHINE]
    with subprocess.Popen(
        [*command, *arguments, "--", "sh", "-c", "echo waits; exec sleep 60"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "waits\n"
        child.send_signal(which)
        out, err = child.communicate(timeout=50)
        return subprocess.CompletedProcess(command, child.returncode, out, err)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_to_the_recorder_reaches_the_program(name: str) -> None:
    done = _interrupt(signal.Signals[name], "--uncertainty", "0")
    assert done.returncode == 128 + signal.Signals[name], done.stderr
    assert f"{name} ended the program: the report covers the time before" in done.stderr


def test_ctrl_c_after_the_programs_end_leaves_the_report(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cli", "record", "--machine", MACHINE, "--uncertainty", "400"]
    program = [str(PROGRAMS / "record-known"), "side", "4", "100", "0"]
    for turn in range(5):
        trace = tmp_path / f"trace{turn}"
        with subprocess.Popen(
            [*command, "--trace", str(trace), "--", *program],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as child:  # fmt: skip
            while not Path(f"{trace}.names.json").exists() and child.poll() is None:
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=50)
        # On a busy host the signal may come before the recorder has seen that the program ended.
        if "the report is without advice and intervals" in err:
            break
    assert child.returncode == 0, err
    assert "the report is without advice and intervals" in err
    assert "5 threads, predicted" in err


def test_a_recording_that_ends_early_leaves_the_trace_before(tmp_path: Path) -> None:
    """A part of a new trace beside the names of an old one would be replayed under those names."""
    trace, names = tmp_path / "trace", tmp_path / "trace.names.json"
    trace.write_bytes(b"old")
    names.write_bytes(b"old")
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # pytest's parent may ignore it
    try:
        done = _interrupt(signal.SIGHUP, "--trace", str(trace))
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (done.returncode, done.stderr) == (128 + signal.SIGHUP, "")
    assert sorted(tmp_path.iterdir()) == [trace, names]
    assert trace.read_bytes() == names.read_bytes() == b"old"
