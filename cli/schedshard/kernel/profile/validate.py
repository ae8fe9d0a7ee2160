# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage c2c-validate: compares c2c's results of guests with known ones.

It compares programs with known sharing, and the yield experiment with the simulator's. It also
checks the purpose of the series: a wake-up of our kernel takes no modified line of the root domain
from another socket.
"""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedshard.common.errors import UserError
from schedshard.experiments.experiment import load_experiment
from schedshard.experiments.run import RunRequest, execute, plan_run
from schedshard.kernel.guest.topology import Shape, usual_shape
from schedshard.kernel.guest.workload import SHORT, YIELD
from schedshard.kernel.layout import Layout
from schedshard.kernel.profile.c2c import C2cRequest, Kernel, one_kernel
from schedshard.machines.presets import Machine, load_machine, machine_topology
from schedshard.results.saved import Saved

CPUS = 16
# Share of the expected value. The threads of a program neither begin nor end at the same time.
TOLERANCE = 0.2
# This many modified lines per operation count as 0: the guest has interrupts.
NOISE = 0.01
# Modified lines found elsewhere per operation, by workload.
_KNOWN = {"share-none": 0.0}
# The simulator's variant with the same sharing, and instructions between operations, by workload.
_SIMULATED = {
    "share-false": ("llc", SHORT),
    "share-true": ("global", SHORT),
    "yield-global": ("global", YIELD),
    "yield-half": ("llc", YIELD),
    "yield-byte": ("llc-byte", YIELD),
}
_STOCK, _SHARD = "stock", "shard"
_GROUP, _TIMES, _WAKES = "root domain", 20.0, 500
# The published measurement names this line first (results of perf c2c on 480 CPUs).
_HOTTEST = "rto_mask"


class Check(Saved):
    """A check: the expected figure, the figure found, and whether they agree."""

    what: str
    expected: str
    found: str
    good: bool


class Validation(Saved, kw_only=True):
    """The result of the stage."""

    format: str
    machine: str
    guest: str
    kernels: list[str]
    checks: list[Check]
    good: bool


@dataclass(frozen=True)
class ValidateRequest:
    """The built kernels. Every program runs on the first one."""

    kernels: tuple[Kernel, ...]
    machine: Machine
    slow: int = 10


def machine_like(machine: Machine, shape: Shape, folder: Path) -> Machine:
    """Return the machine with only as many caches and cores as the guest has."""
    text = machine.path.read_text(encoding="utf-8")
    for key, value in (("llcs_per_node", shape.llcs), ("cores_per_llc", shape.cores)):
        text, found = re.subn(rf"(?m)^{key} = \d+$", f"{key} = {value}", text)
        if found != 1:
            raise UserError(
                f"{machine.path}: expected one line '{key} = N', to change for a smaller machine"
            )
    path = folder / machine.path.name
    path.write_text(text, encoding="utf-8")
    return load_machine(str(path))


def near(expected: float, found: float) -> bool:
    """Whether a figure is within the tolerance. If 0 is expected, noise is tolerated."""
    return abs(found - expected) <= max(TOLERANCE * expected, NOISE)


def each(variant: Mapping[str, Any]) -> float:
    """Return modified lines found elsewhere per operation of the program; -1 without any."""
    return float(variant["hitm_total"] / variant["operations"]) if variant["operations"] else -1.0


def simulated(machine: Machine, cpus: int) -> dict[str, float]:
    """Return the same figure from the simulator's yield experiment, by workload.

    A simulated CPU executes one instruction per cycle, as in the guest.
    """
    found = {}
    for think in (SHORT, YIELD):
        variants = {variant for variant, between in _SIMULATED.values() if between == think}
        request = RunRequest(
            load_experiment("cpumask-yield"),
            machine,
            cpus,
            variants=tuple(sorted(variants)),
            params=(("yield_ns", think / machine.clock_ghz),),
        )
        plan = plan_run(request)
        for point, raw in zip(plan.points, execute(plan), strict=True):
            hitm = sum(line["hitm_remote"] + line["hitm_local"] for line in raw["lines"])
            for workload, of in _SIMULATED.items():
                if of == (point.variant.name, think):
                    found[workload] = hitm / raw["metrics"]["ops"]
    return found


def wake_checks(variants: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """Yield the checks of the series' purpose, for the kernels of this run."""
    remote = {}
    for name, variant in variants.items():
        remote[name] = variant["hitm_a_wake_up"].get(_GROUP, {"hitm_remote": 0.0})["hitm_remote"]
        wakes = variant["wake_ups"]
        yield Check(
            f"{name}: wake-ups in the window", f"at least {_WAKES}", f"{wakes:,}", wakes >= _WAKES
        )
    if _STOCK in variants:
        fields = {
            str(access["field"]).partition(".")[0]
            for line in variants[_STOCK]["lines"][:3]
            for access in line["accesses"]
            if access["field"]
        }
        yield Check(
            f"{_STOCK}: fields of the three hottest lines",
            f"{_HOTTEST} among them",
            ", ".join(sorted(fields)),
            _HOTTEST in fields,
        )
    if _SHARD in variants:
        # Without stock, the limit assumes what stock takes at least: one line per wake-up.
        limit = remote.get(_STOCK, 1.0) / _TIMES
        yield Check(
            f"{_SHARD}: lines of the root domain from another socket, per wake-up",
            f"at most {limit:.3f}",
            f"{remote[_SHARD]:.3f}",
            remote[_SHARD] <= limit,
        )


def validate(
    layout: Layout, request: ValidateRequest, on_line: Callable[[str], None]
) -> Validation:
    """Run all programs and kernels, and return the checks."""
    shape, checks = usual_shape(CPUS), []
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        machine = machine_like(request.machine, shape, Path(folder))
        topology = machine_topology(machine)

        def seen(kernel: Kernel, workload: str) -> dict[str, Any]:
            plan = C2cRequest((kernel,), shape, machine, workload, slow=request.slow)
            found = one_kernel(layout, plan, kernel, topology, on_line)
            if found["partial"]:
                raise UserError(f"{workload} on {kernel.name} was cut short", status=1)
            return found

        expected = {**_KNOWN, **simulated(machine, CPUS)}
        for workload, value in expected.items():
            found = each(seen(request.kernels[0], workload))
            checks.append(Check(workload, f"{value:.3f}", f"{found:.3f}", near(value, found)))
        checks += wake_checks({k.name: seen(k, "cyclic") for k in request.kernels})
    return Validation(
        format="schedshard/c2c-validation/1",
        machine=request.machine.name,
        guest=shape.words,
        kernels=[kernel.name for kernel in request.kernels],
        checks=checks,
        good=all(check.good for check in checks),
    )
