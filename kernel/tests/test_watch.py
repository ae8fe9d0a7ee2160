# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The watch file of the emulator's plugin says for which CPUs and nodes the guest's stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import UserError
from record.shape import Shape, memory_mb, usual_shape
from record.watch import Function, Node, Watch, map_cpus, map_nodes, shape_for


def machine(packages: int = 2, llcs: int = 8, cores: int = 8, threads: int = 2) -> dict[str, Any]:
    """A regular machine whose second threads come last, a node per package."""
    cpus = []
    total = packages * llcs * cores
    for thread in range(threads):
        for core in range(total):
            package, llc = core // (llcs * cores), core // cores
            cpus.append(
                {"cpu": thread * total + core, "package": package, "node": package, "llc": llc,
                 "core": core, "thread": thread}
            )  # fmt: skip
    return {"cpus": cpus}


def test_64_cpus_stand_for_8_caches_on_2_sockets() -> None:
    topology = machine()
    cpus = map_cpus(usual_shape(64), topology, "m")
    by_number = {cpu["cpu"]: cpu for cpu in topology["cpus"]}
    stood_for = [by_number[cpu] for cpu in cpus]
    assert len(set(cpus)) == 64
    assert [cpu["package"] for cpu in stood_for] == [0] * 32 + [1] * 32
    assert len({cpu["llc"] for cpu in stood_for}) == 8
    for first in range(0, 64, 8):
        assert len({cpu["llc"] for cpu in stood_for[first : first + 8]}) == 1
    for first in range(0, 64, 2):
        assert len({cpu["core"] for cpu in stood_for[first : first + 2]}) == 1


@pytest.mark.parametrize(
    ("shape", "lacking"),
    [
        (Shape(packages=4), "sockets"),
        (Shape(llcs=9), "last-level caches per socket (8)"),
        (Shape(cores=9), "cores per cache (8)"),
        (Shape(threads=3), "threads per core (2)"),
    ],
)
def test_a_machine_that_is_too_small(shape: Shape, lacking: str) -> None:
    with pytest.raises(UserError, match=r"m cannot stand for .* it has too few ") as caught:
        map_cpus(shape, machine(), "m")
    assert str(caught.value).endswith(f"it has too few {lacking}")


def test_the_guest_that_stands_for_a_machine() -> None:
    assert shape_for(machine(), "m", 64) == usual_shape(64)
    # With one cache per socket no cache is divided.
    large = shape_for(machine(llcs=1, cores=120), "m", 64)
    assert (large.packages, large.llcs, large.split_llc) == (2, 1, 0)
    assert len(map_cpus(large, machine(llcs=1, cores=120), "m")) == 64
    with pytest.raises(UserError, match="a guest like m can have 1 to 32 CPUs"):
        shape_for(machine(llcs=1), "m", 64)


@settings(max_examples=60, deadline=None)
@given(
    st.builds(
        Shape,
        packages=st.integers(1, 2),
        llcs=st.integers(1, 8),
        cores=st.integers(1, 8),
        threads=st.integers(1, 2),
    )
)
def test_no_cpu_stands_for_two(shape: Shape) -> None:
    cpus = map_cpus(shape, machine(), "m")
    assert len(cpus) == len(set(cpus)) == shape.cpus


def test_memory_is_that_of_the_node_of_its_cpus() -> None:
    shape = usual_shape(16)
    topology = machine()
    nodes = map_nodes(shape, 128, map_cpus(shape, topology, "m"), topology)
    half = memory_mb(shape, 128) // 2 << 20
    assert nodes == [Node(0, half, 0), Node(half, 2 * half, 1)]


def test_the_file(tmp_path: Path) -> None:
    watch = Watch(
        tmp_path / "r.json",
        text=[(0x1000, 0x2000)],
        functions=[Function("set", ((0x1000, 0x1010), (0x1800, 0x1804)))],
        machine=tmp_path / "m.toml",
        cpus=[3, 1],
        nodes=[Node(0, 0x1000, 1)],
        quantum=500,
    )
    assert watch.lines() == (
        "text 0x1000 0x2000\n"
        "function set 0x1000 0x1010\n"
        "cold set 0x1800 0x1804\n"
        f"machine {tmp_path}/m.toml\n"
        "cpu 3\ncpu 1\n"
        "node 0x0 0x1000 1\n"
        "quantum 500\n"
        f"result {tmp_path}/r.json\n"
    )
    assert "machine" not in Watch(tmp_path / "r").lines()
