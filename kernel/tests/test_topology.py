# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A machine that is scaled down to a guest keeps what matters to the scheduler."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import UserError
from kernel.guest.emulated import qemu_topology
from kernel.guest.shapes import SHAPES, named_shapes
from record.shape import MOST_CPUS, Shape, memory_mb, scale, shape_of, usual_shape

MILAN = Shape(packages=2, llcs=8, cores=8, threads=2)
SNC = Shape(packages=2, nodes=3, cores=40, threads=2)


@pytest.mark.parametrize(
    ("full", "cpus", "expected"),
    [
        (MILAN, 64, Shape(packages=2, llcs=4, cores=4, threads=2)),
        (MILAN, 16, Shape(packages=2, llcs=2, cores=2, threads=2)),
        (MILAN, 8, Shape(packages=2, cores=2, threads=2)),
        (MILAN, 1, Shape()),
        (SNC, 24, Shape(packages=2, nodes=3, cores=2, threads=2)),
        (Shape(cores=144), 16, Shape(cores=16)),
        (Shape(packages=8, cores=28, threads=2), 32, Shape(packages=8, cores=2, threads=2)),
    ],
)
def test_what_matters_is_kept(full: Shape, cpus: int, expected: Shape) -> None:
    assert scale(full, cpus, "m") == expected


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 8), st.integers(1, 4), st.integers(1, 16), st.integers(1, 64), st.integers(1, 2)
)
def test_a_scaled_machine_has_the_cpus_and_is_nowhere_larger(
    packages: int, nodes: int, llcs: int, cores: int, threads: int
) -> None:
    full = Shape(packages, nodes, llcs, cores, threads)
    for cpus in (1, 6, 16, 64):
        try:
            small = scale(full, cpus, "m")
        except UserError:
            # Larger than the machine, or a number that its sizes cannot make.
            assert cpus > full.cpus or cpus not in (1, full.cpus)
            continue
        assert small.cpus == cpus
        assert small.packages <= packages
        assert small.nodes <= nodes
        assert small.llcs <= llcs
        assert small.cores <= cores
        assert small.threads <= threads


def test_the_shape_of_a_topology_is_the_usual_one() -> None:
    cpus = [
        {"cpu": n, "package": n // 8, "node": n // 8, "llc": n // 4, "core": n // 2}
        for n in range(16)
    ]
    assert shape_of({"cpus": cpus}) == Shape(packages=2, llcs=2, cores=2, threads=2)
    # One cache has lost a core; the others give the machine's size.
    assert shape_of({"cpus": cpus[2:]}) == Shape(packages=2, llcs=2, cores=2, threads=2)


@pytest.mark.parametrize("cpus", [0, MOST_CPUS + 1])
def test_too_many_or_no_cpus(cpus: int) -> None:
    with pytest.raises(UserError, match=f"1 to {MOST_CPUS}"):
        usual_shape(cpus)


def test_no_such_scale_names_the_nearest() -> None:
    with pytest.raises(UserError, match="m cannot have 13 CPUs; try 12"):
        scale(Shape(packages=2, cores=6, threads=2), 13, "m")


def test_every_cpu_has_an_apic_id_of_eight_bits() -> None:
    # 3 dies and 20 cores take 2 and 5 bits, as 4 and 32 do.
    assert Shape(packages=2, nodes=3, cores=20, threads=2).last_apic_id == 423
    assert Shape(packages=2, cores=60, threads=2).last_apic_id == 247
    assert Shape(packages=256).last_apic_id == 255
    shape = scale(Shape(packages=2, nodes=3, cores=40, threads=2), MOST_CPUS, "snc")
    assert (shape.cpus, shape.packages) == (MOST_CPUS, 2)
    assert shape.last_apic_id <= 254


@pytest.mark.parametrize("shape", [Shape(), MILAN, SNC, usual_shape(64)])
def test_nodes_share_all_cpus_and_all_memory(shape: Shape) -> None:
    argv = qemu_topology(shape, extra_mb=100)
    assert argv[:2] == [
        "-smp",
        f"{shape.cpus},sockets={shape.packages},dies={shape.nodes * shape.llcs},"
        f"cores={shape.cores},threads={shape.threads}",
    ]
    sizes = [int(arg.rpartition("=")[2][:-1]) for arg in argv if arg.startswith("memory-backend")]
    assert not sizes or sum(sizes) == memory_mb(shape, 100)
    covered = [
        range(int(first), int(last) + 1)
        for arg in argv
        if arg.startswith("node,")
        for first, last in [arg.split("cpus=")[1].split(",")[0].split("-")]
    ]
    if covered:
        assert [cpu for part in covered for cpu in part] == list(range(shape.cpus))


def test_named_shapes_keep_the_order_of_the_table() -> None:
    assert [shape.name for shape in named_shapes(["two", "one"])] == ["one", "two"]
    assert named_shapes(["all"]) == list(SHAPES.values())
    assert named_shapes([]) == []
    with pytest.raises(UserError, match=r"unknown shape 'hole': did you mean 'holes'\?"):
        named_shapes(["hole"])


def numa(argv: list[str]) -> list[str]:
    return [arg for arg in argv if arg.startswith("node,")]


def test_odd_shapes_are_what_their_names_say() -> None:
    assert SHAPES["holes"].cpus == 8
    assert "16,sockets=2,dies=1,cores=4,threads=2" in qemu_topology(SHAPES["holes"])
    assert SHAPES["uneven"].cpus == 11
    assert "11,maxcpus=16,sockets=2,dies=1,cores=4,threads=2" in qemu_topology(SHAPES["uneven"])
    assert numa(qemu_topology(SHAPES["memory-node"])) == [
        "node,nodeid=0,cpus=0-3,memdev=m0",
        "node,nodeid=1,cpus=4-7,memdev=m1",
        "node,nodeid=2,memdev=m2",
    ]
    assert numa(qemu_topology(SHAPES["bare-node"])) == [
        "node,nodeid=0,cpus=0-3,memdev=m0",
        "node,nodeid=1,cpus=4-7,memdev=m1",
        "node,nodeid=2,cpus=8-11",
    ]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_all_memory_of_an_odd_shape_belongs_to_nodes(shape: Shape) -> None:
    argv = qemu_topology(shape)
    sizes = [int(arg.rpartition("=")[2][:-1]) for arg in argv if arg.startswith("memory-backend")]
    assert not sizes or sum(sizes) == memory_mb(shape)
    assert 1 <= shape.cpus <= MOST_CPUS
    assert f"{shape.cpus} CPU" in shape.words


@pytest.mark.parametrize("cpus", [1, 2, 7, 16, 48, 64, 240])
def test_the_usual_shapes_have_their_cpus(cpus: int) -> None:
    assert usual_shape(cpus).cpus == cpus
