# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes trees that look like a machine's /proc and /sys, and collects what is in them.

Only tests of the collector need a tree: listed() makes the collector's lists without a tree.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from doctor.collector.script import SCRIPT
from doctor.facts.archive import FORMAT

FIFO, RR, DEADLINE, OTHER = 1, 2, 6, 0
SHELLS = [
    shell
    for shell in ("dash", "busybox sh", "bash --posix", "sh")
    if shutil.which(shell.split()[0]) is not None
]
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
    files: Mapping[str, str] = field(default_factory=dict)
    # Folders that are not there.
    hidden: Iterable[str] = ()


def ranges(first: int, count: int) -> str:
    """Return consecutive CPUs as the kernel lists them."""
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _cpu(machine: Machine, cpu: int) -> dict[str, str]:
    # A core lies within one cache.
    threads = min(2, machine.llc_cpus)
    core = ranges(cpu - cpu % threads, threads)
    first = cpu - cpu % machine.llc_cpus
    last = ranges(first, min(machine.llc_cpus, machine.cpus - first))
    made = {
        "topology/physical_package_id": str(cpu // machine.node_cpus),
        "topology/core_id": str(cpu // threads),
        "topology/thread_siblings_list": core,
    }
    caches = [("1", "Data", core), ("2", "Unified", core), ("3", "Unified", last)]
    for index, (level, kind, shared) in enumerate(caches):
        values = {"level": level, "type": kind, "size": "32768K", "shared_cpu_list": shared}
        made |= {f"cache/index{index}/{name}": value for name, value in values.items()}
    return {f"sys/devices/system/cpu/cpu{cpu}/{name}": f"{made[name]}\n" for name in made}


def _task(task: Task) -> dict[str, str]:
    base = f"proc/{task.tgid or task.tid}/task/{task.tid}"
    hierarchy = f"4:{task.controller}" if task.controller else "0:"
    return {
        f"{base}/stat": task.stat(),
        f"{base}/status": f"Name:\t{task.comm}\nUid:\t1000\t1000\n"
        f"Cpus_allowed_list:\t{task.allowed}\nvoluntary_ctxt_switches:\t{task.voluntary}\n"
        f"nonvoluntary_ctxt_switches:\t{task.involuntary}\n",
        f"{base}/cgroup": f"{hierarchy}:{task.cgroup}\n",
    }


def _tasks(machine: Machine) -> list[Task]:
    """Return the threads of a machine, with those of the kernel."""
    return [*machine.tasks, *(
        Task(10 + cpu, f"migration/{cpu}", FIFO, 99, str(cpu), "/", 7, flags=KTHREAD)
        for cpu in range(machine.cpus if machine.kernel_threads else 0)
    )]  # fmt: skip


def _mounts(machine: Machine) -> list[tuple[str, str, str]]:
    """Return the kind, the place and the options of each mount."""
    rows = [mount.split() for mount in machine.mounts]
    return [(kind, place, ",".join(["rw", *options])) for kind, place, *options in rows]


def _files(machine: Machine, tasks: Iterable[Task]) -> dict[str, str]:
    """Return the files of a tree with these threads, by their paths."""
    system, everybody = "sys/devices/system", ranges(0, machine.cpus)
    made = {f"{system}/cpu/{name}": f"{everybody}\n" for name in ("possible", "present", "online")}
    made[f"{system}/cpu/isolated"] = f"{machine.isolated}\n"
    for cpu in range(machine.cpus):
        made |= _cpu(machine, cpu)
    for node in range(machine.cpus // machine.node_cpus):
        cpus = ranges(node * machine.node_cpus, machine.node_cpus)
        made[f"{system}/node/node{node}/cpulist"] = f"{cpus}\n"
    made |= {
        "proc/sys/kernel/osrelease": f"{machine.release}\n",
        "proc/sys/kernel/version": "#1 SMP\n",
        "proc/cmdline": f"{machine.cmdline}\n",
        f"boot/config-{machine.release}": "\n".join(machine.config) + "\n",
        "proc/uptime": f"{machine.uptime:.2f} 0.00\n",
        "proc/stat": f"{machine.stat}ctxt 1000\n",
        "proc/self/mountinfo": "".join(
            f"30 1 0:26 / {place} rw shared:4 - {kind} {kind} {options}\n"
            for kind, place, options in _mounts(machine)
        ),
    }
    whole = {"/sys/fs/cgroup": {"cpuset.cpus.effective": everybody}}
    for path, files in (whole if machine.cgroups is None else machine.cgroups).items():
        made |= {f"{path[1:]}/{name}": f"{value}\n" for name, value in files.items()}
    for task in tasks:
        made |= _task(task)
    made |= machine.files
    gone = tuple(f"{folder}/" for folder in machine.hidden)
    return {path: text for path, text in made.items() if not path.startswith(gone)}


def build(root: Path, machine: Machine) -> Path:
    """Write the tree of a machine and return its root."""
    for _, place, _ in _mounts(machine):
        (root / place[1:]).mkdir(parents=True, exist_ok=True)
    init = Task(1, "init", OTHER, 0, ranges(0, machine.cpus), voluntary=3)
    for name, text in _files(machine, [*_tasks(machine), init]).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


_SETTINGS = (
    r"proc/sys/kernel/(osrelease|version:|sched_)|sys/kernel/(realtime|sched_ext|debug/sched)"
    r"|proc/cpuinfo:(vendor_id|cpu family|model|model name)\s*:"
)
_V1 = r"cpuset\.(cpus|effective_cpus|sched_load_balance)"
_V2 = r"cgroup\.type|cpuset\.cpus(\.(effective|exclusive|exclusive\.effective|partition|isolated))?"
_READING = r"proc/(uptime|stat:(ctxt |cpu\d)|interrupts: *(IWI|RES|CAL):|.*:(non)?voluntary)"
_OPTIONS = "isolcpus|nohz|cgroup_|rt_group_sched|threadirqs|systemd"
_TASK = r"proc/\d+/task/\d+"


def listed(first: Machine, second: Machine | None = None) -> dict[str, str]:
    """Return the collector's lists; without a second machine, both readings are the same.

    The lists lack the kernel's symbols and types, and names with a newline.
    """
    lines: list[str] = []
    for machine in (second or first, first):
        tasks = [task for task in _tasks(machine) if task.policy != OTHER]
        tasks.sort(key=lambda task: (str(task.tgid or task.tid), str(task.tid)))
        late, files = lines, _files(machine, tasks)
        lines = [
            f"{path}:{line}"
            for path, text in files.items() for line in text.removesuffix("\n").split("\n")
        ]  # fmt: skip

    def found(pattern: str, lines: list[str] = lines) -> list[str]:
        return [line for line in lines if re.match(pattern, line)]

    def reading(lines: list[str]) -> list[str]:
        made = [line.removeprefix("proc/") for line in found(_READING, lines)]
        return [*(re.sub("^stat:cpu", "busy:cpu", line) for line in made), made[0]]

    cgroups = []
    for kind, place, _ in _mounts(first):
        names = _V2 if kind == "cgroup2" else _V1
        cgroups += sorted(found(rf"{re.escape(place[1:])}/(.*/)?({names}):"))
        root = kind == "cgroup2" or f"{place[1:]}/release_agent" in files
        if not root or f"{place[1:]}/cgroup.events" in files:
            cgroups.append(f"{place[1:]}/cgroup.part:1")
    settings = found(_SETTINGS)
    if found(r"proc/cpuinfo:flags.* hypervisor( |$)"):
        settings.append("proc/cpuinfo:hypervisor : yes")
    places = found(f"{_TASK}/status:Cpus_allowed_list") + found(f"{_TASK}/cgroup:")
    made = {
        "cpus": found("sys/devices/system/(cpu|node)/"),
        "settings": settings,
        "cmdline": [word for word in first.cmdline.split() if re.match(_OPTIONS, word)],
        "config": list(first.config),
        "mounts": [f"{kind} / {place} {options}" for kind, place, options in _mounts(first)],
        "cgroups": cgroups,
        "threads": [
            f"{t.tgid or t.tid} {t.tid} {t.policy} {t.priority} {t.flags} 0 {t.comm}" for t in tasks
        ],
        "reading-1": reading(lines),
        "places": [line.removeprefix("proc/") for line in places],
        "reading-2": reading(late),
        "format": [FORMAT],
    }
    return {name: "".join(f"{line}\n" for line in held) for name, held in made.items()}


def tar(
    tmp_path: Path, machine: Machine, seconds: float = 2.0, iwi: int = 0, calls: int = 0
) -> Path:
    """Return the archive of a machine: at the first reading no thread has slept yet."""
    early = replace(machine, tasks=[replace(task, voluntary=0) for task in machine.tasks])
    late = replace(machine, uptime=machine.uptime + seconds)
    others = " 0" * (machine.cpus - 1)
    for name, count in (("IWI", iwi), ("CAL", calls)):
        if count:
            first, second = (f" {name}: {many}{others} x\n" for many in (0, count))
            early = replace(early, files={**early.files, "proc/interrupts": first})
            late = replace(late, files={**late.files, "proc/interrupts": second})
    return archived(tmp_path, listed(early, late))


def archived(folder: Path, lists: Mapping[str, str]) -> Path:
    """Write lists into a tar file in a folder, and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "host.tar"
    out.write_bytes(packed({name: text.encode() for name, text in lists.items()}))
    return out


def collect(
    first: Path, *arguments: str | Path, second: Path | None = None, shell: str = "sh"
) -> subprocess.CompletedProcess[str]:
    """Run the collector on a tree; without a second tree, both readings are the same."""
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
