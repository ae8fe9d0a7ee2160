# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The collector's lists as facts about a machine, checked and typed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from schedshard.common.errors import UserError
from schedshard.doctor.facts.cpusets import Cpusets, read_cpusets
from schedshard.doctor.facts.values import clean, cpu_list, stable_release

FIFO, RR, DEADLINE = 1, 2, 6
POLICIES = {FIFO: "fifo", RR: "rr", DEADLINE: "deadline"}
_KTHREAD = 0x00200000
_CPU_FILE = re.compile(r"sys/devices/system/cpu/cpu(\d{1,6})/(.+)")
_NODE_FILE = re.compile(r"sys/devices/system/node/node(\d{1,6})/cpulist")
_CACHE = re.compile(r"cache/index(\d{1,2})/([a-z_]+)")
_INTERRUPT = re.compile(r"interrupts: *(IWI|RES|CAL):((?: +\d+)+)")
_BUSY = re.compile(r"cpu(\d{1,6})((?: +\d{1,19}){4,16})")
_RAN = re.compile(r"\d+/task/(\d+)/schedstat")
_CONFIG = re.compile(r"(?:# )?CONFIG_([A-Z0-9_]+)(?:=(.*)| is not set)")


@dataclass(frozen=True)
class Thread:
    """A real-time or deadline thread, and what it did between two readings.

    ``voluntary`` is how often it slept, ``ran`` for how many nanoseconds it had a CPU.
    """

    tgid: int
    tid: int
    comm: str
    policy: int
    priority: int
    kernel: bool
    cpu: int = 0
    allowed: frozenset[int] | None = None
    cgroup: str | None = None
    voluntary: int | None = None
    ran: int | None = None

    @property
    def stopper(self) -> bool:
        """Whether this is a CPU's stopper, which reads back as FIFO 99 and is in its own class."""
        return self.kernel and self.comm.startswith("migration/")


@dataclass(frozen=True)
class Cpu:
    """Where a CPU is. ``llc`` is its largest shared cache that the kernel knows, None if none."""

    number: int
    package: int | None = None
    node: int | None = None
    llc: frozenset[int] | None = None
    llc_level: int | None = None


@dataclass(frozen=True)
class Facts:
    """A machine at the time of collection."""

    release: str
    version: tuple[int, int, int]
    build: str
    cpus: Mapping[int, Cpu]
    online: frozenset[int]
    isolated: frozenset[int]
    nohz_full: frozenset[int]
    settings: Mapping[str, str]
    cmdline: tuple[str, ...]
    config: Mapping[str, str]
    cpusets: Cpusets
    threads: tuple[Thread, ...]
    seconds: float
    switches: int | None
    interrupts: Mapping[str, int]
    affinities: tuple[tuple[int, frozenset[int]], ...]
    nodes: Mapping[int, frozenset[int]] = field(default_factory=dict)
    calls: Mapping[int, int] = field(default_factory=dict)  # function call interrupts by CPU
    busy: Mapping[int, float] = field(default_factory=dict)  # part of the time, by CPU

    @property
    def hypervisor(self) -> str | None:
        """Return what says that this is a virtual machine, or None."""
        for key in ("proc/cpuinfo/hypervisor", "sys/hypervisor/type"):
            if key in self.settings:
                return f"{key.replace('cpuinfo/', 'cpuinfo: ')} {self.settings[key]}"
        return None

    @property
    def systemd(self) -> int | None:
        """Return the version of the systemd that runs, 0 if it is unknown, None if none runs."""
        if "systemd/running" not in self.settings:
            return None
        match = re.match(r"\d{1,5}", self.settings.get("systemd/version", ""))
        return int(match[0]) if match else 0

    @property
    def boot_isolated(self) -> frozenset[int]:
        """Return the CPUs of isolcpus=domain: later kernels list isolated partitions with them."""
        if not any(word.startswith("isolcpus=") for word in self.cmdline):
            return frozenset()
        return self.isolated

    @property
    def sees_kernel_threads(self) -> bool:
        """Whether the collector saw kernel threads; from inside a container it does not."""
        return any(thread.kernel for thread in self.threads)

    @property
    def llcs(self) -> set[frozenset[int]]:
        """Return the last-level caches among the CPUs that are online."""
        return {
            cpu.llc & self.online for cpu in self.cpus.values()
            if cpu.llc and cpu.number in self.online
        }  # fmt: skip

    def features(self) -> frozenset[str] | None:
        """Return the scheduler's features, or None where debugfs could not be read."""
        for key in ("sys/kernel/debug/sched/features", "sys/kernel/debug/sched_features"):
            if key in self.settings:
                return frozenset(self.settings[key].split())
        return None


