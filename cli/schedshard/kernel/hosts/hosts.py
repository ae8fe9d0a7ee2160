# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage hosts: sets guests up as hosts of many kinds, and runs doctor's collector in each.

The stage compares the root domain of each run queue, read from the guest's memory, with doctor's
result. The guest prints the collector's tar file into its log, with "ready" before and "end" after
it. The stage reads the memory between the two, from outside and by the image's symbols. So the
kernel needs no interface for it.
"""

from __future__ import annotations

import base64
import binascii
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from schedshard.common.errors import UserError, first_of
from schedshard.common.output import write_atomic
from schedshard.doctor.facts.archive import read_tar
from schedshard.doctor.facts.domains import root_domains
from schedshard.doctor.facts.facts import read_facts
from schedshard.kernel.guest.boot import SILENCE_SECONDS, BootRequest, Emulator, Limits, Step, boot
from schedshard.kernel.guest.ram import Ram
from schedshard.kernel.guest.topology import Shape, memory_mb
from schedshard.kernel.guest.workload import isolated_groups
from schedshard.kernel.hosts.cases import Case
from schedshard.kernel.layout import Layout
from schedshard.kernel.probe.image import Image
from schedshard.kernel.probe.objects import KernelLayouts
from schedshard.kernel.probe.probe import memory_folder, slow_clock
from schedshard.kernel.testing.ktap import strip_stamp
from schedshard.lines.dwarf import die_name, member_start
from schedshard.machines.topo import ranges

FORMAT = "schedshard/hosts/1"
_WRAP = (1 << 64) - 1
# A guest whose memory was read too late boots again.
_BOOTS = 3
# (CPUs, whether it is def_root_domain)
Domain = tuple[str, bool]


@dataclass(frozen=True)
class HostsRequest:
    """Which cases on which kernel. ``keep`` is the folder for the tar files.

    ``symbols`` is the kernel's vmlinux. Without it the guest's memory cannot be read, and the tar
    files are the only result.
    """

    name: str
    image: Path
    symbols: Path | None
    cases: Mapping[str, Case]
    shape: Shape
    counted: bool = False
    slow: int = 1
    keep: Path | None = None


@dataclass(frozen=True)
class RunQueues:
    """Where run queues are, and the offset of their pointer to the root domain."""

    table: int
    runqueues: int
    rd: int
    default: int

    @staticmethod
    def of(path: Path) -> RunQueues:
        """Return the places that an image with debug information gives."""
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
        """Return the address of the root domain of each CPU's run queue."""
        found = {}
        for cpu in range(cpus):
            offset = ram.word(self.table + 8 * cpu)
            rd = ram.word((self.runqueues + (offset or 0) + self.rd) & _WRAP)
            if offset is None or rd is None:
                raise UserError(f"CPU {cpu}'s run queue is not in the guest's memory", status=1)
            found[cpu] = rd
        return found

    def domains(self, found: Mapping[int, int], online: Iterable[int]) -> list[Domain]:
        """Return the root domains that contain an online CPU."""
        held: dict[int, list[int]] = {}
        for cpu in sorted(online):
            held.setdefault(found[cpu], []).append(cpu)
        return sorted((ranges(cpus), rd == self.default) for rd, cpus in held.items())


def said_by(lines: Iterable[str], name: str) -> list[str]:
    """Return the output of a step of the plan."""
    start = f"# {name}: "
    plain = (strip_stamp(line) for line in lines)
    return [line[len(start) :] for line in plain if line.startswith(start)]


def tar_of(said: Sequence[str], name: str) -> bytes:
    """Return the collector's tar file from the guest's output."""
    if "begin" not in said or "end" not in said:
        last = said[-1] if said else "nothing"
        raise UserError(f"{name}: the guest printed no tar file; its last line: {last}", status=1)
    coded = "".join(said[said.index("begin") + 1 : said.index("end")])
    try:
        return base64.b64decode(coded, validate=True)
    except binascii.Error as error:
        raise UserError(f"{name}: the tar file in the log is damaged: {error}", status=1) from error


def computed(path: Path) -> tuple[list[Domain], frozenset[int]]:
    """Return doctor's root domains, and the online CPUs."""
    facts = read_facts(read_tar(path), path.name)
    found = root_domains(facts).domains
    return sorted((domain.label, domain.default) for domain in found), facts.online


def _step(name: str, case: Case, cpus: int) -> Step:
    groups = isolated_groups(cpus)
    return Step(name, ("/bin/host.sh", case.setup, case.load, *groups), 600)


