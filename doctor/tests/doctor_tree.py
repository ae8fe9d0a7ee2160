# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Trees that look like /proc and /sys of a machine, for the collector to read."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from doctor.collector.script import SCRIPT

FIFO, RR, DEADLINE, OTHER = 1, 2, 6, 0
KTHREAD = 0x00200000


@dataclass(frozen=True)
class Task:
    """A thread: its name, its scheduling, its allowed CPUs, its number of sleeps."""

    tid: int
    comm: str
    policy: int = FIFO
    priority: int = 50
    allowed: str = "0-15"
    cgroup: str = "/"
    voluntary: int = 0
    involuntary: int = 0
    tgid: int | None = None
    flags: int = 0
    controller: str = ""

    def stat(self) -> str:
        """Return the line of /proc/PID/stat, all 52 fields."""
        fields = ["0"] * 50
        fields[0] = "S"
        fields[6] = str(self.flags)
        fields[36] = "0"
        fields[37] = str(self.priority)
        fields[38] = str(self.policy)
        return f"{self.tid} ({self.comm}) {' '.join(fields)}\n"


@dataclass
class Machine:
    """The contents of a tree; files are paths below the root with their content."""

    cpus: int = 16
    llc_cpus: int = 4
    node_cpus: int = 8
    release: str = "6.12.10"
    isolated: str = ""
    cmdline: str = "root=/dev/sda1 quiet"
    config: Iterable[str] = ("CONFIG_SMP=y", "CONFIG_CPUSETS=y")
    mounts: Iterable[str] = ("cgroup2 /sys/fs/cgroup",)
    # Lines of /proc/stat besides the context switches.
    stat: str = ""
    # None: the root of version 2, as the kernel has it without partitions.
    cgroups: Mapping[str, Mapping[str, str]] | None = None
    tasks: Iterable[Task] = ()
    uptime: float = 100.0
    kernel_threads: bool = True
    part: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    # Folders that are not there.
    hidden: Iterable[str] = ()


def ranges(first: int, count: int) -> str:
    """Return consecutive CPUs as the kernel lists them."""
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _cpu(root: Path, machine: Machine, cpu: int) -> None:
    base = root / f"sys/devices/system/cpu/cpu{cpu}"
    # A core lies within one cache.
    threads = min(2, machine.llc_cpus)
    core = ranges(cpu - cpu % threads, threads)
    node = cpu // machine.node_cpus
    _write(base / "topology/physical_package_id", f"{node}\n")
    _write(base / "topology/core_id", f"{cpu // threads}\n")
    _write(base / "topology/thread_siblings_list", f"{core}\n")
    first = cpu - cpu % machine.llc_cpus
    for index, (level, kind, shared) in enumerate(
        [
            (1, "Data", core),
            (2, "Unified", core),
            (3, "Unified", ranges(first, min(machine.llc_cpus, machine.cpus - first))),
        ]
    ):
        cache = base / f"cache/index{index}"
        _write(cache / "level", f"{level}\n")
        _write(cache / "type", f"{kind}\n")
        _write(cache / "size", "32768K\n")
        _write(cache / "shared_cpu_list", f"{shared}\n")


def _task(root: Path, task: Task) -> None:
    tgid = task.tgid or task.tid
    base = root / f"proc/{tgid}/task/{task.tid}"
    _write(base / "stat", task.stat())
    _write(
        base / "status",
        f"Name:\t{task.comm}\nUid:\t1000\t1000\nCpus_allowed_list:\t{task.allowed}\n"
        f"voluntary_ctxt_switches:\t{task.voluntary}\n"
        f"nonvoluntary_ctxt_switches:\t{task.involuntary}\n",
    )
    _write(base / "cgroup", f"0::{task.cgroup}\n" if not task.controller else
           f"4:{task.controller}:{task.cgroup}\n")  # fmt: skip


def build(root: Path, machine: Machine) -> Path:
    """Write the tree of a machine and return its root."""
    everybody = ranges(0, machine.cpus)
    system = root / "sys/devices/system"
    for name in ("possible", "present", "online"):
        _write(system / "cpu" / name, f"{everybody}\n")
    _write(system / "cpu/isolated", f"{machine.isolated}\n")
    for cpu in range(machine.cpus):
        _cpu(root, machine, cpu)
    for node in range(machine.cpus // machine.node_cpus):
        _write(
            system / f"node/node{node}/cpulist",
            ranges(node * machine.node_cpus, machine.node_cpus) + "\n",
        )
    _write(root / "proc/sys/kernel/osrelease", f"{machine.release}\n")
    _write(root / "proc/sys/kernel/version", "#1 SMP\n")
    _write(root / "proc/cmdline", f"{machine.cmdline}\n")
    _write(root / f"boot/config-{machine.release}", "\n".join(machine.config) + "\n")
    _write(root / "proc/uptime", f"{machine.uptime:.2f} 0.00\n")
    _write(root / "proc/stat", f"{machine.stat}ctxt 1000\n")
    lines = []
    for mount in machine.mounts:
        kind, place, *options = mount.split()
        lines.append(
            f"30 1 0:26 / {place} rw shared:4 - {kind} {kind} {','.join(['rw', *options])}"
        )
        (root / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
    _write(root / "proc/self/mountinfo", "\n".join(lines) + "\n")
    whole = {"/sys/fs/cgroup": {"cpuset.cpus.effective": ranges(0, machine.cpus)}}
    for path, files in (whole if machine.cgroups is None else machine.cgroups).items():
        for name, value in files.items():
            _write(root / path.lstrip("/") / name, f"{value}\n")
    if machine.part:
        _write(root / "sys/fs/cgroup/cgroup.events", "populated 1\n")
    tasks = list(machine.tasks)
    if machine.kernel_threads:
        tasks += [
            Task(10 + cpu, f"migration/{cpu}", FIFO, 99, str(cpu), "/", 7, flags=KTHREAD)
            for cpu in range(machine.cpus)
        ]
    tasks.append(Task(1, "init", OTHER, 0, everybody, voluntary=3))
    for task in tasks:
        _task(root, task)
    for name, text in machine.files.items():
        _write(root / name, text)
    for folder in machine.hidden:
        shutil.rmtree(root / folder)
    return root


def collect(
    first: Path, *arguments: str | Path, second: Path | None = None, shell: str = "sh"
) -> subprocess.CompletedProcess[str]:
    """Run the collector on a tree; without a second one, both readings are the same."""
    argv = [*shell.split(), str(SCRIPT), "-r", str(first), "-R", str(second or first)]
    return subprocess.run([*argv, *map(str, arguments)], capture_output=True, text=True)


def collected(folder: Path, first: Path, second: Path | None = None, shell: str = "sh") -> Path:
    """Collect a tree's lists silently into a new folder, and return the folder."""
    folder.mkdir()
    done = collect(first, "-d", folder, second=second, shell=shell)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def packed(lists: Mapping[str, bytes], *more: Callable[[tarfile.TarFile], None]) -> bytes:
    """Return a tar file of lists, as the collector writes it, with more members."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in lists.items():
            info = tarfile.TarInfo(f"schedshard-doctor/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for add in more:
            add(tar)
    return archive.getvalue()
