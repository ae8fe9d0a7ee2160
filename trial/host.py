# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads what a trial says of this machine: its CPUs, kernel, features, mitigations and state."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from common.errors import UserError
from doctor.facts.values import cpu_list
from trial.form import ARCHES, CLASSES, Cpu, Host, Kernel

# A sensor this close to its critical temperature is too hot (kelvin).
NEAR_CRITICAL = 5.0
_WATCHED = 1.0  # seconds


def _read(path: Path, default: str = "") -> str:
    """Return a file's first 64 MiB, or ``default``. The kernel refuses some files to some users."""
    try:
        with path.open("rb") as file:
            return file.read(1 << 26).decode("utf-8", "replace").strip()
    except OSError:
        return default


def _sum(text: str, name: str) -> int:
    match = re.search(rf"^ *{name}((?: +\d+)+)", text, re.MULTILINE)
    return sum(map(int, match[1].split())) if match else 0


def _plain(text: str) -> str:
    return "".join(char if " " <= char <= "~" else "?" for char in text)[:160]


class Machine:
    """The machine whose /sys and /proc are below ``root``."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self.cpu_folder = root / "sys/devices/system/cpu"

    def _lowest(self, path: Path, default: int) -> int:
        """Return the lowest CPU in a list, which identifies the list."""
        try:
            return min(cpu_list(_read(path)), default=default)
        except ValueError as error:
            raise UserError(f"/{path.relative_to(self.root)}: {error}", status=1) from None

    def _node(self, cpu: Path) -> int:
        nodes = [path.name[4:] for path in cpu.glob("node[0-9]*")]
        return int(nodes[0]) if nodes and nodes[0].isdigit() else 0

    def _place(self, cpu: int) -> tuple[int, ...]:
        """Return labels of a CPU's package, node, last-level cache, L2 and core."""
        folder = self.cpu_folder / f"cpu{cpu}"
        package = _read(folder / "topology/physical_package_id", "0")
        core = self._lowest(folder / "topology/thread_siblings_list", cpu)
        caches: dict[int, int] = {}
        for index in folder.glob("cache/index[0-9]*"):
            level = _read(index / "level")
            if level.isdigit() and _read(index / "type") != "Instruction":
                caches[int(level)] = self._lowest(index / "shared_cpu_list", cpu)
        at = int(package) if package.lstrip("-").isdigit() else 0
        node = self._node(folder)
        last = max(caches, default=0)
        # Without caches in /sys a node of a package counts as one.
        llc = caches[last] if last > 1 else (at << 16) + node
        return at, node, llc, caches.get(2, core), core

    def cpus(self, allowed: frozenset[int]) -> tuple[Cpu, ...]:
        """Return the CPUs that this process may use; caches, nodes and so on count from 0."""
        places = {cpu: self._place(cpu) for cpu in sorted(allowed)}
        ids: list[dict[int, int]] = [{} for _ in range(5)]
        for place in places.values():
            for known, label in zip(ids, place):
                known.setdefault(label, len(known))
        return tuple(
            Cpu(cpu, *(known[label] for known, label in zip(ids, place)))
            for cpu, place in places.items()
        )

    def host(self, allowed: frozenset[int]) -> Host:
        """Return what is known about the machine."""
        arch = platform.machine()
        if arch not in ARCHES:
            raise UserError(f"this machine is {arch}: the trial measures {' and '.join(ARCHES)}")
        text = _read(self.root / "proc/cpuinfo")
        model = re.search(r"^(?:model name|Model|CPU part)\s*:\s*(.+)$", text, re.MULTILINE)
        processor = _plain(model[1]) if model else "unknown"
        emulated = "QEMU" in processor
        files = sorted((self.cpu_folder / "vulnerabilities").glob("*"))
        return Host(
            processor, arch, emulated or bool(re.search(r"^flags.*\bhypervisor\b", text, re.M)),
            emulated, self.cpus(allowed), {file.name: _plain(_read(file)) for file in files},
        )  # fmt: skip

    def kernel(self) -> Kernel:
        """Return this kernel: only the numbers of its release, and features that root can read."""
        release = re.match(r"\d+(\.\d+){1,2}", platform.release())
        words = _read(self.root / "sys/kernel/debug/sched/features").split()
        features = {word[3:] if word[:3] == "NO_" else word: word[:3] != "NO_" for word in words}
        return Kernel("host", release.group() if release else "0.0", features)

    def battery(self) -> bool:
        """Whether a battery supplies the machine."""
        supplies = list((self.root / "sys/class/power_supply").glob("*"))
        return any(
            _read(supply / "type") == "Battery" and _read(supply / "status") == "Discharging"
            and _read(supply / "scope") != "Device"  # a mouse
            for supply in supplies
        )  # fmt: skip

    def throttled(self) -> int:
        """Return how often the processor slowed itself down because it was hot."""
        files = self.cpu_folder.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")
        return sum(int(text) for file in files if (text := _read(file)).isdigit())

    def hot(self) -> str:
        """Return a sentence if a sensor is near its critical temperature, or ""."""
        for sensor in sorted((self.root / "sys/class/hwmon").glob("hwmon*/temp*_input")):
            now = _read(sensor)
            most = _read(sensor.with_name(sensor.name.replace("_input", "_crit")))
            if now.isdigit() and most.isdigit() and int(most) > 0:
                celsius, critical = int(now) / 1000, int(most) / 1000
                if celsius >= critical - NEAR_CRITICAL:
                    return f"a sensor shows {celsius:.0f} degrees C; {critical:.0f} are critical"
        return ""

    def counts(self) -> dict[str, float]:
        """Return, since the boot, ticks in programs and in the kernel, switches, and interrupts.

        The interrupts are those that make a CPU call a function of another CPU. A push walk goes
        from CPU to CPU by them. IWI counts only those to the CPU itself, since Linux 5.8.
        """
        stat, interrupts = (_read(self.root / "proc" / name) for name in ("stat", "interrupts"))
        words = [*map(int, stat.partition("\n")[0].split()[1:9]), *[0] * 8]
        return {
            "program": words[0] + words[1], "system": words[2] + words[5] + words[6],
            "switches": _sum(stat, "ctxt"), "call-interrupts": _sum(interrupts, "CAL:"),
        }  # fmt: skip

    def _ticks(self) -> tuple[int, int]:
        """Return the time that CPUs were busy since boot, and all time, in ticks."""
        line = _read(self.root / "proc/stat").partition("\n")[0].split()[1:9]
        ticks = [int(word) for word in line]
        return sum(ticks) - sum(ticks[3:5]), sum(ticks)

    def load(self, seconds: float = _WATCHED) -> float:
        """Return the share of all CPUs' time that was busy during some seconds from now on."""
        busy, whole = self._ticks()
        time.sleep(seconds)
        now, all_ = self._ticks()
        return min(1.0, max(0.0, (now - busy) / max(1, all_ - whole)))


