# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Turns the collector's lists into checked and typed facts about a machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from common.errors import UserError
from doctor.facts.cpusets import Cpusets, read_cpusets
from doctor.facts.topology import Cpu, read_topology
from doctor.facts.values import (
    CPU_LIMIT,
    CpuLists,
    clean,
    numbered,
    stable_release,
)

FIFO, RR, DEADLINE = 1, 2, 6
POLICIES = {FIFO: "fifo", RR: "rr", DEADLINE: "deadline"}
_KTHREAD = 0x00200000
_INTERRUPT = re.compile(r"interrupts: *(IWI|RES|CAL):((?: +[0-9]{1,19})+)")
_BUSY = re.compile(r"cpu([0-9]{1,6})((?: +[0-9]{1,19}){4,16})")
_UPTIME = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,9})?)(?:\s|$)")
_STATUS = re.compile(r"[0-9]+/task/([0-9]{1,19})/status")
# The collector writes few lines, or a few per CPU, cgroup or thread. A forged list may be longer.
_MOST_LINES = {"settings": 50_000, "cmdline": 1000, "config": 5000}
_MOST = 400_000
_CONFIG = re.compile(r"(?:# )?CONFIG_([A-Z0-9_]+)(?:=(.*)| is not set)")


@dataclass(frozen=True)
class Thread:
    """A real-time or deadline thread; ``voluntary`` is how often it slept between two readings."""

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

    @property
    def stopper(self) -> bool:
        """Whether this is a CPU's stopper, which reads back as FIFO 99 but is in the stop class."""
        return self.kernel and self.comm.startswith("migration/")


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
    nodes: Mapping[int, frozenset[int]] = field(default_factory=dict)
    calls: Mapping[int, int] = field(default_factory=dict)  # function call interrupts by CPU
    busy: Mapping[int, float] = field(default_factory=dict)  # fraction of the time, by CPU

    @property
    def hypervisor(self) -> str | None:
        """Return the file and value that show a virtual machine, or None if none does."""
        for key in ("proc/cpuinfo/hypervisor", "sys/hypervisor/type"):
            if key in self.settings:
                return f"{key.replace('cpuinfo/', 'cpuinfo: ')} {self.settings[key]}"
        return None

    @property
    def pseudonyms(self) -> bool:
        """Whether names of threads and cgroups are pseudonyms (collect.sh -a)."""
        return "collector/pseudonyms" in self.settings

    @property
    def unthrottled(self) -> str:
        """Return why no CPU time is reserved for threads that are not real-time, or ""."""
        place = "proc/sys/kernel/sched_rt_"
        runtime, period = (
            self.settings.get(f"{place}{name}_us", "").split()[-1:]
            for name in ("runtime", "period")
        )
        if runtime == ["-1"]:
            return "sched_rt_runtime_us is -1"
        texts = [text for text in (*runtime, *period) if re.fullmatch(r"[0-9]{1,10}", text)]
        if len(texts) == 2 and int(texts[0]) >= int(texts[1]):
            return f"sched_rt_runtime_us is {texts[0]}, not below sched_rt_period_us"
        return ""

    @property
    def boot_isolated(self) -> frozenset[int]:
        """Return the CPUs of isolcpus=domain, with later kernels also of isolated partitions."""
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
    """A list contains a line that the collector does not write."""


def _lines(lists: Mapping[str, str], name: str) -> Iterator[tuple[str, str]]:
    """Yield each line of a list with its place for messages."""
    try:
        yield from numbered(name, lists[name], _MOST_LINES.get(name, _MOST))
    except ValueError as error:
        raise _WrongError(str(error)) from error


def _mask(place: str, value: str, known: CpuLists) -> frozenset[int]:
    try:
        return known.read(value)
    except ValueError as error:
        raise _WrongError(f"{place}: {error}") from error


def _number(place: str, value: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,19}", value.strip()):
        raise _WrongError(f"{place}: '{clean(value.strip()[:40])}' is not a number")
    return int(value.strip())


