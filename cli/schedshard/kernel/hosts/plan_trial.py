# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tries a doctor plan in a small Debian with groups of real-time threads, with three boots.

In the first boot the guest collects, and doctor makes the plan here. In the second the guest
applies the plan, undoes it, compares the state with the one before, and applies the plan again. In
the third it verifies the plan and undoes it. kernel/guest/plan/trial.sh is the guest's side.
"""

import json
import re
import tempfile
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from schedshard.common.errors import UserError
from schedshard.common.paths import own_argv
from schedshard.doctor.collector.script import script_text
from schedshard.doctor.facts.values import cpu_list
from schedshard.kernel.arch import X86
from schedshard.kernel.guest.boot import (
    Booted,
    Emulator,
    Ending,
    Limits,
    clock_parameters,
    emulate,
    machine_argv,
)
from schedshard.kernel.guest.programs import host_tsc_khz
from schedshard.kernel.guest.topology import USUAL
from schedshard.kernel.hosts.plan_debian import Disk, debian_kernel, make_disk, small_debian
from schedshard.kernel.layout import Layout
from schedshard.kernel.tools import call, require
from schedshard.machines.topo import ranges

PHASES = ("collect", "apply", "kept")
_CPUS = 16
# CONFIG_HZ of Debian's kernels. A kernel with a larger one waits longer in its delay loops.
_DEBIAN_HZ = 250
_EXTRA_MB = 1024
_LIMITS = Limits(silence=600.0, total=1800.0)
_PARAMETERS = (
    "console=ttyS0",
    "root=/dev/vda",
    "rw",
    "panic=-1",
    "sched_verbose",  # the kernel names each root domain that it makes
    "log_buf_len=4M",
    "clocksource=tsc",
    "tsc=reliable",
    "no_timer_check",
    "mitigations=off",
    "systemd.show_status=0",
    "systemd.mask=serial-getty@ttyS0.service",  # it would take over the serial line
    "loglevel=4",  # all messages would occupy the serial line for minutes; dmesg has them
)
_SAID = "trial: "
_SPAN = re.compile(r"kernel: root domain span: ([0-9,-]+)")


@dataclass(frozen=True)
class Trial:
    """The system of a trial: a suite of Debian with its own kernel, with systemd or without."""

    suite: str
    systemd: bool
    slow: int = 1  # how many times slower than the host's the guest's clock runs

    @property
    def name(self) -> str:
        """Return the name for logs."""
        manager = "systemd" if self.systemd else "plain"
        return f"plan-{self.suite}-{manager}"


@dataclass
class Tried:
    """The guest's output by phase, and its errors."""

    trial: Trial
    said: dict[str, list[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    logs: list[Path] = field(default_factory=list)
    planned: list[str] = field(default_factory=list)  # CPUs of each partition, then the rest
    wrong: list[str] = field(default_factory=list)


def words(lines: Iterable[str]) -> list[str]:
    """Return the output of the guest's script, without console output in front of it."""
    return [line.partition(_SAID)[2] for line in lines if _SAID in line]


def judge_phase(phase: str, said: Iterable[str], ending: Ending) -> list[str]:
    """Return the errors of a phase."""
    lines = list(said)
    wrong = [line.removeprefix("wrong: ") for line in lines if line.startswith("wrong: ")]
    if f"end of phase {phase}" not in lines:
        last = f"; it last said '{lines[-1]}'" if lines else ""
        wrong.append(f"the guest did not end ({ending.value}){last}")
    return [f"{phase}: {each}" for each in wrong]


def spans(said: Iterable[str]) -> list[str]:
    """Return the CPUs of each root domain that the kernel reports as made, in order."""
    return [ranges(sorted(cpu_list(m[1]))) for line in said if (m := _SPAN.match(line))]


def in_force(made: Iterable[str]) -> list[str]:
    """Return the root domains that still exist. A later one ends those that it overlaps.

    The kernel keeps a domain whose CPUs a plan does not change, and prints nothing about it.
    """
    left: list[str] = []
    for cpus in made:
        left = [other for other in left if not cpu_list(other) & cpu_list(cpus)] + [cpus]
    return left


def missing_domains(planned: Iterable[str], made: Collection[str]) -> list[str]:
    """Return an error per root domain of the plan that the kernel has not made."""
    return [
        f"the kernel made no root domain of CPUs {cpus}" for cpus in planned if cpus not in made
    ]


def planned_cpus(plan: Path) -> list[str]:
    """Return the CPUs of each partition in a plan, and last the CPUs for everything else."""
    rows = [line.split("\t") for line in (plan / "partitions").read_text().splitlines()]
    parts = [row[2] for row in rows if row[0] == "partition"]
    return [*parts, *(row[1] for row in rows if row[0] == "rest")]


def _argv(layout: Layout, trial: Trial, debian: Path, disk: Disk, phase: str) -> list[str]:
    parameters = [*_PARAMETERS, f"trial={phase}"]
    if (khz := host_tsc_khz(layout)) is not None:
        parameters += clock_parameters(khz * trial.slow, _DEBIAN_HZ)
    if not trial.systemd:
        parameters.append("init=/usr/local/share/trial/init.sh")
    drives = []
    for path in (disk.root, disk.exchange):
        drives += ["-drive", f"file={path},format=raw,if=virtio,cache=unsafe"]
    log = layout.log(f"{trial.name}-{phase}")
    kernel, initrd = debian_kernel(debian)
    files = ("-kernel", str(kernel), "-initrd", str(initrd), *drives)
    machine = machine_argv(USUAL[_CPUS], log, Emulator(extra_mb=_EXTRA_MB))
    return [*machine, *files, "-append", " ".join(parameters)]


def _doctor(*arguments: str | Path) -> bytes:
    """Call doctor as a user does."""
    return call(own_argv("doctor", *map(str, arguments)), good=(0, 3, 4), what="doctor")


def make_plan(host: Path, plan: Path) -> None:
    """Call doctor to write the plan for a host. Without a plan, the folder does not exist."""
    _doctor(host, "--plan", plan)


def domains_after(host: Path) -> list[str]:
    """Return the root domains that doctor finds with the plan in force."""
    loads = json.loads(_doctor(host, "--json"))["root_domains"]
    return [ranges(sorted(cpu_list(load["cpus"]))) for load in loads]


def _run(layout: Layout, tried: Tried, argv: list[str], phase: str) -> None:
    log = layout.log(f"{tried.trial.name}-{phase}")
    booted: Booted = emulate(layout, log, argv, _LIMITS)
    tried.logs.append(log)
    tried.seconds[phase] = booted.seconds
    tried.said[phase] = words(booted.lines)
    tried.wrong += judge_phase(phase, tried.said[phase], booted.ending)


def _files(layout: Layout, folder: Path) -> list[Path]:
    collect = folder / "collect.sh"
    collect.write_text(script_text(), encoding="utf-8")
    return [collect, *sorted((layout.inputs / "guest" / "plan").iterdir())]


def try_plan(layout: Layout, trial: Trial, on_phase: Callable[[str], None]) -> Tried:
    """Run the phases until one fails. Return the outputs and errors."""
    require(X86.qemu)
    debian = small_debian(layout, trial.suite)
    tried = Tried(trial)
    with tempfile.TemporaryDirectory(prefix=".trial.", dir=layout.work) as name:
        folder = Path(name)
        disk = make_disk(debian, folder, _files(layout, folder))
        plan, host = folder / "plan", folder / "host.tar"
        for phase in PHASES:
            on_phase(phase)
            if phase == "apply":
                disk.take("host.tar", host)
                make_plan(host, plan)
                if not plan.is_dir():
                    raise UserError("doctor made no plan for the guest", status=1)
                tried.planned = planned_cpus(plan)
                disk.give(plan)
            _run(layout, tried, _argv(layout, trial, debian, disk, phase), phase)
            if tried.wrong:
                break
            if phase != "collect":
                tried.wrong += missing_domains(tried.planned, spans(tried.said[phase]))
        else:
            disk.take("host.tar", host)
            seen = domains_after(host)
            if sorted(seen) != sorted(tried.planned):
                tried.wrong.append(f"doctor sees the root domains {', '.join(seen)} in the end")
    return tried
