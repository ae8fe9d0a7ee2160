# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Records a program in a guest, with the lines of the program and of the guest's kernel.

The guest's root file system contains the program, its libraries and other files. The program runs
under kernel/guest/record-run, which begins and ends the recording of accesses. Over the second
serial line record-run reports the program's output, exit status, and pages' physical addresses.
"""

import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.programs import libraries
from kernel.guest.boot import BootRequest, Emulation, Emulator, Step
from kernel.guest.cpio import Entry, plain
from kernel.guest.ram import Ram
from kernel.layout import Layout
from kernel.probe.image import Image
from kernel.probe.probe import probe
from kernel.profile.c2c import Kernel, look
from model.machines.presets import Machine, machine_topology
from model.results.raw import RecordedRun
from model.results.read import checked
from record.names.guest_names import guest_places
from record.program.emulate import META, QUANTUM
from record.program.program import Program
from record.program.window import Window
from record.record import Guested
from record.shape import Shape
from record.watch import Watch, map_cpus, map_nodes

ARGV = "/etc/record-argv"
# The guest kills a program after this much of its own time.
LIMIT_S = 3600
# File systems that the guest mounts (kernel/guest/init.c).
_MOUNTED = ("/dev", "/proc", "/sys")
# The range of all user addresses.
_USER = (0x1000, 0x7FFF_FFFF_F000)
_SECTIONS = ("maps", "pages", "out", "err", "status")
_HEAD = re.compile(rb"([a-z]+) (\d{1,9})\n")
_MAP = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) ([0-9a-f]+) \S+ \S+ *(.*)", re.ASCII)


@dataclass(frozen=True)
class GuestReport:
    """The guest's report about the program."""

    out: bytes
    err: bytes
    status: int  # as wait() returns it
    maps: tuple[tuple[int, int, str, int, str], ...]  # low, high, rights, offset, file
    pages: Mapping[int, int]  # virtual to physical

    @property
    def code(self) -> int:
        """Return the exit status as a shell reports it."""
        return (
            os.waitstatus_to_exitcode(self.status) % 256 if not self.signal else (128 + self.signal)
        )

    @property
    def signal(self) -> int:
        """Return the signal that ended the program, 0 if none did."""
        return self.status & 0x7F


def parse_report(data: bytes) -> GuestReport:
    """Return the guest's report in the bytes of the serial line."""
    parts: dict[str, bytes] = {}
    at = 0
    for name in _SECTIONS:
        head = _HEAD.match(data, at)
        if head is None or head[1].decode() != name:
            raise UserError(f"the guest did not report the program's {name}", status=1)
        at = head.end() + int(head[2])
        if at > len(data):
            raise UserError(f"the guest's report of the program's {name} is cut short", status=1)
        parts[name] = data[head.end() : at]
    maps = [_MAP.match(line) for line in parts["maps"].decode("utf-8", "replace").splitlines()]
    pages = [line.split() for line in parts["pages"].decode("ascii").splitlines()]
    return GuestReport(
        parts["out"], parts["err"], int(parts["status"]),
        tuple((int(m[1], 16), int(m[2], 16), m[3], int(m[4], 16), m[5]) for m in maps if m),
        {int(virtual, 16): int(physical, 16) for virtual, physical in pages},
    )  # fmt: skip


def _shown(path: Path) -> Path:
    """Return the absolute path at which the guest sees a file."""
    path = path.absolute()
    for top in _MOUNTED:
        if path.is_relative_to(top):
            raise UserError(
                f"{path} is in {top}, where the guest has its own files: copy it elsewhere"
            )
    return path


def program_files(program: Program, more: Sequence[Path]) -> dict[str, Entry]:
    """Return the files that the guest needs to run the program, by their paths on this host."""
    path = _shown(program.path)
    # At their own paths: elsewhere the guest's programs and links would take precedence.
    files = {str(path): plain(path, executable=True)}
    for library in libraries(path) if program.dynamic else ():
        files[str(library)] = plain(library, executable=True)
    for host_file in more:
        if not host_file.is_file():
            raise UserError(f"--guest-file {host_file}: no such file")
        file = _shown(host_file)
        files[str(file)] = plain(file, executable=os.access(file, os.X_OK))
    words = (str(path), *program.argv[1:])
    if any("\0" in word for word in words):
        raise UserError("an argument contains a NUL byte, which no program can receive")
    files[ARGV] = plain(b"".join(os.fsencode(word) + b"\0" for word in words))
    return files


