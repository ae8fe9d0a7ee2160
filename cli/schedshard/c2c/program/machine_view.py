# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The files in which a program looks for its machine: /sys and /proc of the machine file.

The emulator opens a file below the folder made here instead of the host's where there is one
(its option -L). The CPUs are those that threads may use, with the machine's own numbers. Others are
not there: a program sees what a kernel shows that has only these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from schedshard.machines.presets import Machine, machine_topology
from schedshard.machines.topo import ranges

_CPU = Path("sys/devices/system/cpu")
_NODE = Path("sys/devices/system/node")
_MEMORY_KB = 64 << 20  # of each node: no machine file says how much there is
_KERNEL_MAX = 8191


@cache
def _list(cpus: tuple[int, ...]) -> str:
    return ranges(cpus)


@cache
def _mask(cpus: tuple[int, ...]) -> str:
    """CPUs as the kernel writes a mask: words of 32 bits, the highest first."""
    words = [0] * (max(cpus) // 32 + 1)
    for cpu in cpus:
        words[cpu // 32] |= 1 << cpu % 32
    return ",".join(f"{word:08x}" for word in reversed(words))


@dataclass(frozen=True)
class _View:
    """Where files go, and the CPUs that are there."""

    root: Path
    machine: Machine
    cpus: tuple[Mapping[str, Any], ...]

    def write(self, path: Path, text: str) -> None:
        (self.root / path).write_text(f"{text}\n", encoding="ascii")

    def folder(self, path: Path) -> Path:
        (self.root / path).mkdir(parents=True, exist_ok=True)
        return path

    def link(self, path: Path, to: str) -> None:
        (self.root / path).symlink_to(to)

    def sharing(self, key: str) -> dict[int, tuple[int, ...]]:
        """The CPUs that have this in common."""
        found: dict[int, list[int]] = {}
        for cpu in self.cpus:
            found.setdefault(int(cpu[key]), []).append(int(cpu["cpu"]))
        return {of: tuple(members) for of, members in found.items()}


# Level, type, number of the kernel's folder, and what CPUs must share to have it in common.
_CACHES = ((1, "Data", 0, "core"), (2, "Unified", 2, "l2"), (3, "Unified", 3, "llc"))
_TOGETHER = (
    ("core_cpus", "thread_siblings", "core"),
    ("package_cpus", "core_siblings", "package"),
    ("die_cpus", None, "package"),
)


def _cpu_folders(view: _View) -> None:
    groups = {key: view.sharing(key) for key in ("core", "l2", "llc", "package")}
    for cpu in view.cpus:
        number = int(cpu["cpu"])
        at = view.folder(_CPU / f"cpu{number}")
        view.write(at / "online", "1")
        view.link(at / f"node{cpu['node']}", f"../../node/node{cpu['node']}")
        first = groups["core"][int(cpu["core"])][0]
        if first != number:
            # Siblings have the same files, but for what no program reads.
            view.link(at / "topology", f"../cpu{first}/topology")
            view.link(at / "cache", f"../cpu{first}/cache")
            continue
        topology = view.folder(at / "topology")
        view.write(topology / "physical_package_id", str(cpu["package"]))
        view.write(topology / "die_id", "0")
        view.write(topology / "core_id", str(cpu["core"]))
        for name, old, key in _TOGETHER:
            members = groups[key][int(cpu[key])]
            for each in (name, old) if old else (name,):
                view.write(topology / each, _mask(members))
                view.write(topology / f"{each}_list", _list(members))
        cache = view.folder(at / "cache")
        for level, kind, index, key in _CACHES:
            members = groups[key][int(cpu[key])]
            here = cache / f"index{index}"
            if members[0] != number:
                view.link(here, f"../../cpu{members[0]}/cache/index{index}")
                continue
            view.folder(here)
            view.write(here / "level", str(level))
            view.write(here / "type", kind)
            view.write(here / "id", str(cpu[key]))
            view.write(here / "coherency_line_size", "64")
            view.write(here / "shared_cpu_list", _list(members))
            view.write(here / "shared_cpu_map", _mask(members))


def _lists(view: _View, at: Path, numbers: Sequence[int], names: Sequence[str]) -> None:
    for name in names:
        view.write(at / name, _list(tuple(numbers)))


def _node_folders(view: _View) -> None:
    nodes = view.sharing("node")
    packages = {int(cpu["node"]): int(cpu["package"]) for cpu in view.cpus}
    names = ("possible", "online", "has_cpu", "has_memory", "has_normal_memory")
    _lists(view, view.folder(_NODE), sorted(nodes), names)
    for node, members in nodes.items():
        at = view.folder(_NODE / f"node{node}")
        view.write(at / "cpulist", _list(members))
        view.write(at / "cpumap", _mask(members))
        far = [
            10 if other == node else 12 if packages[other] == packages[node] else 32
            for other in sorted(nodes)
        ]
        view.write(at / "distance", " ".join(map(str, far)))
        view.write(
            at / "meminfo",
            f"Node {node} MemTotal:       {_MEMORY_KB} kB\n"
            f"Node {node} MemFree:        {_MEMORY_KB // 2} kB",
        )
        for cpu in members:
            view.link(at / f"cpu{cpu}", f"../../cpu/cpu{cpu}")


def _proc(view: _View) -> None:
    in_package = view.sharing("package")
    cores = {of: len({c["core"] for c in view.cpus if c["package"] == of}) for of in in_package}
    clock = f"{view.machine.clock_ghz * 1000:.3f}"
    blocks = []
    for cpu in view.cpus:
        package = int(cpu["package"])
        blocks.append(
            f"processor\t: {cpu['cpu']}\n"
            f"model name\t: {view.machine.name} (simulated)\n"
            f"cpu MHz\t\t: {clock}\n"
            f"physical id\t: {package}\n"
            f"siblings\t: {len(in_package[package])}\n"
            f"core id\t\t: {cpu['core']}\n"
            f"cpu cores\t: {cores[package]}\n"
            f"clflush size\t: 64\n"
            f"cache_alignment\t: 64\n"
        )
    view.folder(Path("proc/self"))
    view.write(Path("proc/cpuinfo"), "\n".join(blocks))
    times = "100 0 100 10000 0 0 0 0 0 0"
    lines = [f"cpu  {times}", *(f"cpu{cpu['cpu']} {times}" for cpu in view.cpus)]
    lines += ["intr 0", "ctxt 0", "btime 1", "processes 1", "procs_running 1", "procs_blocked 0"]
    view.write(Path("proc/stat"), "\n".join(lines))
    # No limit of a control group is the simulated machine's.
    view.write(Path("proc/self/cgroup"), "0::/")
    group = view.folder(Path("sys/fs/cgroup"))
    view.write(group / "cgroup.controllers", "cpuset cpu memory")
    view.write(group / "cpu.max", "max 100000")
    view.write(group / "cpuset.cpus.effective", ranges(int(cpu["cpu"]) for cpu in view.cpus))
    view.write(group / "memory.max", "max")


def write_view(root: Path, machine: Machine, cpus: Sequence[int]) -> Path:
    """Write the tree of a machine that has only these of its CPUs; return ``root``."""
    wanted = set(cpus)
    kept = [cpu for cpu in machine_topology(machine)["cpus"] if int(cpu["cpu"]) in wanted]
    view = _View(root, machine, tuple(sorted(kept, key=lambda cpu: int(cpu["cpu"]))))
    numbers = [int(cpu["cpu"]) for cpu in view.cpus]
    _lists(view, view.folder(_CPU), numbers, ("possible", "present", "online"))
    view.write(_CPU / "offline", "")
    view.write(_CPU / "isolated", "")
    view.write(_CPU / "kernel_max", str(_KERNEL_MAX))
    _cpu_folders(view)
    _node_folders(view)
    for name in ("cpu", "node"):
        bus = view.folder(Path("sys/bus") / name)
        view.link(bus / "devices", f"../../devices/system/{name}")
    _proc(view)
    return root
