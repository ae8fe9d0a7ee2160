# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads from machines/cores/ what operations cost by type of core, and protocols by vendor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from common.errors import UserError, unknown_name
from common.output import read_toml
from common.paths import MACHINES

OTHER = "other cores"
_MARKS = {
    "Intel": ("xeon", "intel", "sierra", "core i"),
    "AMD": ("epyc", "amd", "zen", "ryzen"),
    "Arm": ("neoverse", "graviton", "altra", "ampere", "grace", "apple", "arm"),
}


class Costs(NamedTuple):
    """Numbers for [op_cycles] and [protocol], and their sources; ``title`` says whose they are."""

    title: str
    op_cycles: dict[str, Any]
    protocol: dict[str, Any]
    source: dict[str, str]


def vendor_of(machine: str, title: str) -> str:
    """Return the vendor of a machine's cores, from the machine's name and title."""
    text = f"{machine} {title}".lower()
    return next(
        (name for name, marks in _MARKS.items() if any(map(text.__contains__, marks))), OTHER
    )


@cache
def _table(name: str) -> dict[str, Any]:
    return read_toml(MACHINES / "cores" / f"{name}.toml", "table of cores")


def vendor_costs(vendor: str) -> Costs:
    """Return the protocol of a vendor's machines, nothing for one without a table."""
    table = _table("vendors").get(vendor, {})
    return Costs(vendor, {}, dict(table.get("protocol", {})), dict(table.get("source", {})))


def core_of(machine: str) -> str | None:
    """Return the title of the type of core that a machine of machines/ has, None for others."""
    cores = _table("cores").values()
    return next((core["title"] for core in cores if machine in core["machines"]), None)


def _source(core: Mapping[str, Any]) -> dict[str, str]:
    """Return the sources of a core's costs; a calibrated one names the core's first machine."""
    return {
        key: f"as on {core['machines'][0]}: {text}" if text.startswith("calibrated") else text
        for key, text in core["source"].items()
    }


def core_costs(name: str) -> Costs:
    """Return the costs of a type of core, which must exist, with its vendor's protocol."""
    cores = _table("cores")
    if name not in cores:
        raise unknown_name("core", name, sorted(cores))
    core = cores[name]
    vendor = vendor_costs(core["vendor"])
    protocol = vendor.protocol | core["protocol"]
    return Costs(core["title"], core["op_cycles"], protocol, vendor.source | _source(core))


def with_core(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the content of a machine file with the costs of its core, and their sources.

    Numbers about siblings are left out if the core has one thread. Raise a UserError that
    begins with the file's ``name`` if there is no such core.
    """
    own = {key: value for key, value in data.items() if key not in ("core", "source")}
    if "core" not in data:
        return dict(data)
    known = _table("cores")
    core = known.get(data["core"]) if isinstance(data["core"], str) else None
    if core is None:
        raise UserError(f"{name}: {unknown_name('core', str(data['core']), sorted(known))}")
    vendor = _table("vendors")[core["vendor"]]
    texts = vendor["source"] | (
        core["source"] if data.get("name") in core["machines"] else _source(core)
    )
    topology = data.get("topology")
    alone = isinstance(topology, Mapping) and topology.get("threads_per_core") == 1
    given = data.get("source")
    source = dict(given) if isinstance(given, Mapping) else {}
    for table in ("op_cycles", "protocol"):
        costs = vendor.get(table, {}) | core.get(table, {})
        costs = {key: node for key, node in costs.items() if not (alone and key.startswith("smt_"))}
        mine = own.pop(table, {})
        own[table] = {**costs, **mine} if isinstance(mine, Mapping) else mine
        if not isinstance(mine, Mapping):
            continue
        for key in own[table]:
            dotted = f"{table}.{key}"
            text = source.pop(dotted, None) if key in mine else texts[dotted]
            if text is not None:
                source[dotted] = text
    return own | {"source": source}
