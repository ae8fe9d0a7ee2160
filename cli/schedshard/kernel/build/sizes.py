# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage sizes: the memory of a root domain, per variant, on any machine.

The sizes of structures are measured: pahole reads them from the debugging types of the built
kernels. The stage computes the allocations for a number of CPUs from these sizes and the shard plan
of a machine file. It rounds as the kernel's allocator does. The sums mirror cpupri_init() and
init_rootdomain(), of the base and of the series.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from schedshard.common.errors import UserError
from schedshard.kernel.layout import Layout
from schedshard.kernel.tools import call, require

STRUCTS = ("root_domain", "cpupri", "cpudl_item")
_CACHES = (8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192)
_PAGE = 4096
_LINE = 64
_PRIORITIES = 101  # The base's struct cpupri has a mask for each.


@dataclass(frozen=True)
class Shards:
    """The part of a shard plan that determines sizes: shards of each node in index order."""

    cpus: int
    nodes: tuple[int, ...]

    @property
    def shards(self) -> int:
        """Return the number of shards."""
        return sum(self.nodes)


@dataclass(frozen=True)
class Row:
    """One line of the table: a number of bytes, and how it was found."""

    what: str
    how: str
    bytes: int


def parse_pahole(text: str) -> dict[str, int]:
    """Return the sizes of STRUCTS in pahole's list, which has "name, size, holes" per line."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition("\t")
        if name in STRUCTS:
            found[name] = int(rest.partition("\t")[0])
    return found


def read_structs(vmlinux: Path) -> dict[str, int]:
    """Return the sizes of STRUCTS in a build's debugging types, in bytes."""
    require("pahole")
    said = call(["pahole", "--sizes", vmlinux], what=f"reading the types of {vmlinux}")
    found = parse_pahole(said.decode("utf-8", "replace"))
    if "root_domain" not in found:
        raise UserError(f"{vmlinux} has no struct root_domain: was it built with DEBUG_INFO?")
    return found


def plan_of(plan: Mapping[str, Any]) -> Shards:
    """Return the shards of a plan that schedshard-topo printed."""
    runs = groupby(shard["node"] for shard in plan["shards"])
    return Shards(int(plan["nr_cpus"]), tuple(len(list(run)) for _, run in runs))


def kmalloc(size: int) -> int:
    """Return the memory in bytes that the kernel's allocator uses for a block."""
    return next((cache for cache in _CACHES if size <= cache), -(-size // _PAGE) * _PAGE)


def cpumask(cpus: int) -> int:
    """Return the memory of an allocated cpumask in bytes."""
    return kmalloc(-(-cpus // 64) * 8)


def rows_of(structs: Mapping[str, int], plan: Shards) -> list[Row]:
    """Return the memory of one root domain, with the levels of the base or of the series."""
    mask = cpumask(plan.cpus)
    levels = _PRIORITIES * mask + kmalloc(4 * plan.cpus)
    if structs["cpupri"] <= _LINE:
        levels = kmalloc(_LINE * plan.shards)
    rows = [
        Row("struct root_domain", "measured", structs["root_domain"]),
        Row("of it struct cpupri", "measured", structs["cpupri"]),
    ]
    domain = kmalloc(structs["root_domain"])
    parts = {
        "RT levels": levels,
        "RT and deadline overload": 2 * mask,
        "masks of CPUs": 2 * mask,
        "deadline heap": kmalloc(plan.cpus * structs["cpudl_item"]) + mask,
    }
    rows.append(Row("block of the root domain", "computed", domain))
    rows += [Row(f"{what}, allocated", "computed", size) for what, size in parts.items()]
    rows.append(Row("a root domain in all", "computed", domain + sum(parts.values())))
    return rows


def sizes(layout: Layout, variants: Sequence[str], config: str, plan: Shards) -> dict[str, Any]:
    """Return the table: a row per content, a column per variant."""
    columns: dict[str, list[Row]] = {}
    for variant in variants:
        vmlinux = layout.objects(variant, config) / "vmlinux"
        if not vmlinux.is_file():
            raise UserError(
                f"{variant} is not built: run './schedshard kernel build --variant {variant}'"
            )
        columns[variant] = rows_of(read_structs(vmlinux), plan)
    rows = [
        {"what": row.what, "how": row.how, "bytes": {v: c[at].bytes for v, c in columns.items()}}
        for at, row in enumerate(columns[variants[0]])
    ]
    return {"schema": 1, "cpus": plan.cpus, "shards": plan.shards, "rows": rows}
