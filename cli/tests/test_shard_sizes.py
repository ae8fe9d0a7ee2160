# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How many CPUs should share a line: every size of a small machine, by the real simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli, assert_user_error
from model.run.shard_sizes import FIGURES


@pytest.mark.slow(reason="each size of a shard is simulated")
@pytest.mark.usefixtures("real")
def test_every_size_has_its_costs(cli: Cli) -> None:
    outcome = cli("machine", "topology", "--advise", "--machine", "epyc-7763-2s", "--json")
    assert outcome.status == 0
    data = outcome.json
    sizes = data["sizes"]
    assert [each["cpus"] for each in sizes] == [2, 4, 8, 16, 32, 64]
    inside = [each for each in sizes if each["set_cycles"] is not None]
    assert [each["cpus"] for each in inside] == [2, 4, 8, 16]
    searches = [each["search_cycles"] for each in inside]
    assert searches == sorted(searches, reverse=True)
    locks = [each["lock_ns"] for each in sizes]
    assert locks == sorted(locks)
    best = min(inside, key=lambda each: float(each["cycles_per_use"]))
    assert data["shard_cpus"] == best["cpus"]
    assert {"what": "schedshard's shards", "flag": f"--cap {best['cpus']}"} in data["flags"]
    assert data["pod_cpus"] <= 16
    assert data["samples"] == 20
    for each in sizes:
        found = each["intervals"]
        known = {name for name in FIGURES if each[name] is not None}
        assert set(found) == known
        assert all(found[name]["low"] <= found[name]["median"] <= found[name]["high"]
                   for name in known)  # fmt: skip
        assert found["lock_ns"]["low"] < found["lock_ns"]["high"]
        # In each sample, cycles per use are those of a set and of a part of a search.
        if "cycles_per_use" in known:
            assert found["cycles_per_use"]["low"] > found["set_cycles"]["low"]
    assert 0 < data["samples_with_shard_cpus"] <= 20
    assert 0 < data["samples_with_pod_cpus"] <= 20


@pytest.mark.long
@pytest.mark.usefixtures("real")
def test_a_higher_rate_asks_for_smaller_pods(cli: Cli) -> None:
    args = ("machine", "topology", "--advise", "--machine", "epyc-7763-2s", "--uncertainty", "0")
    text = cli(*args, "--rate", "200000").out
    assert "without intervals" in text
    assert "workqueue.cache_shard_size=" in text
    size = int(text.split("workqueue.cache_shard_size=")[1].split()[0])
    assert size < 8
    assert f"--virt-llc {size}-{size}" in text


def test_refuses_what_it_cannot_use(cli: Cli, tmp_path: Path) -> None:
    args = ("machine", "topology", "--advise", "--machine", "epyc-7763-2s")
    assert_user_error(cli(*args, "--cap", "4"), "--advise and --cap")
    assert_user_error(cli(*args, "--out", tmp_path / "no" / "x"), "no directory")
    assert_user_error(cli("machine", "topology", "--rate", "5"), "--rate belongs to --advise")
    assert_user_error(
        cli("machine", "topology", "--uncertainty", "20"), "--uncertainty belongs to --advise"
    )
    assert_user_error(cli(*args, "--uncertainty", "5"), "20 to 10,000 samples")
    assert_user_error(cli("machine", "topology", "--advise"), "machine measure")
