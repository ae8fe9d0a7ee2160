# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The library's choice of how many CPUs share a line, beside `machine topology --advise`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from common.paths import ROOT
from model.machines.presets import load_machine
from model.run.shard_sizes import advise

HEADER = ROOT / "lib/include/schedshard/create.h"
# A set and its share of searches may cost at most this many times as much with the library's choice
# as with the advised one (docs/results/pools.md). Machines with thousands of CPUs do not exist, and
# are left out.
MOST = 1.3
MACHINES = sorted(
    path.stem for path in (ROOT / "machines").glob("*.toml") if not path.stem.startswith("future")
)


def choice() -> int:
    """The most CPUs on a line of sets and counters."""
    found = re.search(r"#define SHARD_CAP_LOCKED (\d+)u", HEADER.read_text(encoding="utf-8"))
    assert found
    return int(found[1])


@pytest.mark.slow(reason="simulates each size on each machine: half a minute")
@pytest.mark.parametrize("name", MACHINES)
def test_the_advice_gains_little(name: str, real: Path) -> None:
    found = advise(load_machine(name), 10_000.0, 0)
    own = [size for size in found.sizes if size.per_use is not None and size.cpus <= choice()]
    ours, best = own[-1].per_use, found.shard.per_use
    assert ours is not None
    assert best is not None
    assert ours <= MOST * best, f"{own[-1].cpus} CPUs: {ours:.0f} cycles, advised {best:.0f}"