class _WrongError(ValueError):
    """A list has a line that the collector does not write."""


def _lines(lists: Mapping[str, str], name: str) -> Iterator[tuple[str, str]]:
    """Yield each line of a list with its place for messages. Only newlines end a line."""
    for number, line in enumerate(lists[name].split("\n"), 1):
        if line:
            yield f"{name}:{number}", line


def _mask(place: str, value: str) -> frozenset[int]:
    try:
        return cpu_list(value)
    except ValueError as error:
        raise _WrongError(f"{place}: {error}") from error


def _number(place: str, value: str) -> int:
    if not re.fullmatch(r"-?\d{1,19}", value.strip()):
        raise _WrongError(f"{place}: '{clean(value.strip()[:40])}' is no number")
    return int(value)


@dataclass
class _Cache:
    level: int = 0
    kind: str = ""
    shared: frozenset[int] = frozenset()


def _cpus(
    lists: Mapping[str, str],
) -> tuple[dict[int, Cpu], dict[str, frozenset[int]], dict[int, frozenset[int]]]:
    masks: dict[str, frozenset[int]] = {}
    nodes: dict[int, frozenset[int]] = {}
    packages: dict[int, int] = {}
    caches: dict[int, dict[int, _Cache]] = {}
    for place, line in _lines(lists, "cpus"):
        path, colon, value = line.partition(":")
        if not colon:
            raise _WrongError(f"{place}: no file and value")
        if node := _NODE_FILE.fullmatch(path):
            nodes[int(node[1])] = _mask(place, value)
        elif found := _CPU_FILE.fullmatch(path):
            cpu, name = int(found[1]), found[2]
            caches.setdefault(cpu, {})
            if name == "topology/physical_package_id":
                packages[cpu] = _number(place, value)
            elif cache := _CACHE.fullmatch(name):
                held = caches[cpu].setdefault(int(cache[1]), _Cache())
                if cache[2] == "level":
                    held.level = _number(place, value)
                elif cache[2] == "type":
                    held.kind = value.strip()
                elif cache[2] == "shared_cpu_list":
                    held.shared = _mask(place, value)
        elif path.startswith("sys/devices/system/cpu/") and path.count("/") == 4:
            masks[path.rpartition("/")[2]] = _mask(place, value)
    cpus = {}
    for cpu, held_caches in caches.items():
        data = [each for each in held_caches.values() if each.kind != "Instruction" and each.shared]
        last = max(data, key=lambda each: each.level, default=None)
        node_of = next((number for number, members in nodes.items() if cpu in members), None)
        cpus[cpu] = Cpu(
            cpu, packages.get(cpu), node_of, last.shared if last is not None else None,
            last.level if last is not None else None,
        )  # fmt: skip
    return cpus, masks, nodes


def _settings(lists: Mapping[str, str]) -> dict[str, str]:
    settings: dict[str, str] = {}
    for place, line in _lines(lists, "settings"):
        path, colon, value = line.partition(":")
        if not colon:
            raise _WrongError(f"{place}: no file and value")
        if path == "proc/cpuinfo":
            name, _, value = value.partition(":")
            settings[f"proc/cpuinfo/{name.strip()}"] = clean(value.strip())
        else:
            settings[path] = clean(f"{settings.get(path, '')} {value}".strip())
    return settings


