# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads topologies, and finds their short form for a machine file.

A machine file may describe a topology by six counts and a numbering rule. To see whether counts and
rule describe a machine, this file applies the rule, and compares the result with the machine. If
they differ, the machine file lists the CPUs of each LLC instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from common.errors import UserError
from common.inputs import read_input
from common.paths import topo_binary
from common.tool import run_json
from model.machines.making.hwloc import hwloc_records
from model.machines.places import NUMBERINGS, Place

Ids = npt.NDArray[np.int64]

MAX_GIVEN_BYTES = 16 << 20
MAX_CPUS = 8192
GIVEN_RIGHT = "the text of 'lscpu -p', a folder that holds sys/, or an XML file of hwloc"
# Columns of `lscpu -p` that give a CPU's place. All caches are one column: L1d:L1i:L2:L3.
_COLUMNS = {"core": "core", "socket": "package", "node": "node", "l2": "l2"}
# A CPU's last-level cache is, as in Linux, the first of these that it has.
_LAST = ("l3", "l2")
LEVELS = ("package", "node", "llc", "l2", "core")


@dataclass(frozen=True)
class Topology:
    """One entry per CPU, in the order of ``cpus``; ids count over the whole machine."""

    cpus: tuple[int, ...]
    package: Ids
    node: Ids
    llc: Ids
    l2: Ids
    core: Ids

    def count(self, level: str) -> int:
        """Return the number of groups of a level."""
        return int(np.unique(self.ids(level)).size)

    def ids(self, level: str) -> Ids:
        """Return the ids of a level."""
        ids: Ids = getattr(self, level)
        return ids

    def places(self) -> list[Place]:
        """Return the place of each CPU, in the order of ``cpus``; threads are not numbered."""
        levels = (self.ids(level).tolist() for level in LEVELS)
        return [
            Place(package, node, llc, l2, core, 0)
            for package, node, llc, l2, core in zip(*levels, strict=True)
        ]

    def restrict(self, cpus: Sequence[int]) -> Topology:
        """Return the topology of some of the CPUs, in the given order."""
        index = {cpu: i for i, cpu in enumerate(self.cpus)}
        pick = np.array([index[cpu] for cpu in cpus], dtype=np.int64)
        return Topology(tuple(cpus), *(self.ids(level)[pick] for level in LEVELS))


def renumber(labels: Ids, cpus: Sequence[int]) -> Ids:
    """Return the groups, numbered from 0 in the order of their lowest CPU."""
    lowest: dict[int, int] = {}
    for label, cpu in zip(labels.tolist(), cpus, strict=True):
        lowest[label] = min(cpu, lowest.get(label, cpu))
    rank = {label: i for i, (label, _) in enumerate(sorted(lowest.items(), key=lambda x: x[1]))}
    return np.array([rank[label] for label in labels.tolist()], dtype=np.int64)


def within(outer: Ids, inner: Ids) -> Ids:
    """Return ids of the inner groups, split where one extends over several outer groups."""
    return np.unique(np.stack([outer, inner]), axis=1, return_inverse=True)[1].reshape(-1)


def make_topology(cpus: Sequence[int], levels: dict[str, Ids]) -> Topology:
    """Return a topology made of group labels of any kind."""
    return Topology(tuple(cpus), *(renumber(levels[level], cpus) for level in LEVELS))


def from_tool(result: Any) -> Topology:
    """Return the topology that schedshard-topo printed."""
    try:
        records = sorted(result["cpus"], key=lambda record: int(record["cpu"]))
        cpus = [int(record["cpu"]) for record in records]
        levels = {
            level: np.array([int(record[level]) for record in records], dtype=np.int64)
            for level in LEVELS
        }
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"schedshard-topo printed no topology: {error!r}", status=1) from error
    _fill_unknown(cpus, levels)
    return make_topology(cpus, levels)


