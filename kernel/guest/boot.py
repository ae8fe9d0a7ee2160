# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage boot: runs one guest in QEMU's software emulation, from start to power-off.

The guest's serial line goes into a log file, which is kept. A guest that writes nothing into the
log for too long, or runs for too long, is ended. A panic ends the guest, because the emulator does
not reboot.
"""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from common.errors import UserError, telling
from common.programs import require
from kernel.arch import X86, Arch
from kernel.build.config import resolve
from kernel.guest.cpio import Entry, archive, plain
from kernel.guest.devicetree import tree_with_caches
from kernel.guest.emulated import qemu_topology
from kernel.guest.initramfs import make_initramfs
from kernel.guest.programs import host_tsc_khz
from kernel.layout import Layout
from kernel.source.recipe import load_recipe
from record.shape import Shape

_NOTHING_ELSE = ("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot")
_PARAMETERS = (
    "rdinit=/init",
    "panic=-1",  # reboot at once: the emulator exits
    "oops=panic",
    "hung_task_panic=0",
    "printk.devkmsg=on",  # the guest's report uses it, and must not be rate-limited
    "log_buf_len=4M",
    # Twice the usual limit, because the guest shares its host.
    "watchdog_thresh=60",
    "rcupdate.rcu_cpu_stall_timeout=120",
)
# The guest's clock counts the instructions that all its CPUs executed, a nanosecond each, and skips
# idle time. So the guest's progress in one of its seconds does not depend on the host's load.
_COUNTED = ("-icount", "shift=0,sleep=off")
_COUNTED_KHZ = 1_000_000
_POLL_SECONDS = 0.2
_KILL_SECONDS = 5.0
# Linux patches an instruction that may be running: first with a breakpoint, then with the new one.
# QEMU 7.2 with CPUs in parallel sometimes executed the breakpoint after Linux had forgotten it. On
# a busy host that ended 2 of 175 boots of stock 7.3.4 with 4 CPUs. Such an oops is not a fault of
# the guest's kernel.
_STALE = "Oops: int3:"
_BOOTS = 4
# On a busy host a guest was silent for two minutes, and then finished its boot.
SILENCE_SECONDS = 300.0


class Emulation(Enum):
    """How the guest's CPUs take turns.

    SINGLE: one thread of the host runs all CPUs. It continues with the next CPU when one halts,
    waits in a spin loop or interrupts another. MULTI: one thread per CPU. A CPU that spins then
    takes the host's time from the CPU for which it waits. With more CPUs than the host has, MULTI
    is slow: 200 RT threads on 16 CPUs took over a minute to start. SINGLE took 12 s for all.
    """

    SINGLE = "single"
    MULTI = "multi"


class Ending(Enum):
    """How a guest ended."""

    OFF = "powered off"
    SILENT = "silent"
    LATE = "out of time"
    PANICKED = "panicked, and did not stop"
    FAILED = "emulator failed"


@dataclass(frozen=True)
class Step:
    """One line of the guest's plan: a program, and when it is killed."""

    name: str
    argv: Sequence[str]
    timeout: int


# A kernel that panics waits for its other CPUs and reboots, which ends the emulator. With a slow
# clock and many CPUs, the wait takes minutes.
_PANIC, _PANIC_SECONDS = "Kernel panic - not syncing", 30.0
# CONFIG_HZ of kernel/config/lab.config.
_LAB_HZ = 100


@dataclass(frozen=True)
class Limits:
    """Seconds after which a guest is ended: of silence, and in total."""

    silence: float = SILENCE_SECONDS
    total: float = 600.0


@dataclass(frozen=True)
class Emulator:
    """How the emulator runs the guest, which notices only time and memory."""

    emulation: Emulation = Emulation.SINGLE
    slow: int = 1  # the emulator's clock runs this many times slower than the host's
    counted: bool = False  # time is counted in instructions: _COUNTED
    extra_mb: int = 0
    memory: Path | None = None  # folder for the guest's memory, a file per node
    arguments: tuple[str, ...] = ()  # additional
    environment: Mapping[str, str] = field(default_factory=dict)  # additional


@dataclass(frozen=True)
class BootRequest:
    """A kernel, a machine, and what runs in it."""

    kernel: Path
    name: str  # of the log
    shape: Shape
    parts: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    parameters: tuple[str, ...] = ()  # for the kernel's command line
    files: Mapping[str, Entry] = field(default_factory=dict)  # additional, by path in the guest
    emulator: Emulator = Emulator()
    limits: Limits = Limits()


