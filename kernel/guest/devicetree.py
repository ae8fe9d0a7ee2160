# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Adds last-level caches to a guest's device tree, because the emulator does not describe any.

The emulator writes the machine's tree. This file adds cache nodes to the tree's source. To
every CPU's node it adds a reference to the CPU's cache.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from common.errors import telling
from common.programs import call, require
from kernel.layout import Layout
from record.shape import Shape


def cache_source(shape: Shape) -> str:
    """Return device-tree source to add: an L2 per core, an L3 per LLC, and each CPU's reference.

    Linux on arm64 expects as many levels as the CPU's registers declare, which is two, and finds
    an L3 only behind a node of the L2.
    """
    return "\n".join(("/ {", "\tcpus {", *_caches(shape), *_cpus(shape), "\t};", "};", ""))


def _caches(shape: Shape) -> Iterator[str]:
    llcs = shape.packages * shape.nodes * shape.llcs
    for llc in range(llcs):
        yield _cache(f"llc{llc}", 3, "")
    for core in range(llcs * shape.cores):
        yield _cache(f"l2c{core}", 2, f" next-level-cache = <&llc{core // shape.cores}>;")


def _cache(label: str, level: int, behind: str) -> str:
    properties = f'compatible = "cache"; cache-level = <{level}>; cache-unified;{behind}'
    return f"\t\t{label}: l{level}-cache-{label} {{ {properties} }};"


def _cpus(shape: Shape) -> Iterator[str]:
    for cpu in range(shape.places - shape.empty):
        yield f"\t\tcpu@{cpu} {{ next-level-cache = <&l2c{cpu // shape.threads}>; }};"


def tree_with_caches(layout: Layout, name: str, shape: Shape, argv: Sequence[str]) -> Path:
    """Return the file for the emulator's -dtb. ``argv`` is the emulator's command without -dtb."""
    require("dtc")
    folder = layout.make_folder(layout.work / "devicetree")
    bare, source, tree = (folder / f"{name}.{end}" for end in ("bare.dtb", "dts", "dtb"))
    at = argv.index("-machine") + 1
    asked = [*argv[:at], f"{argv[at]},dumpdtb={bare}", *argv[at + 1 :]]
    call(asked, what="asking the emulator for its device tree")
    call(["dtc", "-q", "-I", "dtb", "-O", "dts", "-o", source, bare], what=f"reading {bare.name}")
    with telling(f"cannot write {source}"), source.open("a", encoding="ascii") as out:
        out.write(cache_source(shape))
    call(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", tree, source], what=f"making {tree.name}")
    return tree