def extra_mb(files: Mapping[str, Entry]) -> int:
    """Return the MiB that a guest needs to run, and for the files, twice while it unpacks them."""
    size = sum(
        len(entry.data) if isinstance(entry.data, bytes) else entry.data.stat().st_size
        for entry in files.values()
    )
    return 256 + 128 * (3 * size // (128 << 20) + 1)


@dataclass(frozen=True)
class GuestRequest:
    """The kernel, the machine that the guest stands for, and the plugin's settings."""

    layout: Layout
    kernel: Kernel
    shape: Shape
    files: tuple[Path, ...] = ()
    parameters: tuple[str, ...] = ()
    slow: int = 10

    @property
    def name(self) -> str:
        """Return the kernel's name."""
        return self.kernel.name

    @property
    def cpus(self) -> int:
        """Return the number of the guest's CPUs."""
        return self.shape.cpus

    def check(self, machines: Sequence[Machine]) -> None:
        """Raise a UserError if a machine has no CPUs that those of the guest can stand for."""
        guest_places({"shape": asdict(self.shape)}, machines)

    def run(
        self, program: Program, machine: Machine, trace: Path, folder: Path, *,
        window: Window,
    ) -> Guested:  # fmt: skip
        """Boot the guest, run the program, and return the results."""
        return run_in_guest(self, program, machine, trace, folder, window=window)


def _arguments(window: Window) -> tuple[str, str, str]:
    after = round(window.after * 1e6)
    lasts = max(1, round(window.lasts * 1e6)) if window.lasts is not None else 0
    return str(after), str(lasts), str(int(window.marks))


def run_in_guest(
    request: GuestRequest,
    program: Program,
    machine: Machine,
    trace: Path,
    folder: Path,
    *,
    window: Window,
) -> Guested:
    """Boot the guest, run the program, and return the results."""
    topology = machine_topology(machine)
    cpus = map_cpus(request.shape, topology, machine.name)
    files = program_files(program, request.files)
    more = extra_mb(files)
    line = folder / "line"
    known: dict[str, Any] = {}
    with Image(request.kernel.vmlinux) as image:
        watch = Watch(
            folder / "result.json",
            text=[_USER, image.text()],
            machine=machine.flat,
            cpus=cpus,
            nodes=map_nodes(request.shape, more, cpus, topology),
            quantum=QUANTUM,
            trace=trace,
        )
        plan = BootRequest(
            request.kernel.bzimage,
            f"record-{request.kernel.name}-{request.shape.name}",
            request.shape,
            steps=(Step("record", ("/bin/record-run", *_arguments(window)), LIMIT_S),),
            emulator=Emulator(
                Emulation.MULTI,
                slow=request.slow,
                extra_mb=more,
                arguments=("-serial", f"file:{line}"),
            ),
            # No address randomisation in programs either.
            parameters=("norandmaps", *request.parameters),
            files=files,
        )

        def see(ram: Ram, raw: Mapping[str, Any]) -> None:
            known.update(look(image, request.shape.cpus, ram, raw))

        done = probe(request.layout, plan, watch, lambda _: None, see)
    if not line.is_file():
        raise UserError(f"the guest did not report on the program, log {done.booted.log}", status=1)
    report = parse_report(line.read_bytes())
    raw = checked(done.raw, "the plugin's result", RecordedRun.of)
    name = signal.Signals(report.signal).name if report.signal else None
    meta = _meta(request, report, more, known)
    return Guested(report.out, report.err, report.code, name, raw, meta)


def _process(report: GuestReport, cpus: int) -> dict[str, Any]:
    """Return the process in the form that the emulator's recorder writes."""
    files = [mapping for mapping in report.maps if mapping[4].startswith("/")]
    others = [mapping for mapping in report.maps if not mapping[4] or mapping[4].startswith("[")]
    return {
        "image": 0,
        "program": 0,
        "readable": True,
        "maps": [[low, high, offset, name] for low, high, _, offset, name in files],
        "regions": [[low, high - low, False] for low, high, *_ in others],
        "shared": [],
        "stacks": [],
        "threads": [[cpu, cpu, cpu] for cpu in range(cpus)],
        "objects": [],
        "sites": [],
    }


def _meta(
    request: GuestRequest, report: GuestReport, more: int, known: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the data in the form that the emulator's recorder writes, and the guest's own data."""
    areas = [[low, high, name] for low, high, _, _, name in report.maps if name.startswith("[")]
    return {
        "format": META,
        "nr_threads": request.shape.cpus,
        "children": 0,
        "unseen_blocks": 0,
        "lost_accesses": 0,
        # One process, whose number in the guest is not known.
        "images": [[0, 0, 0, True]],
        "processes": [_process(report, request.shape.cpus)],
        "pages": [],
        "guest": {
            "kernel": request.kernel.name,
            "shape": asdict(request.shape),
            "extra_mb": more,
            "pages": [[virtual, physical] for virtual, physical in report.pages.items()],
            "areas": areas,
            **known,
        },
    }
