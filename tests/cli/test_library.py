# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb bench library: ratios, targets and reasons, and its rows of real tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from common.errors import UserError
from conftest import Cli, assert_user_error
from model.live.library import crate_rows
from model.live.library_rows import CRATES, POOLS, Figure, Row, compared, ratio
from model.run.run_options import RunOptions, make_request
from model.run.uncertain.uncertainty import plan_study

POOL = POOLS[0]


def test_a_ratio_is_taken_within_each_sample() -> None:
    ours = Figure(10.0, 5.0, 20.0, (5.0, 10.0, 20.0))
    peers = [Figure(20.0, 10.0, 40.0, (10.0, 20.0, 40.0)), Figure(99.0, 99.0, 99.0, (99.0,) * 3)]
    found = ratio(ours, peers)
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))


def test_a_ratio_without_samples_takes_the_ends() -> None:
    found = ratio(Figure(10.0, 8.0, 16.0), [Figure(40.0, 32.0, 64.0), Figure(20.0, 16.0, 24.0)])
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 1.0, 3.0))


@pytest.mark.parametrize(
    ("peer", "cpus", "threads", "met"),
    [
        (9.2, 480, 16, True),  # no worse than 1.1 times
        (9.0, 480, 16, False),
        (14.9, 480, 480, False),  # large, all CPUs: 1.5 times better
        (15.1, 480, 480, True),
        (9.2, 128, 128, True),  # not large
    ],
)
def test_the_target_of_a_pool(peer: float, cpus: int, threads: int, met: bool) -> None:
    figures = {
        "claim-pool": Figure(10.0, 10.0, 10.0),
        "claim-words": Figure(peer, peer, peer),
        "claim-packed": Figure(1000.0, 1000.0, 1000.0),
    }
    row = compared(POOL, figures, cpus, threads)
    assert row is not None
    assert (row.best_peer, row.met, row.sure) == ("claim-words", met, True)
    assert bool(row.why) is not met


def test_a_range_around_the_target_is_not_sure() -> None:
    figures = {"ours": Figure(10.0, 9.0, 12.0), "theirs": Figure(10.0, 9.0, 11.0)}
    found = compared(Row("add", "ours", ("theirs",)), figures, 4, 2)
    assert found is not None
    assert found.met
    assert not found.sure


def test_a_row_without_a_peer_is_left_out() -> None:
    assert compared(Row("add", "ours", ("theirs",)), {"ours": Figure(1, 1, 1)}, 4, 2) is None


def test_what_the_crates_print_becomes_rows() -> None:
    lines = ["2 threads, ns per operation: median, lowest, highest of 15 turns"]
    for row in CRATES:
        lines += [f"  {row.ours:28} {20.0:8.1f} {10.0:8.1f} {40.0:8.1f}"]
    for peer in {peer for row in CRATES for peer in row.peers}:
        lines += [f"  {peer:28} {40.0:8.1f} {40.0:8.1f} {40.0:8.1f}"]
    rows = crate_rows("\n".join(lines), 2)
    assert [made.row for made in rows] == [row.title for row in CRATES]
    for made in rows:
        assert (made.threads, made.ratio.value) == (2, 2.0)
        assert (made.ratio.low, made.ratio.high) == (1.0, 4.0)


def test_the_names_of_crates_are_those_of_their_program() -> None:
    source = (Path(__file__).parents[2] / "rust/bench/src/main.rs").read_text(encoding="utf-8")
    for row in CRATES:
        for name in (row.ours, *row.peers):
            assert f'"{name}"' in source


def test_wrong_options_are_refused(cli: Cli) -> None:
    few = cli("bench", "library", "--machine", "xeon-480", "--samples", "3")
    assert_user_error(few, "--samples 3: a 90% interval needs 20")
    assert_user_error(cli("bench", "library", "--rust", "--machine", "xeon-480"), "--machine")
    assert_user_error(cli("bench", "library", "--machine", "nowhere"), "nowhere")
    limited = cli("bench", "library", "--machine", "xeon-480", "--limit", "5")
    assert_user_error(limited, "--limit is for measurements on this host")
    assert_user_error(cli("bench", "library", "--samples", "20"), "--samples is for simulated")


def test_many_samples_need_no_tool_of_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the ranking of inputs needs the packages of sweeps, and many samples alone do not."""

    def missing(what: str) -> None:
        raise UserError(f"{what} needs packages")

    monkeypatch.setattr("model.run.uncertain.uncertainty.need_sweep", missing)
    options = RunOptions("primitives", "graviton3-64", ops=("cpu-counter",), threads="2")
    assert len(plan_study(make_request(options), 64, tmp_path).plans) == 64


def test_a_simulated_machine_has_every_row(real: Path, cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "library.json"
    told = cli(
        "bench", "library", "--machine", "graviton3-64", "--samples", "0", "--out", out
    )  # fmt: skip
    assert told.status == 0, told.err
    (machine,) = json.loads(out.read_text(encoding="utf-8"))["machines"]
    rows = {(row["row"], row["threads"], row["work_ns"]): row for row in machine["rows"]}
    for work in (0.0, 1000.0):
        for threads in (2, 16, 64):
            assert ("claim and put, a pool", threads, work) in rows
    alone = {"set and clear", "walk, one in 16", "walk, full", "make and free a pool"}
    assert alone <= {row for row, threads, _ in rows if threads == 1}
    assert {"memory of a pool", "memory of a set"} <= {row for row, n, _ in rows if n is None}
    # All 64 threads write the words of claim-words. The pool has a line per two CPUs.
    assert rows["claim and put, a pool", 64, 0.0]["met"]
    assert "not met" in told.out
    assert "claim-words" in told.out