def _settings(lists: Mapping[str, str]) -> dict[str, str]:
    settings: dict[str, str] = {}
    held: dict[str, list[str]] = {}
    for place, line in _lines(lists, "settings"):
        path, colon, value = line.partition(":")
        if not colon:
            raise _WrongError(f"{place} is not FILE:VALUE")
        if path == "proc/cpuinfo":
            name, _, value = value.partition(":")
            settings[f"proc/cpuinfo/{name.strip()}"] = clean(value.strip())
        else:
            held.setdefault(path, []).append(value)
    return settings | {path: clean(" ".join(values).strip()) for path, values in held.items()}


def _config(lists: Mapping[str, str]) -> dict[str, str]:
    config = {}
    for place, line in _lines(lists, "config"):
        match = _CONFIG.fullmatch(line)
        if match is None:
            raise _WrongError(f"{place} is not an option of a kernel configuration")
        config[match[1]] = match[2] if match[2] is not None else "n"
    return config


def _busy_counters(place: str, value: str) -> dict[str, int]:
    """Return a CPU's time, and the part of it that was idle or waited for a disk, in ticks."""
    match = _BUSY.fullmatch(value.strip())
    if match is None:
        raise _WrongError(f"{place} is not a cpu line of /proc/stat")
    # The last two columns, guests, are part of the first two.
    ticks = [int(ticks_text) for ticks_text in match[2].split()][:8]
    return {f"time/{match[1]}": sum(ticks), f"idle/{match[1]}": ticks[3] + sum(ticks[4:5])}


def _busy(before: Mapping[str, int], after: Mapping[str, int]) -> dict[int, float]:
    """Return the busy fraction of each CPU, by number."""
    busy = {}
    for key, end in after.items():
        cpu = key.removeprefix("time/")
        if cpu != key and key in before and end > before[key]:
            idle = after[f"idle/{cpu}"] - before[f"idle/{cpu}"]
            busy[int(cpu)] = min(max(1 - idle / (end - before[key]), 0.0), 1.0)
    return busy


def _grown(first: int, second: int) -> int | None:
    return second - first if second >= first else None


def _difference(before: Mapping[int, int], after: Mapping[int, int], key: int) -> int | None:
    """Return how much a counter grew, or None if a reading lacks it or it decreased."""
    first, second = before.get(key), after.get(key)
    return second - first if first is not None and second is not None and second >= first else None


@dataclass
class _Reading:
    """One reading of the counters.

    ``uptime`` is the time since boot when the reading began, in seconds. ``switches`` counts all
    context switches. ``counters`` has ticks by CPU, and interrupts by type and by CPU. ``slept``
    has each thread's voluntary switches.
    """

    uptime: float | None = None
    switches: int | None = None
    counters: dict[str, int] = field(default_factory=dict)
    slept: dict[int, int] = field(default_factory=dict)


def _reading(lists: Mapping[str, str], name: str) -> _Reading:
    reading = _Reading()
    counters = reading.counters
    for place, line in _lines(lists, name):
        path, _, value = line.partition(":")
        if path == "uptime":
            uptime = _UPTIME.match(value)
            if uptime is None:
                raise _WrongError(f"{place} is not a time since boot")
            reading.uptime = float(uptime[1]) if reading.uptime is None else reading.uptime
        elif path == "stat":
            reading.switches = _number(place, value.removeprefix("ctxt "))
        elif path == "busy":
            counters |= _busy_counters(place, value)
        elif match := _INTERRUPT.match(line):
            columns = [int(column) for column in match[2].split()[: CPU_LIMIT + 1]]
            counters[match[1]] = sum(columns)
            counters |= {f"{match[1]}/{n}": count for n, count in enumerate(columns)}
        elif match := _STATUS.fullmatch(path):
            key, _, count = value.partition(":")
            number = _number(place, count)
            if key == "voluntary_ctxt_switches":
                reading.slept[int(match[1])] = number
    return reading


def _calls(
    before: Mapping[str, int], after: Mapping[str, int], online: frozenset[int]
) -> dict[int, int]:
    """Return the function call interrupts by CPU: the columns are the CPUs that are online."""
    keys = [f"CAL/{n}" for n in range(len(online))]
    if f"CAL/{len(online)}" in after or not all(key in before and key in after for key in keys):
        return {}
    return {cpu: after[key] - before[key] for cpu, key in zip(sorted(online), keys)}