@dataclass
class Booted:
    """A guest that has ended."""

    log: Path
    ending: Ending
    seconds: float
    message: str = ""  # the emulator's own message
    lines: list[str] = field(default_factory=list)
    stale: int = 0  # boots before this one that a stale breakpoint ended


def kernel_image(layout: Layout, variant: str, config: str) -> Path:
    """Return the built kernel of a variant. The UserError names the command that builds it."""
    load_recipe(layout).variant(variant)
    path = layout.objects(variant, resolve(layout, config).name) / layout.arch.image
    if not path.is_file():
        raise UserError(
            f"variant '{variant}' is not built in configuration '{config}': run "
            f"'./schedshard kernel build --variant {variant} --config {config}'"
        )
    return path


def kernel_has(layout: Layout, variant: str, config: str, option: str) -> bool:
    """Return whether a built kernel has an option, given as CONFIG_X."""
    path = layout.objects(variant, resolve(layout, config).name) / ".config"
    return path.is_file() and f"{option}=y" in path.read_text(encoding="utf-8").splitlines()


def plan_text(steps: Sequence[Step]) -> str:
    """Return the content of the guest's /etc/plan, in the format of kernel/guest/init.c."""
    lines = []
    for step in steps:
        fields = [step.name, str(step.timeout), *step.argv]
        if any("\t" in field or "\n" in field or not field for field in fields):
            raise ValueError(f"a field of {step} cannot be written in the plan")
        lines.append("\t".join(fields) + "\n")
    return "".join(lines)


def clock_parameters(tsc_khz: int, ticks: int) -> list[str]:
    """Return parameters that replace the guest's measurements of clock and delay loop.

    ``ticks`` is CONFIG_HZ. On a busy host a guest measures its clock wrongly. The delay loop takes
    several ticks per CPU, which is minutes with a slow clock and many CPUs.
    """
    return [f"tsc_early_khz={tsc_khz}", f"lpj={tsc_khz * 1000 // ticks}"]


def command_line(request: BootRequest, tsc_khz: int | None, arch: Arch = X86) -> str:
    """Return the kernel's parameters."""
    words = [*arch.parameters, *_PARAMETERS]
    if tsc_khz is not None:
        # A kernel with more ticks per second than lab only waits longer in its delay loops.
        words += clock_parameters(tsc_khz, _LAB_HZ)
    if request.shape.split_llc:
        words.append(f"shard_split={request.shape.split_llc}")
    if request.shape.one_thread:
        words.append("nosmt=force")
    return " ".join((*words, *request.parameters))


def machine_argv(
    shape: Shape, log: Path, emulator: Emulator = Emulator(), arch: Arch = X86
) -> list[str]:
    """Return the emulator's command for a machine whose serial line is a log, without a kernel."""
    topology = qemu_topology(shape, emulator.extra_mb, emulator.memory, arch)
    accel = ("-accel", f"tcg,thread={emulator.emulation.value}")
    serial = ("-serial", f"file:{log}")
    return [arch.qemu, *_NOTHING_ELSE, *arch.machine, *accel, *topology, *serial]


def qemu_argv(
    request: BootRequest, initrd: Path, log: Path, tsc_khz: int | None = None, arch: Arch = X86
) -> list[str]:
    """Return the emulator's argument list."""
    machine = machine_argv(request.shape, log, request.emulator, arch)
    files = ("-kernel", str(request.kernel), "-initrd", str(initrd))
    counted = _COUNTED if request.emulator.counted else ()
    append = ("-append", command_line(request, tsc_khz, arch))
    return [*machine, *files, *append, *counted, *request.emulator.arguments]


@contextlib.contextmanager
def _initrd(layout: Layout, request: BootRequest) -> Iterator[Path]:
    """Yield a copy of the cached archive with the plan behind it, while the guest runs."""
    base = make_initramfs(layout, request.parts).path
    plan = {**request.files, "/etc/plan": plain(plan_text(request.steps).encode())}
    with telling("cannot write the guest's files"):
        fd, name = tempfile.mkstemp(prefix=".running.", dir=base.parent)
        path = Path(name)
        try:
            with os.fdopen(fd, "wb") as out, base.open("rb") as source:
                left = os.fstat(source.fileno()).st_size
                while left > 0:
                    left -= os.copy_file_range(source.fileno(), out.fileno(), left)
                out.seek(0, os.SEEK_END)
                out.writelines(archive(plan))
            yield path
        finally:
            path.unlink(missing_ok=True)


