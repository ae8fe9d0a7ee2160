# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How many CPUs should share a line: every size of a small machine, by the real simulator."""

from __future__ import annotations

import re

import pytest

from common.paths import MACHINES, ROOT
from conftest import Cli
from model.machines.presets import load_machine
from model.run.shard_sizes import FIGURES, advise

# A set and its share of searches may cost at most this many times as much with the library's choice
# as with the advised one (docs/results/pools.md). Machines with thousands of CPUs do not exist, and
# are left out.
MOST = 1.3
PRESETS = sorted(path.stem for path in MACHINES.glob("*.toml") if "future" not in path.stem)


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


@pytest.mark.slow(reason="simulates each size on each machine: half a minute")
@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("name", PRESETS)
def test_the_advice_gains_little_beside_the_librarys_choice(name: str) -> None:
    header = (ROOT / "lib/include/schedshard/create.h").read_text(encoding="utf-8")
    cap = re.search(r"#define SHARD_CAP_LOCKED (\d+)u", header)
    assert cap is not None
    advice = advise(load_machine(name), 10_000.0, 0)
    own = [size for size in advice.sizes if size.per_use is not None and size.cpus <= int(cap[1])]
    ours, best = own[-1].per_use, advice.shard.per_use
    assert ours is not None
    assert best is not None
    assert ours <= MOST * best, f"{own[-1].cpus} CPUs: {ours:.0f} cycles, advised {best:.0f}"
