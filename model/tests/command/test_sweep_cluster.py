# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A sweep on a cluster gives the same rows, and refuses what cannot work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from conftest import Cli, assert_user_error
from model.run.sweep.file import read_rows
from sweeping import SMALL


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """A scheduler with one worker that is reached over TCP."""
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://",
        dashboard_address=":0", memory_limit=0,
    ) as made:  # fmt: skip
        yield made


def test_a_cluster_gives_the_same_file(cli: Cli, cluster: LocalCluster, tmp_path: Path) -> None:
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    args = ("sweep", *SMALL, "--variant", "sbm", "--cpus", "16", "--seeds", "2")
    assert cli(*args, "--out", here).status == 0
    outcome = cli(*args, "--out", there, "--scheduler", cluster.scheduler_address)
    assert outcome.status == 0, outcome.err
    times = {"seconds": 0.0, "commit": ""}
    assert [{**row, **times} for row in read_rows(there)] == [
        {**row, **times} for row in read_rows(here)
    ]


def test_a_worker_with_another_simulator(
    cli: Cli, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("model.run.sweep.prepare.sha256_file", lambda path: "0" * 64)
    out = tmp_path / "s.parquet"
    outcome = cli(
        "sweep", *SMALL, "--cpus", "16", "--out", out, "--scheduler", cluster.scheduler_address
    )
    assert_user_error(outcome, "is another program", "build the same commit there")
    assert not out.exists()


@pytest.mark.parametrize(
    ("mode", "words", "status"),
    [
        ("refuse", "latency_ns.llc must be positive", 2),
        ("garbage", "no result from schedshard-sim", 1),
    ],
)
def test_an_error_of_the_simulator_on_a_worker(
    cli: Cli, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    mode: str, words: str, status: int,
) -> None:  # fmt: skip
    monkeypatch.setenv("FAKE_SIM", mode)
    args = ("--out", tmp_path / "s.parquet", "--scheduler", cluster.scheduler_address)
    assert_user_error(cli("sweep", *SMALL, "--cpus", "16", *args), words, status=status)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("tcp://127.0.0.1:9", "no Dask scheduler answers there"),
        ("carrier://pigeon:1", "unknown address scheme"),
        ("", "missing port"),
        ("of nobody", "the scheduler has no workers"),
    ],
)
def test_schedulers_that_cannot_work(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str, words: str
) -> None:
    monkeypatch.setattr("model.run.sweep.run.CONNECT_SECONDS", 1)
    out = tmp_path / "s.parquet"
    with LocalCluster(
        n_workers=0, processes=False, protocol="tcp://", dashboard_address=":0"
    ) as empty:
        address = empty.scheduler_address if address == "of nobody" else address
        outcome = cli("sweep", *SMALL, "--cpus", "8", "--out", out, "--scheduler", address)
    assert_user_error(outcome, words)
    assert f"--scheduler {address}" in outcome.err or "no workers" in outcome.err
    assert not out.exists()
