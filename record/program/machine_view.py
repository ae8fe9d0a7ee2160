# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Writes the files of /sys and /proc in which a program finds the simulated machine's topology.

If a file exists below the folder made here, the emulator (option -L) opens that file instead of the
host's. The files show only the CPUs that threads may use, with the machine's own numbers, like a
kernel that has no others.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from model.machines.placement import in_order
from model.machines.presets import Machine
from model.machines.topo import ranges

_CPU = Path("sys/devices/system/cpu")
_NODE = Path("sys/devices/system/node")
_MEMORY_KB = 64 << 20  # per node; machine files do not contain it
_KERNEL_MAX = 8191
_SHM = Path("/dev/shm")
_MOST_CPUS = 1024  # FEED_MAX_CPUS of record/plugin/feed.h
_ROOM, _FILES = 32 << 20, 100_000


def cpus_in_order(machine: Machine, placement: str) -> list[int]:
    """Return the CPUs that threads take in turn, as many as the recorder may have."""
    return [int(cpu["cpu"]) for cpu in in_order(machine.cpus, placement)][:_MOST_CPUS]


@cache
def _list(cpus: tuple[int, ...]) -> str:
    return ranges(cpus)


@cache
def _mask(cpus: tuple[int, ...]) -> str:
    """Return CPUs as the kernel's mask: words of 32 bits, the highest first."""
    words = [0] * (max(cpus) // 32 + 1)
    for cpu in cpus:
        words[cpu // 32] |= 1 << cpu % 32
    return ",".join(f"{word:08x}" for word in reversed(words))


@dataclass(frozen=True)
class _View:
    """The folder for the files, and the CPUs that they show."""

    root: Path
    machine: Machine
    cpus: tuple[Mapping[str, Any], ...]
    written: dict[str, Path] = field(default_factory=dict)

    def write(self, path: Path, text: str) -> None:
        """Write a file, as a hard link if an earlier file has the same text: many files do."""
        at = self.root / path
        if text in self.written:
            with suppress(OSError):  # a file system without links
                at.hardlink_to(self.written[text])
                return
        at.write_text(f"{text}\n", encoding="ascii")
        at.chmod(0o444)  # a write to one would change the others
        self.written[text] = at

    def folder(self, path: Path) -> Path:
        (self.root / path).mkdir(parents=True, exist_ok=True)
        return path

    def link(self, path: Path, to: str) -> None:
        (self.root / path).symlink_to(to)

    def sharing(self, key: str) -> dict[int, tuple[int, ...]]:
        """Return the CPUs by their value of a key, such as core or node."""
        groups: dict[int, list[int]] = {}
        for cpu in self.cpus:
            groups.setdefault(int(cpu[key]), []).append(int(cpu["cpu"]))
        return {of: tuple(members) for of, members in groups.items()}


@dataclass(frozen=True)
class _Cache:
    """A cache of each CPU. Machine files contain no sizes, so these are usual ones."""

    level: int
    kind: str
    key: str  # CPUs with the same value of this key share the cache
    kib: int
    ways: int


# By the number of the kernel's folder.
_CACHES = (
    _Cache(1, "Data", "core", 32, 8), _Cache(1, "Instruction", "core", 32, 8),
    _Cache(2, "Unified", "l2", 1024, 8), _Cache(3, "Unified", "llc", 32768, 16),
)  # fmt: skip
_LINE = 64
_TOGETHER = (
    ("core_cpus", "thread_siblings", "core"), ("package_cpus", "core_siblings", "package"),
    ("die_cpus", None, "package"), ("cluster_cpus", None, "l2"),
)  # fmt: skip


def _cpu_folders(view: _View) -> None:
    groups = {key: view.sharing(key) for key in ("core", "l2", "llc", "package")}
    for cpu in view.cpus:
        number = int(cpu["cpu"])
        at = view.folder(_CPU / f"cpu{number}")
        view.write(at / "online", "1")
        view.link(at / f"node{cpu['node']}", f"../../node/node{cpu['node']}")
        first = groups["core"][int(cpu["core"])][0]
        if first != number:
            # Siblings share these files, which differ only in what no program reads.
            view.link(at / "topology", f"../cpu{first}/topology")
            view.link(at / "cache", f"../cpu{first}/cache")
            continue
        topology = view.folder(at / "topology")
        view.write(topology / "physical_package_id", str(cpu["package"]))
        view.write(topology / "die_id", "0")
        view.write(topology / "cluster_id", str(cpu["l2"]))
        view.write(topology / "core_id", str(cpu["core"]))
        for name, old, key in _TOGETHER:
            members = groups[key][int(cpu[key])]
            for file in (name, old) if old else (name,):
                view.write(topology / file, _mask(members))
                view.write(topology / f"{file}_list", _list(members))
        cache = view.folder(at / "cache")
        for index, spec in enumerate(_CACHES):
            members = groups[spec.key][int(cpu[spec.key])]
            here = cache / f"index{index}"
            if members[0] != number:
                view.link(here, f"../../cpu{members[0]}/cache/index{index}")
                continue
            view.folder(here)
            view.write(here / "level", str(spec.level))
            view.write(here / "type", spec.kind)
            view.write(here / "id", str(cpu[spec.key]))
            view.write(here / "size", f"{spec.kib}K")
            view.write(here / "ways_of_associativity", str(spec.ways))
            view.write(here / "number_of_sets", str(spec.kib * 1024 // _LINE // spec.ways))
            view.write(here / "physical_line_partition", "1")
            view.write(here / "coherency_line_size", str(_LINE))
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


def _control_groups(view: _View) -> None:
    """Write files of cgroup v1 and v2 without limits, to hide the limits of the host's groups."""
    cpus, nodes = (ranges(sorted({int(cpu[key]) for cpu in view.cpus})) for key in ("cpu", "node"))
    view.write(Path("proc/self/cgroup"), "0::/")
    view.write(Path("proc/self/cpuset"), "/")
    group = view.folder(Path("sys/fs/cgroup"))
    view.write(group / "cgroup.controllers", "cpuset cpu memory")
    view.write(group / "cpu.max", "max 100000")
    view.write(group / "memory.max", "max")
    view.write(group / "cpuset.cpus.effective", cpus)
    view.write(group / "cpuset.mems.effective", nodes)
    of_cpus = view.folder(group / "cpuset")
    for name in ("cpus", "effective_cpus"):
        view.write(of_cpus / f"cpuset.{name}", cpus)
    for name in ("mems", "effective_mems"):
        view.write(of_cpus / f"cpuset.{name}", nodes)
    for name in ("cpu", "cpu,cpuacct"):
        at = view.folder(group / name)
        view.write(at / "cpu.cfs_quota_us", "-1")
        view.write(at / "cpu.cfs_period_us", "100000")


@contextmanager
def room_for_views(folder: Path) -> Iterator[Path]:
    """Yield a folder for views. Root gets one in memory, which takes a tenth of a disk's time.

    Other users get one below ``folder``, because systemd removes a user's files from memory when
    the last session ends, even during a recording. So does root if TMPDIR is set or memory is full.
    """
    with TemporaryDirectory(prefix="schedshard-", dir=_memory() or folder) as made:
        if os.geteuid() == 0:
            Path(made).chmod(0o711)  # a program may become another user, and must still read it
        yield Path(made)


def _memory() -> Path | None:
    """Return the file system in memory if it has room for several views of the largest machine."""
    if os.geteuid() or gettempdir() != "/tmp":
        return None
    try:
        room = os.statvfs(_SHM)
    except OSError:
        return None
    enough = room.f_bavail * room.f_frsize >= _ROOM and (
        room.f_favail >= _FILES or not room.f_files
    )
    return _SHM if enough and not room.f_flag & os.ST_RDONLY else None


def write_view(root: Path, machine: Machine, cpus: Sequence[int]) -> Path:
    """Write the files of a machine with only these of its CPUs, and return ``root``."""
    wanted = set(cpus)
    kept = [cpu for cpu in machine.cpus if int(cpu["cpu"]) in wanted]
    view = _View(root, machine, tuple(sorted(kept, key=lambda cpu: int(cpu["cpu"]))))
    numbers = [int(cpu["cpu"]) for cpu in view.cpus]
    _lists(view, view.folder(_CPU), numbers, ("possible", "present", "online"))
    view.write(_CPU / "offline", "")
    view.write(_CPU / "isolated", "")
    view.write(_CPU / "kernel_max", str(_KERNEL_MAX))
    siblings = len(view.sharing("core")) < len(view.cpus)
    view.write(view.folder(_CPU / "smt") / "active", str(int(siblings)))
    view.write(_CPU / "smt/control", "on" if siblings else "notsupported")
    _cpu_folders(view)
    _node_folders(view)
    for name in ("cpu", "node"):
        bus = view.folder(Path("sys/bus") / name)
        view.link(bus / "devices", f"../../devices/system/{name}")
    _proc(view)
    _control_groups(view)
    return root