@dataclass
class Heard:
    """Collects a guest's results per case. ``read`` reads the root domains from the guest's memory.

    A finished case goes to ``on_end`` at once, with its tar file and root domains. The root domains
    must be read between the case's "ready" and its "end". Otherwise the case has no result.
    """

    cases: Iterable[str]
    log: Path
    read: Callable[[], dict[int, int]]
    on_end: Callable[[str, bytes, dict[int, int]], None]
    said: list[str] = field(default_factory=list)
    seen: dict[str, dict[int, int]] = field(default_factory=dict)

    def line(self, line: str) -> None:
        """Process the next line of the log."""
        words = strip_stamp(line)
        self.said.append(words)
        for case in self.cases:
            if words.endswith(f"# {case}: ready") and case not in self.seen:
                found = self.read()
                # Check the log after reading the memory: the case must still have been waiting.
                if f"# {case}: end" not in self.log.read_text(encoding="utf-8", errors="replace"):
                    self.seen[case] = found
            elif words == f"# {case}: end" and case in self.seen:
                self.on_end(case, tar_of(said_by(self.said, case), case), self.seen.pop(case))


def _boot(
    layout: Layout,
    request: HostsRequest,
    cases: Mapping[str, Case],
    where: RunQueues | None,
    on_end: Callable[[str, bytes, dict[int, int]], None],
) -> list[str]:
    """Boot one guest with these cases and return its log.

    Without ``where`` no root domains are read.
    """
    first = next(iter(cases.values()))
    shape = first.shape(request.shape)
    environment = slow_clock(request.slow) if request.slow > 1 else {}
    place = memory_folder(memory_mb(shape))
    with tempfile.TemporaryDirectory(prefix="schedshard-", dir=place) as memory:
        name = f"hosts-{request.name}-{shape.name}"

        def read() -> dict[int, int]:
            if where is None:
                return {}
            with Ram(Path(memory)) as ram:
                return where.read(ram, shape.cpus)

        heard = Heard(tuple(cases), layout.log(name), read, on_end)
        # In either mode a second of the guest may take minutes.
        patience = 4 if request.counted or request.slow > 1 else 1
        wanted = BootRequest(
            kernel=request.image,
            name=name,
            shape=shape,
            steps=tuple(_step(n, c, shape.cpus) for n, c in cases.items()),
            # Symbols of the image are valid only without address randomisation.
            parameters=("nokaslr", *first.parameters(shape.cpus)),
            limits=Limits(SILENCE_SECONDS * patience, (600.0 + 300.0 * len(cases)) * patience),
            emulator=Emulator(
                slow=request.slow,
                counted=request.counted,
                memory=Path(memory),
                environment=environment,
            ),
        )
        return boot(layout, wanted, heard.line).lines


def _guest_of(named: tuple[str, Case]) -> tuple[str, bool]:
    """Return what all cases of one guest have in common."""
    return named[1].boot, named[1].apart


def _row(
    name: str, folder: Path, data: bytes, where: RunQueues | None, seen: Mapping[int, int]
) -> dict[str, Any]:
    """Save the tar file of one case, and return the comparison."""
    path = folder / f"{name}.tar.gz"
    write_atomic(path, data)
    doctors, online = computed(path)
    kernels = where.domains(seen, online) if where is not None else None
    return {
        "case": name,
        "doctor": doctors,
        "kernel": kernels,
        "equal": doctors == kernels if where is not None else None,
        "bytes": len(data),
    }


def hosts(
    layout: Layout, request: HostsRequest, on_row: Callable[[dict[str, Any], dict[str, Any]], None]
) -> dict[str, Any]:
    """Run every case and return tar file size, doctor's root domains and the kernel's.

    ``on_row`` gets each case as soon as it has ended, and the result so far.
    """
    where = RunQueues.of(request.symbols) if request.symbols is not None else None
    order = list(request.cases)
    rows: list[dict[str, Any]] = []
    failed: list[str] = []
    result: dict[str, Any] = {
        "format": FORMAT,
        "kernel": request.name,
        "guest": request.shape.words,
        "partial": True,
        "cases": rows,
        "equal": True,
    }
    with tempfile.TemporaryDirectory(prefix="schedshard-") as scratch:
        folder = request.keep or Path(scratch)
        for _, members in groupby(request.cases.items(), key=_guest_of):
            pending = dict(members)

            def on_end(
                name: str, data: bytes, seen: dict[int, int], pending: dict[str, Case] = pending
            ) -> None:
                del pending[name]
                row = _row(name, folder, data, where, seen)
                rows.append(row)
                rows.sort(key=lambda row: order.index(row["case"]))
                result["equal"] = all(row["equal"] is not False for row in rows)
                on_row(row, result)

            for _ in range(_BOOTS):
                lines = _boot(layout, request, dict(pending), where, on_end)
                for name in list(pending):
                    try:
                        tar_of(said_by(lines, name), name)
                    except UserError as error:
                        failed.append(str(error))
                        del pending[name]
                if not pending:
                    break
            failed += [
                f"{name}: the guest's memory was read too late, {_BOOTS} times: this host is busy"
                for name in pending
            ]
    if failed:
        raise UserError(first_of(failed), status=1)
    result["partial"] = False
    return result
