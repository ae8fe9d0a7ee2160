# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Decides which tests run in which guest, and for how long."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from common.errors import UserError, check_names
from kernel.arch import X86, Arch
from kernel.guest.boot import Step
from record.shape import USUAL, Shape


@dataclass(frozen=True)
class Program:
    """A test: its programs, its share of the time, and its shortest useful length."""

    parts: tuple[str, ...]
    argv: Callable[[int, int, int], Sequence[str]]  # of seconds, seed and CPUs
    share: int
    least: int = 3  # seconds
    usual: bool = True  # otherwise it runs only if named
    option: str = ""  # of the kernel's configuration, without which the test cannot run


def _words(command: str) -> Sequence[str]:
    """Return the arguments of a command in the guest's /bin."""
    return tuple(f"/bin/{command}".split())


def _stress(options: str) -> Callable[[int, int, int], Sequence[str]]:
    return lambda seconds, seed, _: _words(f"stress-ng {options} --seed {seed} -t {seconds}")


# In the order in which they run: the deadline storm first, the storm that takes CPUs offline near
# the end. A task that left the deadline class has a timer running until its 0-lag time, seconds
# later. If its CPU is offline by then, Linux itself divides by 0 (inactive_task_timer() in a root
# domain without CPUs). Linux also miscounts deadline bandwidth once root domains were rebuilt.
PROGRAMS: Mapping[str, Program] = {
    "storm-deadline": Program(
        (), lambda s, seed, _: _words(f"rt-storm {s} 0 {seed} deadline"), 3, least=5
    ),
    "storm-walk": Program(
        (), lambda s, seed, _: _words(f"push-ipi.sh 0 rt-storm {s} 0 {seed}"), 3, least=5
    ),
    "pi_stress": Program(
        ("rt-tests",), lambda s, _, n: _words(f"pi_stress -q -D {s} -g {min(n, 4)}"), 2
    ),
    "cyclictest": Program(
        ("rt-tests",), lambda s, *_: _words(f"cyclictest -q -t -p 95 -i 10000 -D {s}"), 2
    ),
    "stress-cyclic": Program(
        ("stress-ng",), _stress("--cyclic 4 --cyclic-policy fifo --cyclic-prio 90"), 2
    ),
    "stress-mutex": Program(("stress-ng",), _stress("--mutex 4"), 2),
    "hackbench": Program(("rt-tests",), lambda s, *_: _words(f"hackbench.sh {s}"), 2),
    "ffmpeg": Program(("ffmpeg",), lambda s, *_: _words(f"ffmpeg.sh {s}"), 3),
    "redis": Program(("redis",), lambda s, *_: _words(f"redis.sh {s}"), 1),
    # Push walks run in the second half.
    "storm": Program(
        (), lambda s, seed, _: _words(f"push-ipi.sh {s // 2} storm.sh {s} {seed}"), 10, least=10
    ),
    # The last test, because it leaves little memory for others.
    "alloc-fail": Program(
        (), lambda s, *_: _words(f"alloc-fail {s}"), 1, least=60, option="CONFIG_FAILSLAB"
    ),
    # Counts interrupts of a CPU to itself. Kernels without Linux's commit 94894c9c477e fail it.
    "walk-self": Program(
        (), lambda s, *_: _words(f"push-ipi.sh 0 walk-self {s}"), 1, least=10, usual=False
    ),
    # Shows a fault of Linux, which patch 02 fixes. Fails once Linux itself has fixed the fault.
    "linux-level": Program((), lambda s, *_: _words(f"linux-level {s}"), 1, least=10, usual=False),
}
# Seconds of guest time, summed over all guests of a variant.
SETS: Mapping[str, int] = {"short": 30, "quick": 90, "ci": 300, "soak": 3600}
# Each guest's share of the time, by its number of CPUs.
_GUESTS: Mapping[int, int] = {16: 5, 64: 4, 1: 1}
# ffmpeg's libraries are unpacked into memory.
_EXTRA_MB: Mapping[str, int] = {"ffmpeg": 768, "redis": 64, "stress-ng": 128}


@dataclass(frozen=True)
class GuestPlan:
    """One guest of the matrix, with its tests."""

    shape: Shape
    steps: tuple[Step, ...]
    parts: tuple[str, ...]
    seconds: int

    @property
    def extra_mb(self) -> int:
        """Return the memory in MB that the parts need."""
        return sum(_EXTRA_MB.get(part, 0) for part in self.parts)

    @property
    def total(self) -> float:
        """Return the seconds after which to kill the guest: boot, and all tests at their limits."""
        return 600.0 + sum(step.timeout for step in self.steps)


def chosen(
    names: Sequence[str], has: Callable[[str], bool] = lambda option: False, arch: Arch = X86
) -> list[str]:
    """Return the tests with these names in the order of the table.

    Without names: the usual tests for which the kernels have the option and the guest has the
    programs. Guests of another architecture have no programs of this host.
    """
    check_names("test", names, PROGRAMS)
    for name in names:
        if (option := PROGRAMS[name].option) and not has(option):
            raise UserError(f"--test {name} needs a kernel with {option}: give another --config")
        if PROGRAMS[name].parts and not arch.own_programs:
            raise UserError(
                f"--test {name} needs programs of this host: not with --arch {arch.name}"
            )
    if names:
        return [name for name in PROGRAMS if name in names]
    return [
        name
        for name, program in PROGRAMS.items()
        if program.usual
        and (not program.option or has(program.option))
        and (not program.parts or arch.own_programs)
    ]


def timeout(seconds: int) -> int:
    """Return when to kill a test of a planned length, with time for a slow, busy host."""
    return 4 * seconds + 240


def guest_plan(shape: Shape, names: Sequence[str], seconds: int, seed: int) -> GuestPlan:
    """Return a guest's plan, which divides the seconds among the tests."""
    programs = {name: PROGRAMS[name] for name in names}
    shares = sum(program.share for program in programs.values())
    steps = []
    for name, program in programs.items():
        own = max(program.least, seconds * program.share // shares)
        steps.append(Step(name, program.argv(own, seed, shape.cpus), timeout(own)))
    parts = sorted({part for program in programs.values() for part in program.parts})
    return GuestPlan(shape, tuple(steps), tuple(parts), seconds)


def matrix(
    seconds: int, names: Sequence[str], shapes: Sequence[Shape], seed: int
) -> list[GuestPlan]:
    """Return the plans of guests that share this many seconds.

    Without ``shapes`` the guests have the usual ones.
    """
    if shapes:
        return [guest_plan(s, names, max(1, seconds // len(shapes)), seed) for s in shapes]
    shares = sum(_GUESTS.values())
    return [
        guest_plan(USUAL[cpus], names, seconds * share // shares, seed)
        for cpus, share in _GUESTS.items()
    ]
