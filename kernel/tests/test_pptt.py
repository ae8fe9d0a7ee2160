# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The table of a guest's caches, read back as Linux reads it, and how it comes to the guest."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernel.arch import ARM64
from kernel.guest.boot import BootRequest, Firmware, first_files, qemu_argv
from kernel.guest.cpio import archive
from kernel.guest.pptt import PPTT_PATH, cache_table
from kernel.guest.shapes import SHAPES
from record.shape import USUAL, Shape

LLCS = Shape(packages=2, nodes=2, llcs=2, cores=2, threads=1)
REQUEST = BootRequest(Path("Image"), "x", LLCS)


@dataclass(frozen=True)
class Node:
    """A processor of the table, or a node that contains processors."""

    flags: int
    parent: int
    number: int
    caches: tuple[int, ...]


def entries(table: bytes) -> tuple[dict[int, Node], dict[int, int]]:
    """Processors, and attributes of caches, by their offsets."""
    nodes, caches = {}, {}
    at = 36
    while at < len(table):
        kind, size = table[at], table[at + 1]
        if kind == 0:
            flags, parent, number, count = struct.unpack_from("<4I", table, at + 4)
            private = struct.unpack_from(f"<{count}I", table, at + 20)
            nodes[at] = Node(flags, parent, number, private)
        else:
            caches[at] = table[at + 21]
        at += size
    assert at == len(table)
    return nodes, caches


def walk_up(table: bytes, cpu: int) -> tuple[int, int]:
    """Offsets of a CPU's highest node with a cache for data, and of its package."""
    nodes, caches = entries(table)
    parents = {node.parent for node in nodes.values()}
    at = next(at for at in nodes if nodes[at].number == cpu and at not in parents)
    last = 0
    while True:
        node = nodes[at]
        if any(caches[cache] >> 2 & 3 != 1 for cache in node.caches):
            last = at
        if node.flags & 1:
            return last, at
        at = node.parent


@pytest.mark.parametrize("shape", [*USUAL.values(), LLCS, *SHAPES.values()])
def test_cpus_share_the_caches_of_the_shape(shape: Shape) -> None:
    table = cache_table(shape)
    llc, package = shape.cores * shape.threads, shape.places // shape.packages
    found = [walk_up(table, cpu) for cpu in range(shape.places)]
    for cpu, (cache, socket) in enumerate(found):
        assert cache == found[cpu // llc * llc][0]
        assert socket == found[cpu // package * package][1]
    assert len({cache for cache, _ in found}) == shape.places // llc
    assert len({socket for _, socket in found}) == shape.packages


def test_header() -> None:
    table = cache_table(LLCS)
    assert sum(table) % 256 == 0
    assert (table[:4], int.from_bytes(table[4:8], "little")) == (b"PPTT", len(table))
    # The names of the emulator's own tables.
    assert (table[10:16], table[16:24]) == (b"BOCHS ", b"BXPC    ")
    assert int.from_bytes(table[24:28], "little") > 1


def test_the_table_is_in_front_of_the_first_files() -> None:
    files = first_files(BootRequest(Path("Image"), "x", LLCS, firmware=Firmware.ACPI))
    assert list(files) == [PPTT_PATH]
    packed = b"".join(archive(files))
    assert packed.count(b"PPTT") == 1
    assert len(packed) % 4 == 0
    for firmware in (Firmware.USUAL, Firmware.ACPI_BARE):
        assert not first_files(BootRequest(Path("Image"), "x", LLCS, firmware=firmware))


@pytest.mark.parametrize("firmware", [Firmware.ACPI, Firmware.ACPI_BARE])
def test_the_emulator_gets_firmware(firmware: Firmware) -> None:
    request = BootRequest(Path("Image"), "x", LLCS, firmware=firmware)
    argv = qemu_argv(request, Path("i"), Path("log"), None, ARM64)
    assert argv[argv.index("-bios") + 1] == ARM64.acpi
    assert "-bios" not in qemu_argv(REQUEST, Path("i"), Path("log"), None, ARM64)
