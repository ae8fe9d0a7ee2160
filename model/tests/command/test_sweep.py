# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb sweep fills a file, continues where it stopped, and loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Cli, assert_user_error
from model.machines.presets import load_machine
from model.run.sweep.file import read_rows
from sweeping import SMALL
from test_process import children_of, environment


def test_sweep_fills_a_file_and_shows_it(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    outcome = cli(
        "sweep", *SMALL, "--variant", "sbm", "--variant", "global", "--cpus", "16", "--cpus", "512",
        "--cap", "8", "--cap", "64", "--seeds", "2", "--out", path,
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    assert outcome.err.splitlines() == [
        "schedshard: epyc-7763-2s has 256 CPUs: left out 512",
        f"saved {path}",
    ]
    rows = read_rows(path)
    assert len(rows) == 8
    assert {(row["cap"], row["seed"]) for row in rows} == {(8, 1), (8, 2), (64, 1), (64, 2)}
    assert {len(row["simulator_sha256"]) for row in rows} == {64}
    by_key = {(r["variant"], r["cap"], r["seed"]): r["cycles_per_op"] for r in rows}
    assert by_key["sbm", 8, 2] == pytest.approx(520 * 16 / 256 + 0.002 + 8e-6)
    assert "±" in outcome.out


def test_a_sweep_goes_on_where_it_was(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    first = cli("sweep", *SMALL, "--variant", "sbm", "--cpus", "16", "--out", path)
    assert first.status == 0
    before = path.read_bytes()
    again = cli("sweep", *SMALL, "--variant", "sbm", "--cpus", "16", "--out", path)
    assert again.err.splitlines()[0] == f"1 of 1 points are in {path}"
    assert again.out == first.out
    assert path.read_bytes() == before
    more = cli("sweep", *SMALL, "--variant", "sbm", "--cpus", "16", "--seeds", "3", "--out", path)
    assert more.err.splitlines()[0] == f"1 of 3 points are in {path}"
    assert [row["added"] for row in read_rows(path)] == [1, 2, 2]


def test_a_point_that_fails_ends_the_sweep_and_loses_nothing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setenv("FAKE_SIM", "bad-llc")
    path = tmp_path / "s.parquet"
    args = ("sweep", *SMALL, "--cpus", "16", "--out", path)
    assert_user_error(cli(*args), "latency_ns.llc must be positive")
    done = {row["variant"] for row in read_rows(path)}
    assert "llc" not in done
    assert {"global", "node"} <= done
    monkeypatch.delenv("FAKE_SIM")
    outcome = cli(*args)
    assert outcome.status == 0
    assert outcome.err.startswith(f"{len(done)} of 6 points")
    assert len(read_rows(path)) == 6


def test_nothing_is_written_when_nothing_was_done(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_SIM", "crash")
    outcome = cli("sweep", *SMALL, "--cpus", "16", "--out", tmp_path / "s.parquet")
    assert_user_error(outcome, "was ended by SIGABRT", status=1)
    assert list(tmp_path.iterdir()) == []


def test_machines_of_one_name_are_refused(cli: Cli, tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text(load_machine("epyc-7763-2s").path.read_text())
    outcome = cli("sweep", *SMALL, "--machine", copy, "--out", tmp_path / "s.parquet")
    assert_user_error(outcome, "both called 'epyc-7763-2s'")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_keeps_what_is_done(tmp_path: Path, number: signal.Signals) -> None:
    out = tmp_path / "s.parquet"
    code = (
        "import sys, model.run.sweep.run as s, common.progress as p\n"
        "s.SAVE_EVERY_SECONDS, p.LINE_EVERY_SECONDS = 1e9, 0\n"
        "from cli.__main__ import start; sys.exit(start())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "sweep", *SMALL, "--cpus", "16", "--variant", "llc",
         "--variant", "node", "--variant", "global", "--out", str(out)],
        env=environment(FAKE_SIM="slow-llc"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "2/3" in line:  # variant llc is left, which sleeps
            break
    children = children_of(process.pid)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert (stdout, stderr) == ("", "")
    assert process.returncode == 128 + number
    assert {row["variant"] for row in read_rows(out)} == {"node", "global"}
    assert [p.name for p in tmp_path.iterdir()] == ["s.parquet"]
    for child in children:
        assert not Path(f"/proc/{child}").exists()