def _config(lists: Mapping[str, str]) -> dict[str, str]:
    config = {}
    for place, line in _lines(lists, "config"):
        match = _CONFIG.fullmatch(line)
        if match is None:
            raise _WrongError(f"{place}: no option of a configuration")
        config[match[1]] = match[2] if match[2] is not None else "n"
    return config


def _busy_counters(place: str, value: str) -> dict[str, int]:
    """Return a CPU's time, and the part of it that was idle or waited for a disk, in ticks."""
    match = _BUSY.fullmatch(value.strip())
    if match is None:
        raise _WrongError(f"{place}: no times of a CPU")
    # The last two columns, guests, are part of the first two.
    ticks = [int(each) for each in match[2].split()][:8]
    return {f"time/{match[1]}": sum(ticks), f"idle/{match[1]}": ticks[3] + sum(ticks[4:5])}


def _busy(before: Mapping[str, int], after: Mapping[str, int]) -> dict[int, float]:
    """Return the part of the time in which each CPU did something."""
    busy = {}
    for key, end in after.items():
        cpu = key.removeprefix("time/")
        if cpu != key and key in before and end > before[key]:
            idle = after[f"idle/{cpu}"] - before[f"idle/{cpu}"]
            busy[int(cpu)] = min(max(1 - idle / (end - before[key]), 0.0), 1.0)
    return busy


def _difference(before: Mapping[str, int], after: Mapping[str, int], key: str) -> int | None:
    """Return how much a counter grew, None where a reading lacks it or it went back."""
    first, second = before.get(key), after.get(key)
    return second - first if first is not None and second is not None and second >= first else None


def _reading(lists: Mapping[str, str], name: str) -> tuple[float, dict[str, int], int | None]:
    """Return the uptime at the start, the counters by key, and all context switches."""
    uptime = None
    switches = None
    counters: dict[str, int] = {}
    for place, line in _lines(lists, name):
        path, _, value = line.partition(":")
        if path == "uptime":
            try:
                seen = float(value.split()[0])
            except (ValueError, IndexError) as error:
                raise _WrongError(f"{place}: no time since boot") from error
            if not 0 <= seen < 1e12:
                raise _WrongError(f"{place}: no time since boot")
            uptime = seen if uptime is None else uptime
        elif path == "stat":
            switches = _number(place, value.removeprefix("ctxt "))
        elif path == "busy":
            counters |= _busy_counters(place, value)
        elif match := _RAN.fullmatch(path):
            counters[f"{match[1]}:ran"] = _number(place, value.partition(" ")[0])
        elif match := _INTERRUPT.match(line):
            columns = [int(each) for each in match[2].split()]
            counters[match[1]] = sum(columns)
            counters |= {f"{match[1]}/{n}": count for n, count in enumerate(columns)}
        elif path.endswith("/status"):
            key, _, count = value.partition(":")
            counters[f"{path.split('/')[-2]}:{key}"] = _number(place, count)
    return uptime or 0.0, counters, switches


def _calls(
    before: Mapping[str, int], after: Mapping[str, int], online: frozenset[int]
) -> dict[int, int]:
    """Return the function call interrupts by CPU: the columns are the CPUs that are on line."""
    keys = [f"CAL/{n}" for n in range(len(online))]
    if f"CAL/{len(online)}" in after or not all(key in before and key in after for key in keys):
        return {}
    return {cpu: after[key] - before[key] for cpu, key in zip(sorted(online), keys)}


