# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stage hosts: guests made into hosts of many kinds, and what doctor's collector says of each.

The root domain of each run queue is read from the guest's memory, beside what doctor computes. The
guest prints the collector's tar file into its log. It says "ready" before and "end" after; the
memory is read between the two, from outside and by the symbols of the image, so that the kernel
needs to show nothing.
"""

from __future__ import annotations

import base64
import binascii
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from schedshard.doctor.archive import read_tar
from schedshard.doctor.domains import root_domains
from schedshard.doctor.facts import read_facts
from schedshard.dwarf import die_name, member_start
from schedshard.errors import UserError
from schedshard.kernel.boot import Booted, BootRequest, Step, boot, kernel_image
from schedshard.kernel.hostcases import Case
from schedshard.kernel.image import Image
from schedshard.kernel.ktap import strip_stamp
from schedshard.kernel.layout import Layout
from schedshard.kernel.objects import KernelLayouts
from schedshard.kernel.probe import memory_folder, plugin_library
from schedshard.kernel.ram import Ram
from schedshard.kernel.topology import Shape, memory_mb
from schedshard.kernel.workload import isolated_groups
from schedshard.output import write_atomic
from schedshard.topo import ranges

FORMAT = "schedshard/hosts/1"
_WRAP = (1 << 64) - 1
# A guest whose memory was read too late is booted again.
_BOOTS = 3
# (CPUs, whether it is def_root_domain)
Domain = tuple[str, bool]


@dataclass(frozen=True)
class HostsRequest:
    """Which cases on which kernel; ``keep`` is where the tar files go."""

    variant: str
    config: str
    cases: Mapping[str, Case]
    shape: Shape
    slow: int = 1
    keep: Path | None = None


@dataclass(frozen=True)
class RunQueues:
    """Where each CPU's run queue has the pointer to its root domain."""

    table: int
    runqueues: int
    rd: int
    default: int

    @staticmethod
    def of(path: Path) -> RunQueues:
        """From an image with debug information."""
        with Image(path) as image:
            rq = KernelLayouts(image, ["rq"], []).die("rq")
            members = rq.iter_children() if rq is not None else ()
            named = {die_name(die): die for die in members if die.tag == "DW_TAG_member"}
            if "rd" not in named:
                raise UserError(f"{path} does not say where a run queue has its root domain")
            return RunQueues(
                image.address("__per_cpu_offset"),
                image.address("runqueues"),
                member_start(named["rd"]),
                image.address("def_root_domain"),
            )

    def read(self, ram: Ram, cpus: int) -> dict[int, int]:
        """The address of the root domain of each CPU's run queue."""
        found = {}
        for cpu in range(cpus):
            offset = ram.word(self.table + 8 * cpu)
            rd = ram.word((self.runqueues + (offset or 0) + self.rd) & _WRAP)
            if offset is None or rd is None:
                raise UserError(f"CPU {cpu}'s run queue is not in the guest's memory", status=1)
            found[cpu] = rd
        return found

    def domains(self, found: Mapping[int, int], online: Iterable[int]) -> list[Domain]:
        """The root domains with a CPU that is on line."""
        held: dict[int, list[int]] = {}
        for cpu in sorted(online):
            held.setdefault(found[cpu], []).append(cpu)
        return sorted((ranges(cpus), rd == self.default) for rd, cpus in held.items())


def said_by(lines: Iterable[str], name: str) -> list[str]:
    """What a step of the plan printed."""
    start = f"# {name}: "
    plain = (strip_stamp(line) for line in lines)
    return [line[len(start) :] for line in plain if line.startswith(start)]


def tar_of(said: Sequence[str], name: str) -> bytes:
    """The collector's tar file."""
    if "begin" not in said or "end" not in said:
        last = said[-1] if said else "nothing"
        raise UserError(f"{name}: the guest printed no tar file; its last words: {last}", status=1)
    coded = "".join(said[said.index("begin") + 1 : said.index("end")])
    try:
        return base64.b64decode(coded, validate=True)
    except binascii.Error as error:
        raise UserError(f"{name}: the tar file in the log is damaged: {error}", status=1) from error