class _Follower:
    """Reads the complete new lines of a growing file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""
        self.lines: list[str] = []

    def read(self) -> list[str]:
        """Return the complete lines since the last call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        self._offset += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        new = [line.decode("utf-8", "replace").rstrip("\r") for line in whole]
        self.lines += new
        return new


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_KILL_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _watch(
    process: subprocess.Popen[bytes],
    follower: _Follower,
    limits: Limits,
    on_line: Callable[[str], None],
    stop: threading.Event,
) -> Ending:
    started = heard = time.monotonic()
    panicked = None
    while True:
        ended = process.poll() is not None
        new = follower.read()
        now = time.monotonic()
        if new:
            heard = now
            for line in new:
                on_line(line)
                if _PANIC in line:
                    panicked = now
        if stop.is_set():
            raise KeyboardInterrupt
        if ended:
            return Ending.OFF if process.returncode == 0 else Ending.FAILED
        if panicked is not None and now - panicked > _PANIC_SECONDS:
            return Ending.PANICKED
        if now - heard > limits.silence:
            return Ending.SILENT
        if now - started > limits.total:
            return Ending.LATE
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_SECONDS)


def _message(path: Path) -> str:
    """Return the emulator's last message without its name, or the plugin's first error."""
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    messages = [line for line in lines if "warning: " not in line and "terminating on" not in line]
    # If the plugin reports an error, the emulator's later messages are consequences of it.
    own = [line for line in messages if line.startswith("schedshard: ")]
    message = own[0] if own else messages[-1] if messages else ""
    return re.sub(r"^(?:schedshard|qemu-system-\w+): ", "", message)


def boot(
    layout: Layout,
    request: BootRequest,
    on_line: Callable[[str], None] = lambda line: None,
    stop: threading.Event | None = None,
) -> Booted:
    """Run a guest until it ends in any way. Keep its log.

    Raise a UserError only if the emulator itself fails. Raise KeyboardInterrupt once ``stop`` is
    set, by the thread that received Ctrl-C.
    """
    arch, emulator = layout.arch, request.emulator
    require(arch.qemu)
    log = layout.log(request.name)
    tsc_khz = None
    if arch is X86:
        tsc_khz = _COUNTED_KHZ if emulator.counted else host_tsc_khz(layout)
    if tsc_khz is not None:
        tsc_khz *= emulator.slow
    with layout.locked(f"guest-{request.name}"), _initrd(layout, request) as initrd:
        argv = qemu_argv(request, initrd, log, tsc_khz, arch)
        if arch.device_tree:
            argv += ["-dtb", str(tree_with_caches(layout, request.name, request.shape, argv))]
        for stale in range(_BOOTS):
            booted = emulate(layout, log, argv, request.limits, emulator.environment, on_line, stop)
            booted.stale = stale
            if emulator.emulation is Emulation.SINGLE or not any(_STALE in x for x in booted.lines):
                break
        return booted


def emulate(
    layout: Layout,
    log: Path,
    argv: Sequence[str],
    limits: Limits,
    environment: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] = lambda line: None,
    stop: threading.Event | None = None,
) -> Booted:
    """Run an emulator whose serial line is ``log`` until it ends, with boot()'s errors."""
    layout.make_folder(log.parent)
    complaints = log.with_suffix(".qemu")
    log.write_bytes(b"")
    follower = _Follower(log)
    started = time.monotonic()
    with complaints.open("wb") as stderr:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=stderr,
            stderr=stderr,
            env={**os.environ, **(environment or {})},
        )
        try:
            ending = _watch(process, follower, limits, on_line, stop or threading.Event())
        finally:
            _end(process)
    seconds = time.monotonic() - started
    # An incomplete last line is ignored: "ok 1" may be the beginning of "ok 12".
    follower.read()
    booted = Booted(log, ending, seconds, _message(complaints), follower.lines)
    if ending is Ending.FAILED:
        code = process.returncode
        why = booted.message or (
            f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        )
        raise UserError(f"{argv[0]}: {why} (its messages: {layout.shown(complaints)})", status=1)
    return booted