def _fill_unknown(cpus: Sequence[int], levels: dict[str, Ids]) -> None:
    """Replace unknown ids (-1), because machine files need an id for each CPU."""
    own = np.arange(len(cpus), dtype=np.int64)
    if (levels["package"] < 0).any():
        levels["package"] = np.zeros(len(cpus), dtype=np.int64)
    if (levels["node"] < 0).any():
        levels["node"] = levels["package"]
    if (levels["llc"] < 0).any():
        levels["llc"] = within(levels["package"], levels["node"])
    if (levels["core"] < 0).any():
        levels["core"] = own
    if (levels["l2"] < 0).any():
        levels["l2"] = levels["core"]


def read_given(path: Path) -> Topology:
    """Read the argument of ``--topology``: a folder with sys/, `lscpu -p`, or XML of hwloc."""
    if path.is_dir():
        if not (path / "sys").is_dir():
            raise UserError(f"{path} holds no sys/: give {GIVEN_RIGHT}")
        return from_tool(run_json([str(topo_binary()), "--sysfs", str(path)]))
    text = read_input(path, "topology", MAX_GIVEN_BYTES).decode("utf-8", "replace")
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        return from_hwloc(text, path.name)
    return parse_lscpu(text, path.name)


def from_hwloc(text: str, name: str) -> Topology:
    """Return the topology in an XML file of hwloc."""
    records = sorted(hwloc_records(text, name, GIVEN_RIGHT), key=lambda record: record["cpu"])
    cpus = [record["cpu"] for record in records]
    _check_cpus(cpus, name)
    levels = {
        level: np.array([record.get(level, -1) for record in records], dtype=np.int64)
        for level in ("package", "node", "l2", "core")
    }
    levels["llc"] = np.array([record.get("l3", record.get("l2", -1)) for record in records])
    _fill_unknown(cpus, levels)
    return make_topology(cpus, levels)


def _check_cpus(cpus: Sequence[int], name: str) -> None:
    """Check the CPU numbers in a file of the user."""
    if len(cpus) > MAX_CPUS:
        raise UserError(f"{name}: more than {MAX_CPUS:,} CPUs")
    if len(set(cpus)) != len(cpus):
        raise UserError(f"{name}: a CPU occurs twice: give {GIVEN_RIGHT}")


def parse_lscpu(text: str, name: str) -> Topology:
    """Return the topology in the text of `lscpu -p`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    heads = [line for line in lines if line.startswith("#") and "CPU" in line and "," in line]
    rows = [line.split(",") for line in lines if not line.startswith("#")]
    if not heads or not rows:
        raise UserError(f"{name} is not the text of 'lscpu -p': give {GIVEN_RIGHT}")
    columns = [word.strip().lower() for word in heads[-1].lstrip("# ").split(",")]
    places = _places(columns, rows, name)
    cpus = [int(row[columns.index("cpu")]) for row in rows]
    _check_cpus(cpus, name)
    order = np.argsort(cpus)
    places["llc"] = _last_caches(columns, rows) or places["package"]
    levels = {level: np.array(ids, dtype=np.int64)[order] for level, ids in places.items()}
    levels.setdefault("l2", levels["core"])
    levels.setdefault("node", levels["package"])
    return make_topology([cpus[i] for i in order], levels)


def _places(columns: list[str], rows: list[list[str]], name: str) -> dict[str, list[int]]:
    """Return by level the ids of all CPUs. The result omits levels that the text lacks."""
    if not {"cpu", "core", "socket"} <= set(columns):
        raise UserError(f"{name} has no columns CPU, Core and Socket: give {GIVEN_RIGHT}")
    ids: dict[str, list[int]] = {}
    for word, level in _COLUMNS.items():
        if word not in columns:
            continue
        at = columns.index(word)
        cells = [row[at].strip() if at < len(row) else "" for row in rows]
        if all(cell.isascii() and cell.isdigit() for cell in cells):
            ids[level] = [int(cell) for cell in cells]
        elif level in ("core", "package"):
            raise UserError(f"{name}: column {word} has lines without a number: give {GIVEN_RIGHT}")
    at = columns.index("cpu")
    if not all(row[at].strip().isdigit() and len(row[at]) < 6 for row in rows):
        raise UserError(f"{name}: column CPU has lines without a number: give {GIVEN_RIGHT}")
    return ids


def _last_caches(columns: list[str], rows: list[list[str]]) -> list[int]:
    """Return the id of each CPU's last cache, or an empty list if one has none in the text."""
    numbers: dict[tuple[str, str], int] = {}
    caches = []
    for row in rows:
        cells = dict(zip(columns, map(str.strip, row), strict=False))
        last = next((word for word in _LAST if cells.get(word, "").isdecimal()), None)
        if last is None:
            return []
        caches.append(numbers.setdefault((last, cells[last]), len(numbers)))
    return caches


