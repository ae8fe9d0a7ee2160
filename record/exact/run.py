# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Checks a program for the exact recorder, and runs it as often as needed."""

import contextlib
import ctypes
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from common.errors import UserError, telling
from common.output import read_json
from common.paths import typed
from common.programs import libraries
from common.tool import Running
from model.results.raw import WROTE, RecordedRun, Run
from model.results.read import checked
from record.exact.blocks import HOOK, write_blocks
from record.exact.ends import waits_now, why_stopped
from record.exact.flags import LIBRARY, library
from record.exact.standard_input import StandardInput
from record.names.elf_symbols import elf_symbols
from record.program.interrupts import awaiting, end_of, in_child
from record.program.machine_view import write_view
from record.program.program import Program
from record.report.callers import Sites
from record.report.replaying import WINDOW, Job, watch_lines

LIMITS = (
    "predicted, not measured: read the ranking first, cycles second",
    WINDOW,
    "modelled: which core has a line, how far it is away, queues at lines, and all waiting",
    "not modelled: the capacity of caches, prefetchers, the width of links, page walks",
    "intervals: 90%, over seeds; with --uncertainty over the ranges in the machine file",
    "estimates: an instruction takes one cycle, after a modelled miss a quarter of a cycle; a call "
    "of code that was not compiled with the flags takes 100 cycles",
)
_SETTINGS = "SCHEDSHARD_EXACT"
# Stack space of arguments and environment is padded to a multiple of this. A single argument may be
# four times as long.
_STACK_USED = 32768
_NO_RANDOMISATION = 0x0040000
# The signals of the keyboard, of a closed terminal and of kill. After one of them no run follows.
INTERRUPTS = ("SIGINT", "SIGHUP", "SIGQUIT", "SIGTERM")


def _needed(elf: ELFFile) -> list[str]:
    dynamic = elf.get_section_by_name(".dynamic")
    tags = dynamic.iter_tags() if isinstance(dynamic, DynamicSection) else ()
    return [str(vars(tag)["needed"]) for tag in tags if tag.entry.d_tag == "DT_NEEDED"]


def _has_runtime(needed: Sequence[str]) -> bool:
    """Whether the sanitizer's own runtime is among the libraries that a file needs."""
    return any(name.startswith("libtsan") for name in needed)


def _has_symbol(elf: ELFFile, table: str, name: str, *, defined: bool) -> bool:
    return any(s.name == name and s.defined == defined for s in elf_symbols(elf, table))


def _parts(path: Path) -> tuple[bool, bool]:
    """Return whether a file needs the sanitizer's own runtime, and whether it calls HOOK."""
    with path.open("rb") as file:
        text = file.read()
        if b"libtsan" not in text and HOOK.encode() not in text:
            return False, False  # most libraries, of which the symbols take long to read
        elf = ELFFile(file)
        return _has_runtime(_needed(elf)), _has_symbol(elf, ".dynsym", HOOK, defined=False)


def check_exact(program: Program) -> None:
    """Raise a UserError if a program cannot run on the exact recorder."""
    path = program.path
    if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise UserError(f"{path} is setuid or setgid and cannot be recorded: record a copy")
    with path.open("rb") as file:
        elf = ELFFile(file)
        needed = _needed(elf)
        own = _has_symbol(elf, ".symtab", "__tsan_on_report", defined=True)
    if own or _has_runtime(needed):
        how = typed("cc")
        raise UserError(f"{path} has the sanitizer's own runtime: link it with '{how}' as well")
    if LIBRARY not in needed:
        how = typed("cc")
        raise UserError(
            f"{path} was not built with '{how}': rebuild it, or leave --exact out to emulate it"
        )