def computed(path: Path) -> tuple[list[Domain], frozenset[int]]:
    """Doctor's root domains, and the CPUs that are on line."""
    facts = read_facts(read_tar(path), path.name)
    found = root_domains(facts).domains
    return sorted((domain.label, domain.default) for domain in found), facts.online


def _step(name: str, case: Case, cpus: int) -> Step:
    groups = isolated_groups(cpus)
    return Step(name, ("/bin/host.sh", case.setup, case.load, *groups), 600)


def _boot(
    layout: Layout, request: HostsRequest, cases: Mapping[str, Case], where: RunQueues
) -> tuple[Booted, dict[str, dict[int, int]]]:
    """One guest with these cases; returns the root domains that were read for each."""
    first = next(iter(cases.values()))
    shape = first.shape(request.shape)
    seen: dict[str, dict[int, int]] = {}
    environment = {}
    if request.slow > 1:
        environment = {
            "LD_PRELOAD": str(plugin_library("schedshard-guest-clock")),
            "SCHEDSHARD_SLOW": str(request.slow),
        }
    place = memory_folder(memory_mb(shape))
    with tempfile.TemporaryDirectory(prefix="schedshard-", dir=place) as memory:
        name = f"hosts-{request.variant}-{request.config}-{shape.name}"
        log = layout.log(name)

        def on_line(line: str) -> None:
            for case in cases:
                if line.endswith(f"# {case}: ready") and case not in seen:
                    with Ram(Path(memory)) as ram:
                        found = where.read(ram, shape.cpus)
                    if f"# {case}: end" not in log.read_text(encoding="utf-8", errors="replace"):
                        seen[case] = found

        wanted = BootRequest(
            kernel=kernel_image(layout, request.variant, request.config),
            name=name,
            shape=shape,
            steps=tuple(_step(n, c, shape.cpus) for n, c in cases.items()),
            # Addresses are those of the image.
            parameters=("nokaslr", *first.parameters(shape.cpus)),
            total=600.0 + 300.0 * len(cases),
            slow=request.slow,
            environment=environment,
            memory=Path(memory),
        )
        return boot(layout, wanted, on_line), seen


def _guest_of(named: tuple[str, Case]) -> tuple[str, bool]:
    """What cases of one guest have in common."""
    return named[1].boot, named[1].apart


def _row(
    name: str, folder: Path, data: bytes, where: RunQueues, seen: Mapping[int, int]
) -> dict[str, Any]:
    """One case: its tar file is kept, and judged."""
    path = folder / f"{name}.tar.gz"
    write_atomic(path, data)
    doctors, online = computed(path)
    kernels = where.domains(seen, online)
    return {
        "case": name,
        "doctor": doctors,
        "kernel": kernels,
        "equal": doctors == kernels,
        "bytes": len(data),
    }


def hosts(layout: Layout, request: HostsRequest, on_case: Callable[[str], None]) -> dict[str, Any]:
    """Every case: the tar file, doctor's root domains and the kernel's."""
    image = kernel_image(layout, request.variant, request.config)
    where = RunQueues.of(image.parents[3] / "vmlinux")
    rows = []
    with tempfile.TemporaryDirectory(prefix="schedshard-") as scratch:
        folder = request.keep or Path(scratch)
        for _, members in groupby(request.cases.items(), key=_guest_of):
            pending = dict(members)
            for _ in range(_BOOTS):
                booted, seen = _boot(layout, request, pending, where)
                for name in list(pending):
                    data = tar_of(said_by(booted.lines, name), name)
                    if name not in seen:
                        continue
                    del pending[name]
                    rows.append(_row(name, folder, data, where, seen[name]))
                    on_case(name)
                if not pending:
                    break
            for name in pending:
                raise UserError(
                    f"{name}: the guest's memory was read too late, {_BOOTS} times: the host is "
                    "too busy",
                    status=1,
                )
    order = list(request.cases)
    rows.sort(key=lambda row: order.index(str(row["case"])))
    return {
        "format": FORMAT,
        "variant": request.variant,
        "config": request.config,
        "guest": request.shape.words,
        "cases": rows,
        "equal": all(row["equal"] for row in rows),
    }
