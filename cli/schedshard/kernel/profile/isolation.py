# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage isolation: the cost of a wake-up on CPUs that are isolated in different ways.

FIFO threads pinned in groups of CPUs run on each kernel: without isolation, with isolcpus, and with
cpuset partitions of both types. Each way runs several times. The runs are those of c2c.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from schedshard.common.errors import UserError
from schedshard.common.provenance import tool_versions
from schedshard.kernel.guest.cpio import Entry, plain
from schedshard.kernel.guest.topology import Shape
from schedshard.kernel.guest.workload import (
    ISOLATION,
    PLAN,
    PLAN_FOLDER,
    asleep_ns,
    isolated_groups,
)
from schedshard.kernel.layout import Layout
from schedshard.kernel.profile.c2c import C2cRequest, Kernel, one_kernel
from schedshard.machines.presets import Machine, machine_topology
from schedshard.results.c2c import Hitm, KernelVariant
from schedshard.results.saved import Count, Real, Saved

FORMAT = "schedshard/isolation/1"
_GROUP = "root domain"
# Busy CPUs execute instructions, wait for lines, or sleep for less than the guest calls idle. In
# good runs this explains 93% to 100% of their time. If it explains less, a busy host stopped the
# guest while the clocks advanced, and the run is worthless.
_ACCOUNTED = 0.8
_TRIES = 5


@dataclass(frozen=True)
class IsolationRequest:
    """The kernels, the guest and the modes. Every mode runs ``repeat`` times."""

    kernels: tuple[Kernel, ...]
    shape: Shape
    machine: Machine
    modes: tuple[str, ...] = tuple(ISOLATION)
    repeat: int = 3
    slow: int = 10
    plan: Path | None = None  # a folder of doctor's, for the mode PLAN


def plan_files(folder: Path) -> dict[str, Entry]:
    """Return the guest's files for a plan: its scripts, and their input."""
    names = ("apply.sh", "common.sh", "verify.sh", "partitions", "steps")
    for name in names:
        if not (folder / name).is_file():
            raise UserError(f"{folder} is not a plan of doctor: it has no {name}")
    return {f"{PLAN_FOLDER}/{name}": plain(folder / name) for name in names}


class IsolatedRun(Saved, kw_only=True):
    """The figures of one run. ``accounted``: the share of the CPUs' time that they explain."""

    wake_ups_a_virtual_ms: Real
    root_domain_remote: Real
    root_domain_local: Real
    all_remote: Real
    wake_ups: Count
    virtual_ms: Real
    timed_out: Real
    accounted: Real


class Way(Saved, kw_only=True):
    """The runs of a kernel whose CPUs were isolated in one way."""

    kernel: str
    mode: str
    runs: list[IsolatedRun]


class Discarded(Saved, kw_only=True):
    """A run in which the guest stood still."""

    kernel: str
    accounted: Real


class Isolation(Saved, kw_only=True):
    """The result of the stage."""

    format: str
    machine: str
    guest: str
    groups: list[str]
    partial: bool
    discarded: list[Discarded]
    rows: list[Way]
    provenance: dict[str, str]


def run_of(found: KernelVariant, accounted: float) -> IsolatedRun:
    """Return the figures to keep from one run of c2c."""
    lines = found.hitm_a_wake_up.get(_GROUP, Hitm(hitm_remote=0.0, hitm_local=0.0))
    waits = found.stepping.waits
    return IsolatedRun(
        wake_ups_a_virtual_ms=found.wake_ups_a_virtual_ms,
        root_domain_remote=lines.hitm_remote,
        root_domain_local=lines.hitm_local,
        all_remote=found.hitm_a_wake_up["all"].hitm_remote,
        wake_ups=found.wake_ups,
        virtual_ms=found.model.virtual_ns / 1e6,
        timed_out=found.stepping.timeouts / waits if waits else 0.0,
        accounted=accounted,
    )


def accounted(found: KernelVariant, clock_ghz: float, asleep_ns: int) -> float:
    """Return the share of busy CPUs' time that instructions, lines and sleep explain."""
    known = found.model.instructions + found.load_cycles
    known += found.wake_ups * asleep_ns * clock_ghz
    busy = found.model.busy_ns * clock_ghz
    return float(known / busy) if busy else 0.0


def isolation(
    layout: Layout,
    request: IsolationRequest,
    on_line: Callable[[str], None],
    on_part: Callable[[Isolation], None],
) -> Isolation:
    """Run everything, and return the result. ``on_part`` gets the result so far after each run."""
    topology = machine_topology(request.machine)
    result = Isolation(
        format=FORMAT,
        machine=request.machine.name,
        guest=request.shape.words,
        groups=list(isolated_groups(request.shape.cpus)),
        partial=True,
        discarded=[],
        rows=[
            Way(kernel=kernel.name, mode=mode, runs=[])
            for kernel in request.kernels
            for mode in request.modes
        ],
        provenance=tool_versions(),
    )
    asleep = asleep_ns(request.shape.cpus)
    files = plan_files(request.plan) if request.plan is not None else {}
    kernels = {kernel.name: kernel for kernel in request.kernels}
    # Each round runs everything once, so that a disturbance of the host affects all modes.
    for _ in range(request.repeat):
        for row in result.rows:
            kernel = kernels[row.kernel]
            plan = C2cRequest(
                (kernel,), request.shape, request.machine, f"isolation-{row.mode}",
                slow=request.slow, files=files if row.mode == PLAN else {},
            )  # fmt: skip
            for left in reversed(range(_TRIES)):
                found = KernelVariant.of(one_kernel(layout, plan, kernel, topology, on_line))
                if found.partial:
                    return result
                share = accounted(found, request.machine.clock_ghz, asleep)
                if share >= _ACCOUNTED:
                    break
                result.discarded.append(Discarded(kernel=row.kernel, accounted=share))
                print("the guest stood still in its window: trying again", file=sys.stderr)
                if not left:
                    raise UserError(
                        f"the guest stood still in its window {_TRIES} times: the host is too busy",
                        status=1,
                    )
            row.runs.append(run_of(found, share))
            on_part(result)
    result.partial = False
    return result