def _places(
    lists: Mapping[str, str], known: CpuLists
) -> tuple[dict[int, frozenset[int]], dict[int, str]]:
    allowed: dict[int, frozenset[int]] = {}
    cgroups: dict[int, str] = {}
    names: dict[str, str] = {}
    for place, line in _lines(lists, "places"):
        match = re.match(r"[0-9]+/task/([0-9]{1,19})/(status|cgroup):(.*)", line, re.DOTALL)
        if match is None:
            raise _WrongError(f"{place} is not a line of a thread's status or cgroup file")
        tid = int(match[1])
        if match[2] == "status":
            allowed[tid] = _mask(place, match[3].partition(":")[2], known)
        else:
            _, controllers, path = [*match[3].split(":", 2), "", ""][:3]
            # The collector writes a line with controllers, as cgroup v1 has them, only for cpusets.
            if controllers or tid not in cgroups:
                # One string for all threads of a cgroup.
                cgroups[tid] = names.setdefault(path, clean(path) or "/")
    return allowed, cgroups


def _threads(
    lists: Mapping[str, str], before: _Reading, after: _Reading, known: CpuLists
) -> list[Thread]:
    allowed, cgroups = _places(lists, known)
    threads = []
    for place, line in _lines(lists, "threads"):
        words = line.split(" ", 6)
        if len(words) != 7:
            raise _WrongError(f"{place} does not describe a thread")
        tgid, tid, policy, priority, flags, cpu = (_number(place, word) for word in words[:6])
        if policy not in POLICIES:
            raise _WrongError(f"{place}: policy {policy} is neither real-time nor deadline")
        threads.append(
            Thread(
                tgid, tid, clean(words[6])[:32], policy, priority, bool(flags & _KTHREAD), cpu,
                allowed.get(tid), cgroups.get(tid), _difference(before.slept, after.slept, tid),
            )
        )  # fmt: skip
    return threads


def _read(lists: Mapping[str, str]) -> Facts:
    known = CpuLists()
    try:
        topology = read_topology(_lines(lists, "cpus"), known)
    except ValueError as error:
        raise _WrongError(str(error)) from error
    masks = topology.masks
    settings = _settings(lists)
    name = settings.get("proc/sys/kernel/osrelease", "")
    build = settings.get("proc/sys/kernel/version", "")
    version = stable_release(name, build, settings.get("proc/version_signature", ""))
    if version is None:
        raise _WrongError(f"settings: '{name[:40]}' is not a release of a kernel")
    if "online" not in masks or not masks["online"]:
        raise _WrongError("cpus: sys/devices/system/cpu/online is missing")
    first, second = _reading(lists, "reading-1"), _reading(lists, "reading-2")
    before, after = first.counters, second.counters
    switches = (first.switches, second.switches)
    try:
        cpusets = read_cpusets(lists["mounts"], lists["cgroups"], known)
    except ValueError as error:
        raise _WrongError(str(error)) from error
    return Facts(
        release=name,
        version=version,
        build=build,
        cpus=topology.cpus,
        online=masks["online"],
        isolated=masks.get("isolated", frozenset()),
        nohz_full=masks.get("nohz_full", frozenset()),
        settings=settings,
        cmdline=tuple(clean(line) for _, line in _lines(lists, "cmdline")),
        config=_config(lists),
        cpusets=cpusets,
        threads=tuple(_threads(lists, first, second, known)),
        seconds=max((second.uptime or 0.0) - (first.uptime or 0.0), 0.0),
        switches=None if None in switches else _grown(*switches),  # type: ignore[arg-type]
        interrupts={
            key: after[key] - before[key]
            for key in ("IWI", "RES", "CAL")
            if key in before and after.get(key, -1) >= before[key]
        },
        calls=_calls(before, after, masks["online"]),
        busy=_busy(before, after),
        nodes=topology.nodes,
    )


def read_facts(lists: Mapping[str, str], source: str) -> Facts:
    """Return the facts in the lists. A wrong list is a UserError with its line."""
    try:
        return _read(lists)
    except _WrongError as error:
        raise UserError(f"{source}: {error}") from error