def padded(settings: str, argv: Sequence[str], program: Path, env: Mapping[str, str]) -> str:
    """Return the settings, padded with spaces so that the program's stack has a fixed address.

    The kernel puts arguments, environment and path on the stack, then pointers to the arguments and
    environment, and rounds to 16 bytes. ``env`` does not contain the settings.
    """
    strings = [*argv, *(f"{name}={value}" for name, value in env.items()), str(program)]
    strings.append(f"{_SETTINGS}={settings}\n")
    used = sum(len(os.fsencode(string)) + 1 for string in strings)
    pointers = len(strings) - 1 + 3  # none for the path; 3: two terminators, and the argument count
    used += -(-pointers // 2) * 16
    return f"{settings}\n{' ' * (-used % _STACK_USED)}"


def _prepare() -> None:
    """Prepare the child: fixed addresses, Ctrl-C ends it, and so does the end of this process."""
    in_child()
    ctypes.CDLL(None).personality(_NO_RANDOMISATION)


class AnotherEndError(UserError):
    """A later run ended differently from the first. ``deadlock``: it was stopped in a deadlock."""

    def __init__(self, message: str, *, deadlock: bool = False) -> None:
        super().__init__(message, status=1)
        self.deadlock = deadlock


@dataclass(frozen=True)
class Ran:
    """The results of one run."""

    status: int  # as a shell reports it: 128 + number after a signal
    signal: str | None
    raw: RecordedRun
    meta: dict[str, Any]


def _end(ran: Ran) -> str:
    return f"by {ran.signal}" if ran.signal else f"with status {ran.status}"


def _look(at: Path, process: int) -> None:
    """Say, once, that no thread of a run can run."""
    waits = at / "meta.json.waits"
    with contextlib.suppress(OSError):
        sentence = waits_now(waits, process)
        waits.unlink()
        print(f"schedshard: {sentence}", file=sys.stderr, flush=True)


@dataclass
class Runs:
    """Runs a program once per job. Only the first run's output is shown."""

    program: Program
    folder: Path
    views: Path  # the folder of the machines' files
    output_to_stderr: bool
    stacks: bool = False
    blocks: Path = field(init=False)
    callees: list[tuple[str, ...]] = field(init=False)  # the sets of callees, by number
    stdin: StandardInput = field(init=False)
    first: tuple[Job, Ran] | None = None
    count: int = 0
    viewed: dict[tuple[Path, tuple[int, ...]], Path] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: Running = field(default_factory=Running)

    def __post_init__(self) -> None:
        """Analyse the program, and find its input."""
        path = self.program.path.resolve()
        files = {file: _parts(file) for file in (path, *libraries(path))}
        mixed = next((file.name for file, (mixed, _) in files.items() if mixed), None)
        if mixed is not None:
            how = typed("cc")
            raise UserError(
                f"a library of {path} has the sanitizer's own runtime: link {mixed} with '{how}' "
                "as well"
            )
        instrumented = [file for file, (_, hooked) in files.items() if hooked]
        self.blocks = self.folder / "blocks"
        self.callees = write_blocks(instrumented, library(), self.blocks)
        self.stdin = StandardInput(self.folder)

    @property
    def limits(self) -> Sequence[str]:
        """Return the limits that every report states."""
        return LIMITS

    @property
    def intervals_by(self) -> str:
        """Return how a report gets intervals, which one run cannot give."""
        return "give --seeds 10 or --uncertainty 20 to run the program more often"

    @property
    def provenance(self) -> Mapping[str, str]:
        """Return no provenance besides the program's."""
        return {}

    def begin(self, job: Job) -> Ran:
        """Run the first job, whose output is shown."""
        ran = self._run(job, shown=True)
        self.first = (job, ran)
        return ran

    def all(self, jobs: Sequence[Job]) -> list[Run]:
        """Return each job's result, in order."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            try:
                return list(pool.map(self._result_of, jobs))
            except BaseException:
                self.running.stop()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _result_of(self, job: Job) -> Run:
        if self.first is not None and self.first[0] == job:
            return self.first[1].raw
        ran = self._run(job, shown=False)
        if self.first is not None and _end(ran) != _end(self.first[1]):
            raise AnotherEndError(
                f"{self._which(job)}, the program ended {_end(ran)}, but the first run ended "
                f"{_end(self.first[1])}: runs depend on their order, or disturb each other "
                "(files, ports)"
            )
        return ran.raw

    def _which(self, job: Job) -> str:
        """Return how a run differs from the first one, as the beginning of a sentence."""
        first = self.first[0] if self.first is not None else job
        differs = []
        if job.machine.path != first.machine.path:
            differs.append(f"on {job.machine.name}")
        if job.seed != first.seed:
            differs.append(f"with seed {job.seed}")
        if job.moved:
            differs.append("with data moved for advice")
        return " ".join(differs) or "in another run"

    def _folder(self) -> Path:
        self.count += 1
        made = (
            self.folder / f"run-{self.count:06}"
        )  # always equally long, because the environment contains it
        made.mkdir()
        return made

    def _view(self, job: Job) -> Path:
        """Return the folder of a machine's files, which all runs on it share."""
        key = (job.machine.path, job.cpus)
        with self.lock:
            if key not in self.viewed:
                at = self.views / f"machine-{len(self.viewed):06}"
                self.viewed[key] = write_view(at, job.machine, job.cpus)
            return self.viewed[key]

    def _input(self, job: Job, *, shown: bool) -> int | None:
        if not shown and self.stdin.too_long:
            raise AnotherEndError(f"{self._which(job)}, the program's input is too long to repeat")
        return self.stdin.first() if shown else self.stdin.again()

    def _run(self, job: Job, *, shown: bool) -> Ran:
        at = self._folder()
        watch, meta, result = at / "watch", at / "meta.json", at / "result.json"
        watch.write_text(watch_lines(job, result), encoding="utf-8")
        view = self._view(job)
        stacks = "stacks" if self.stacks else "none"
        parts = (watch, meta, self.blocks, view, job.seed, stacks)
        settings = "\n".join(map(str, parts))
        env = {name: value for name, value in os.environ.items() if name != _SETTINGS}
        executable = self.program.path.absolute()
        env[_SETTINGS] = padded(settings, self.program.argv, executable, env)
        out = (sys.stderr if self.output_to_stderr else None) if shown else subprocess.DEVNULL
        given = self._input(job, shown=shown)
        with (
            awaiting() if shown else contextlib.nullcontext(),
            telling(f"cannot run {self.program.path}"),
            self.running.start(
                self.program.argv,
                executable=executable,
                env=env,
                stdin=given,
                stdout=out,
                stderr=None if shown else subprocess.DEVNULL,
                preexec_fn=_prepare,
            ) as child,
        ):
            if given is not None:
                os.close(given)
            # Later runs are in threads: Ctrl-C reaches the main one, which stops them.
            code = end_of(child, partial(_look, at, child.pid)) if shown else child.wait()
        if shown:
            self.stdin.first_ended()
        name = signal.Signals(-code).name if code < 0 else None
        if not result.is_file():
            how = f"by {name}" if name else f"with status {code}"
            end = f"ended {how} and recorded nothing: it ended early, or executed another program"
            if not shown:
                raise AnotherEndError(f"{self._which(job)}, the program {end}")
            status = 128 - code if code < 0 else code or 2
            raise UserError(f"{self.program.path.name} {end}", status=status)
        facts = dict(read_json(meta, WROTE))
        process = dict(read_json(at / "meta.json.0", WROTE))
        process["hooked"] = True  # the places of its accesses are those of calls of hooks
        facts["processes"] = [process]
        if "turns" not in facts:
            how = typed("cc")
            raise UserError(
                f"another version of schedshard linked {self.program.path}: build it with '{how}'"
            )
        stopped = why_stopped(facts)
        if stopped is not None:
            if not shown:
                raise AnotherEndError(f"{self._which(job)}, {stopped}", deadlock=True)
            raise UserError(stopped, status=1)
        raw = checked(read_json(result, WROTE), WROTE, RecordedRun.of)
        raw = Sites(facts).apply(raw)
        facts.pop("sites", None)
        return Ran(128 - code if code < 0 else code, name, raw, facts)
