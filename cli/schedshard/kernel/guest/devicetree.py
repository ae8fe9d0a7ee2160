# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Adds last-level caches to a guest's device tree, because the emulator describes none.

The emulator writes the machine's tree. This file adds a cache node per cluster to the tree's
source, and to every CPU a reference to its cache.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from schedshard.common.errors import telling
from schedshard.kernel.guest.topology import Shape
from schedshard.kernel.layout import Layout
from schedshard.kernel.tools import call, require


def cache_source(shape: Shape) -> str:
    """Return device-tree source to add: a level-3 cache per LLC, and a reference per CPU."""
    return "\n".join(("/ {", "\tcpus {", *_caches(shape), *_cpus(shape), "\t};", "};", ""))


def _caches(shape: Shape) -> Iterator[str]:
    for llc in range(shape.packages * shape.nodes * shape.llcs):
        yield f"\t\tllc{llc}: l3-cache{llc} {{"
        yield '\t\t\tcompatible = "cache";'
        yield "\t\t\tcache-level = <3>;"
        yield "\t\t\tcache-unified;"
        yield "\t\t};"


def _cpus(shape: Shape) -> Iterator[str]:
    for cpu in range(shape.places - shape.empty):
        llc = cpu // (shape.cores * shape.threads)
        yield f"\t\tcpu@{cpu} {{ next-level-cache = <&llc{llc}>; }};"


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