def _places(lists: Mapping[str, str]) -> tuple[dict[int, frozenset[int]], dict[int, str]]:
    allowed: dict[int, frozenset[int]] = {}
    cgroups: dict[int, str] = {}
    for place, line in _lines(lists, "places"):
        match = re.match(r"\d+/task/(\d+)/(status|cgroup):(.*)", line, re.DOTALL)
        if match is None:
            raise _WrongError(f"{place}: no place of a thread")
        tid = int(match[1])
        if match[2] == "status":
            allowed[tid] = _mask(place, match[3].partition(":")[2])
        else:
            _, controllers, path = [*match[3].split(":", 2), "", ""][:3]
            # A line with controllers is of cgroup v1, and counts where the cpuset is on it.
            if controllers or tid not in cgroups:
                cgroups[tid] = clean(path) or "/"
    return allowed, cgroups


def _threads(
    lists: Mapping[str, str], before: Mapping[str, int], after: Mapping[str, int]
) -> list[Thread]:
    allowed, cgroups = _places(lists)
    threads = []
    for place, line in _lines(lists, "threads"):
        words = line.split(" ", 6)
        if len(words) != 7:
            raise _WrongError(f"{place}: no thread")
        tgid, tid, policy, priority, flags, cpu = (_number(place, word) for word in words[:6])
        if policy not in POLICIES:
            raise _WrongError(f"{place}: policy {policy} is neither real-time nor deadline")
        threads.append(
            Thread(
                tgid, tid, clean(words[6])[:32], policy, priority, bool(flags & _KTHREAD), cpu,
                allowed.get(tid), cgroups.get(tid),
                _difference(before, after, f"{tid}:voluntary_ctxt_switches"),
                _difference(before, after, f"{tid}:ran"),
            )
        )  # fmt: skip
    return threads


def _affinities(lists: Mapping[str, str]) -> list[tuple[int, frozenset[int]]]:
    found = []
    for place, line in _lines(lists, "affinities"):
        words = line.split()
        if len(words) not in (1, 2):
            raise _WrongError(f"{place}: no count and list of CPUs")
        found.append((_number(place, words[0]), _mask(place, "".join(words[1:]))))
    return found


def _read(lists: Mapping[str, str]) -> Facts:
    cpus, masks, nodes = _cpus(lists)
    settings = _settings(lists)
    name = settings.get("proc/sys/kernel/osrelease", "")
    build = settings.get("proc/sys/kernel/version", "")
    version = stable_release(name, build)
    if version is None:
        raise _WrongError(f"settings: '{name[:40]}' is no release of a kernel")
    if "online" not in masks or not masks["online"]:
        raise _WrongError("cpus: sys/devices/system/cpu/online is missing")
    start, before, switched = _reading(lists, "reading-1")
    end, after, switches = _reading(lists, "reading-2")
    seconds = max(end - start, 0.0)
    known = switched is not None and switches is not None and switches >= switched
    try:
        cpusets = read_cpusets(lists["mounts"], lists["cgroups"])
    except ValueError as error:
        raise _WrongError(str(error)) from error
    return Facts(
        release=name,
        version=version,
        build=build,
        cpus=cpus,
        online=masks["online"],
        isolated=masks.get("isolated", frozenset()),
        nohz_full=masks.get("nohz_full", frozenset()),
        settings=settings,
        cmdline=tuple(clean(line) for _, line in _lines(lists, "cmdline")),
        config=_config(lists),
        cpusets=cpusets,
        threads=tuple(_threads(lists, before, after)),
        seconds=seconds,
        switches=switches - switched if known else None,  # type: ignore[operator]
        interrupts={
            key: after[key] - before[key]
            for key in ("IWI", "RES", "CAL")
            if key in before and after.get(key, -1) >= before[key]
        },
        calls=_calls(before, after, masks["online"]),
        busy=_busy(before, after),
        affinities=tuple(_affinities(lists)),
        nodes=nodes,
    )


def read_facts(lists: Mapping[str, str], source: str) -> Facts:
    """Return the facts in the lists. A wrong list is a UserError with its line."""
    try:
        return _read(lists)
    except _WrongError as error:
        raise UserError(f"{source}: {error}") from error