def allowed_cpus() -> frozenset[int]:
    """Return the CPUs that this process may use."""
    return frozenset(os.sched_getaffinity(0))


def in_order(cpus: tuple[Cpu, ...]) -> list[Cpu]:
    """Return CPUs as threads take them: one per core first, by package, node and cache."""
    rank: dict[int, int] = {}
    keyed = []
    for cpu in sorted(cpus, key=lambda cpu: cpu.cpu):
        sibling = rank.get(cpu.core, 0)
        rank[cpu.core] = sibling + 1
        keyed.append((sibling, cpu.package, cpu.node, cpu.llc, cpu.core, cpu.cpu, cpu))
    return [key[-1] for key in sorted(keyed)]


def distance(a: Cpu, b: Cpu) -> str:
    """Return the class of the distance of two CPUs, as machine files have it."""
    for name, level in zip(CLASSES, ("core", "llc", "node", "package")):
        if getattr(a, level) == getattr(b, level):
            return name
    return CLASSES[-1]


def pairs_by_class(cpus: tuple[Cpu, ...], most: int) -> dict[str, list[tuple[int, int]]]:
    """Return up to ``most`` pairs of CPUs of each class, spread over the machine."""
    chosen: dict[str, list[tuple[int, int]]] = {name: [] for name in CLASSES}
    for a, b in _candidates(cpus):
        mine = chosen[distance(a, b)]
        if len(mine) < most:
            mine.append((a.cpu, b.cpu))
    return {name: pairs for name, pairs in chosen.items() if pairs}


def _candidates(cpus: tuple[Cpu, ...]) -> Iterator[tuple[Cpu, Cpu]]:
    """Yield all pairs of a small machine, but of a large one only a sample.

    The sample has 16 first CPUs, and second CPUs that are 1, 2, 3, 4, 6, 8, ... places after them,
    in the order of in_order() and in that of siblings.
    """
    if len(cpus) <= 32:
        yield from combinations(cpus, 2)
        return
    siblings = sorted(cpus, key=lambda cpu: (cpu.package, cpu.node, cpu.llc, cpu.core))
    steps = sorted({way for n in range(13) for way in (1 << n, 3 << n >> 1)})
    count = len(cpus)
    for step in steps:
        for order in (siblings, in_order(cpus)):
            for place in range(16):
                first = place * count // 16
                if step < count:
                    yield order[first], order[(first + step) % count]