def parse_cpu_list(text: str) -> list[int]:
    """Return the CPU numbers in a list such as 0-7,128-135, from the command line."""
    cpus: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isascii() and first.isdigit()) or (
            dash and not (last.isascii() and last.isdigit())
        ):
            raise UserError(f"'{text}' is not a CPU list: give numbers and ranges like 0-3,8")
        low, high = int(first), int(last) if dash else int(first)
        if high < low or high > 65535:
            raise UserError(f"'{part.strip()}' is not a range of CPU numbers: give ranges like 0-3")
        cpus.update(range(low, high + 1))
    return sorted(cpus)


@dataclass(frozen=True)
class Regular:
    """The short form of a topology: the keys of [topology].

    LLCs are counted per package, because sub-NUMA clusters may cut one LLC into several nodes.
    """

    packages: int
    nodes_per_package: int
    llcs_per_package: int
    cores_per_llc: int
    threads_per_core: int
    cores_per_l2: int
    numbering: str

    def expand(self) -> Topology:
        """Return the topology that these keys describe, as machines/places.py does."""
        per_package = self.llcs_per_package * self.cores_per_llc
        core = np.arange(self.packages * per_package, dtype=np.int64)
        if self.numbering == "threads-last":
            core = np.tile(core, self.threads_per_core)
        else:
            core = np.repeat(core, self.threads_per_core)
        return Topology(
            tuple(range(core.size)), core // per_package,
            core // (per_package // self.nodes_per_package), core // self.cores_per_llc,
            core // self.cores_per_l2, core,
        )  # fmt: skip


def _common(outer: Ids, inner: Ids) -> int | None:
    """Return the number of inner groups per outer group, or None if it varies."""
    counts = {int(np.unique(inner[outer == group]).size) for group in np.unique(outer)}
    return counts.pop() if len(counts) == 1 else None


def regular_form(topology: Topology) -> Regular | None:
    """Return the keys that describe exactly this topology, or None."""
    threads = set(np.unique(topology.core, return_counts=True)[1].tolist())
    nodes = _common(topology.package, topology.node)
    llcs = _common(topology.package, topology.llc)
    cores = _common(topology.llc, topology.core)
    l2_cores = _common(topology.l2, topology.core)
    if nodes is None or llcs is None or cores is None or l2_cores is None or len(threads) != 1:
        return None
    if cores % l2_cores or llcs * cores % nodes or llcs * cores // nodes % l2_cores:
        return None
    for numbering in NUMBERINGS:
        form = Regular(
            topology.count("package"), nodes, llcs, cores, min(threads), l2_cores, numbering
        )
        if same(form.expand(), topology):
            return form
    return None


def same(a: Topology, b: Topology) -> bool:
    """Whether two topologies have the same CPUs in the same groups at every level."""
    if a.cpus != b.cpus:
        return False
    return all(
        np.array_equal(renumber(a.ids(level), a.cpus), renumber(b.ids(level), b.cpus))
        for level in LEVELS
    )
