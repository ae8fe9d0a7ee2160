# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage topo: a topology and its shard plan, as JSON data and as a tree.

lib/schedshard-topo reads and checks every source. This file only arranges its output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UserError
from common.formats import TOPO
from common.paths import topo_binary
from common.provenance import tool_versions
from common.tool import run_json

if TYPE_CHECKING:
    # Not imported: doctor's single file has this file, and no msgspec.
    from model.results.topo import Cpu, Topo


@dataclass(frozen=True)
class TopoRequest:
    """The source of the topology, by default this host, and how to split it."""

    machine: Path | None = None
    sysfs: Path | None = None
    split_llc: int | None = None
    cap: int | None = None


@dataclass(frozen=True)
class Group:
    """A node of the tree: its children, and the number of equal neighbours it stands for."""

    label: str
    cpus: tuple[int, ...]
    children: tuple[Group, ...] = ()


def topo_argv(request: TopoRequest) -> list[str]:
    """Return the command line of schedshard-topo."""
    argv = [str(topo_binary())]
    sources = [("--machine", request.machine), ("--sysfs", request.sysfs)]
    given = [(option, path) for option, path in sources if path is not None]
    if len(given) > 1:
        names = " and ".join(option for option, _ in given)
        raise UserError(f"{names} exclude each other: give one source of the topology")
    argv += [given[0][0], str(given[0][1])] if given else ["--live"]
    if request.split_llc is not None:
        argv += ["--split-llc", str(request.split_llc)]
    if request.cap is not None:
        argv += ["--cap", str(request.cap)]
    return argv


def topo(request: TopoRequest) -> dict[str, Any]:
    """Return topology and plan as JSON data."""
    raw = run_json(topo_argv(request))
    if not isinstance(raw, dict) or "cpus" not in raw or "plan" not in raw:
        raise UserError("schedshard-topo printed no topology and plan", status=1)
    return {"format": TOPO, **raw, "provenance": tool_versions()}


def ranges(cpus: Iterable[int]) -> str:
    """Return CPU numbers in their given order, as the kernel writes them: 0-7,128-135."""
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def label(cpus: Iterable[int]) -> str:
    """Return CPUs or nodes as the kernel lists them."""
    return ranges(sorted(cpus))


def _split(cpus: Sequence[Cpu], level: str) -> list[tuple[int, list[Cpu]]]:
    groups: dict[int, list[Cpu]] = {}
    for cpu in cpus:
        groups.setdefault(getattr(cpu, level), []).append(cpu)
    return sorted(groups.items())


def _numbers(cpus: Sequence[Cpu]) -> tuple[int, ...]:
    return tuple(cpu.cpu for cpu in cpus)


def _ident(name: str, number: int) -> str:
    return f"{name} {number}" if number >= 0 else f"{name} unknown"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _shape(cpus: Sequence[Cpu]) -> tuple[int, int]:
    """Return the numbers of cores and CPUs of a set. CPUs of unknown cores count as cores."""
    cores = {(cpu.package, cpu.core, cpu.cpu if cpu.core < 0 else None) for cpu in cpus}
    return len(cores), len(cpus)


def _llc_group(number: int, cpus: Sequence[Cpu], cores_shown: bool) -> Group:
    cores, threads = _shape(cpus)
    label = f"{_ident('LLC', number)}: {_count(cores, 'core')}, {_count(threads, 'CPU')}"
    children: tuple[Group, ...] = ()
    if cores_shown:
        children = tuple(
            Group(_ident("core", core), _numbers(members)) for core, members in _split(cpus, "core")
        )
    return Group(label, _numbers(cpus), children)


def _folded(llcs: list[tuple[int, list[Cpu]]]) -> list[Group]:
    """Merge neighbouring LLCs of equal shape: LLC 0-7: 8 x (8 cores, 16 CPUs)."""
    folded: list[Group] = []
    start = 0
    while start < len(llcs):
        shape = _shape(llcs[start][1])
        end = start
        while end < len(llcs) and _shape(llcs[end][1]) == shape:
            end += 1
        members = [cpu for _, cpus in llcs[start:end] for cpu in cpus]
        if end - start == 1:
            folded.append(_llc_group(*llcs[start], cores_shown=False))
        else:
            said = (
                f"LLC {label(number for number, _ in llcs[start:end])}: {end - start} x "
                f"({_count(shape[0], 'core')}, {_count(shape[1], 'CPU')})"
            )
            folded.append(Group(said, _numbers(members)))
        start = end
    return folded


def tree(data: Topo) -> Group:
    """Return the topology as nested groups: packages, nodes, LLCs, and cores of small machines.

    With more than 32 LLCs, equal neighbours of one node share a line.
    """
    cpus = [cpu for cpu in data.cpus if cpu.possible]
    llc_count = len({cpu.llc for cpu in cpus})
    cores_shown = len(cpus) <= 16
    packages = []
    for package, in_package in _split(cpus, "package"):
        nodes = []
        for node, in_node in _split(in_package, "node"):
            llcs = _split(in_node, "llc")
            children = (
                _folded(llcs)
                if llc_count > 32
                else [_llc_group(number, members, cores_shown) for number, members in llcs]
            )
            label = f"{_ident('node', node)}: {_count(len(llcs), 'LLC')}"
            nodes.append(Group(label, _numbers(in_node), tuple(children)))
        label = f"{_ident('package', package)}: {_count(len(nodes), 'node')}"
        packages.append(Group(label, _numbers(in_package), tuple(nodes)))
    title = data.machine and (data.machine.title or data.machine.name)
    title = title or (data.source or "topology").replace("live", "this host")
    label = (
        f"{title}: {_count(len(packages), 'package')}, {_count(llc_count, 'LLC')}, "
        f"{_count(_shape(cpus)[0], 'core')}, {_count(len(cpus), 'CPU')}"
    )
    return Group(label, _numbers(cpus), tuple(packages))


def plan_rows(data: Topo) -> list[list[str]]:
    """Return one row per shard: shard, package, node, LLC, CPUs, and these in order of position."""
    return [
        [
            *map(str, (shard.shard, shard.package, shard.node, shard.llc, len(shard.cpus))),
            ranges(shard.cpus),
        ]
        for shard in data.plan.shards
    ]


def plan_sentence(data: Topo) -> str:
    """Return the plan as one line of text."""
    plan = data.plan
    sizes = Counter(len(shard.cpus) for shard in plan.shards)
    if len(sizes) == 1:
        shapes = f" of {_count(next(iter(sizes)), 'CPU')}"
    else:
        each = (f"{count} of {_count(size, 'CPU')}" for size, count in sorted(sizes.items()))
        shapes = f" ({', '.join(each)})"
    split = f", every LLC split in {plan.split_llc}" if plan.split_llc else ""
    return (
        f"{_count(len(plan.shards), 'shard')}{shapes}, cut at level {plan.level}, "
        f"at most {plan.cap} CPUs per shard{split}: "
        f"{len(plan.shards) * 64:,} bytes of lines per structure"
    )
