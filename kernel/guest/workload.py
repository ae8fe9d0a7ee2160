# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the programs that run in an observed guest, and what counts as one operation of each.

Amounts are operations, not seconds, if the program allows it: the emulator determines the length of
a guest's seconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from common.errors import check_names
from kernel.guest.boot import Step
from record.shape import Shape

# It opens the window, runs the command that follows, and closes the window.
_RUN = "/bin/c2c-run"


@dataclass(frozen=True)
class Workload:
    """A program to observe. ``amount``: of its operations, or seconds if it counts none."""

    parts: tuple[str, ...]
    argv: Callable[[int, int], Sequence[str]]  # of CPUs and amount
    amount: int
    extra_mb: int = 0
    made: float = 0  # the window opens after this many processes and threads per CPU were made
    length_us: int = 0  # the window's length in guest time; 0: until the program ends
    program: str = ""  # our program, which opens the window itself
    watched: tuple[str, ...] = ()  # the functions of ``program`` to watch instead of the kernel's
    messages: tuple[str, ...] = ("unix_stream_sendmsg",)  # functions that send one message


# How long stress-ng --cyclic sleeps, and the CPUs of the machine whose figures were published.
_CYCLIC_NS, _PUBLISHED_CPUS = 100_000, 480


def _cyclic(cpus: int, amount: int) -> Sequence[str]:
    # --log-lockless: otherwise a process that finds the log's lock taken sleeps for 100 ms. In
    # every fifth run some of 64 processes waited for seconds at the start, and delayed all others.
    return (
        "/bin/stress-ng", "--log-lockless", "--cyclic", str(cpus), "--cyclic-policy", "fifo",
        "-t", str(amount), "--metrics-brief",
    )  # fmt: skip


def _dense(cpus: int, amount: int) -> Sequence[str]:
    return (*_cyclic(cpus, amount), "--cyclic-sleep", str(_CYCLIC_NS * cpus // _PUBLISHED_CPUS))


def _pi(cpus: int, amount: int) -> Sequence[str]:
    return ("/bin/pi_stress", "-q", "-g", str(max(1, cpus // 2)), "-D", str(amount))


def _pi_apart(cpus: int, amount: int) -> Sequence[str]:
    # Each shell keeps the first CPU of its pair for itself, and pins its group to the second.
    command = f"taskset -c $i,$((i + 1)) /bin/pi_stress -q -g 1 -D {amount} &"
    return ("/bin/sh", "-c", f"for i in $(seq 0 2 {max(0, cpus - 2)}); do {command} done; wait")


def _hackbench(cpus: int, amount: int) -> Sequence[str]:
    groups = str(max(1, cpus // 8))
    return (
        "/bin/chrt", "-f", "50", "/bin/hackbench", "-T", "-g", groups, "-f", "4", "-l", str(amount)
    )  # fmt: skip


def _pipes(cpus: int, amount: int) -> Sequence[str]:
    groups = str(max(1, cpus // 8))
    # Few messages fill a pipe, so senders and receivers sleep often. The stacks are small.
    size = ("-s", "4096")
    return ("/bin/hackbench", "-T", "-p", *size, "-g", groups, "-f", "4", "-l", str(amount))


def _storm(cpus: int, amount: int) -> Sequence[str]:
    return ("/bin/rt-storm", str(amount), str(4 * cpus), "1")


# How long the one sleeping thread sleeps. A walk ends before the next one begins.
_WALK_NS = 50_000_000


def _walk_waiting(cpus: int, amount: int) -> Sequence[str]:
    # One thread spins on each CPU but the first two. One more waits per pair of these CPUs. Its
    # queue then has a task that can be pushed, but no CPU can take it.
    usual = range(2, cpus)
    run = f"timeout {amount} /bin/rt-groups spin"
    spinning = f"{run} {' '.join(map(str, usual))}"
    waiting = f"{run} {' '.join(f'{cpu}-{cpu + 1}' for cpu in usual[:-1:2])}"
    sleeping = f"timeout {amount} /bin/rt-groups {_WALK_NS} 1"
    script = f"{spinning} & sleep 1; {waiting} & sleep 2; {sleeping}; wait"
    return ("/bin/push-ipi.sh", "0", "/bin/sh", "-c", script)


def _ffmpeg(cpus: int, amount: int) -> Sequence[str]:
    return ("/bin/ffmpeg.sh", str(amount), str(max(2, cpus // 4)))


def _forks(_: int, amount: int) -> Sequence[str]:
    return ("/bin/cache-work", "forks", str(amount))


# With this few threads per process Linux lets the process prefer a cache of 8 CPUs.
def _threads(cpus: int, amount: int) -> Sequence[str]:
    return ("/bin/cache-work", "threads", str(max(1, cpus // 8)), "3", str(amount))


# Instructions between two operations. SHORT: few, so that CPUs contend on the lines. YIELD: as many
# as a yield takes on the machine of the yield experiment (1,290 ns at 2.45 GHz).
SHORT, YIELD = 400, 3160


def _share(layout: str, think: int) -> Workload:
    return Workload(
        (), lambda _, amount: ("/bin/c2c-share", layout, str(amount), str(think)), 3000,
        program="c2c-share", watched=("operate",),
    )  # fmt: skip


# The window, in guest time, of a program that runs until it is killed. It never reaches its own
# limit.
_WINDOW_US, _ENDLESS = 20_000, 3600


def _endless(
    parts: tuple[str, ...],
    argv: Callable[[int, int], Sequence[str]],
    made: float,
    extra_mb: int = 0,
    length_us: int = _WINDOW_US,
) -> Workload:
    return Workload(parts, argv, _ENDLESS, extra_mb=extra_mb, made=made, length_us=length_us)


WORKLOADS: Mapping[str, Workload] = {
    # The amount is in seconds, because a limit of operations would end the waker, and the waiter
    # would then wait forever.
    "cyclic": _endless(("stress-ng",), _cyclic, 2, extra_mb=128),
    # All CPUs together wake up as often as 480.
    "cyclic-dense": _endless(("stress-ng",), _dense, 2, extra_mb=128),
    "pi": _endless(("rt-tests",), _pi, 1.5),
    # While a process waits for a larger table of its futexes, each call of any thread counts in one
    # word (Linux 7.3, futex_ref_get()). With one pi_stress for all groups, the table grew in 1 of
    # 27 runs.
    "pi-apart": _endless(("rt-tests",), _pi_apart, 2),
    "hackbench": Workload(("rt-tests",), _hackbench, 100_000, made=1, length_us=_WINDOW_US),
    # These are not RT tasks. No network is needed.
    "pipes": Workload(
        ("rt-tests",),
        _pipes,
        100_000,
        made=1,
        length_us=_WINDOW_US,
        messages=("pipe_write", "anon_pipe_write"),
    ),
    # The threads sleep for milliseconds.
    "rt-storm": _endless((), _storm, 4, length_us=400_000),
    # A thread that sleeps starts push walks over queues whose waiting tasks no CPU can take.
    "rt-walk-waiting": _endless((), _walk_waiting, 1, length_us=400_000),
    "ffmpeg": _endless(("ffmpeg",), _ffmpeg, 2, extra_mb=768),
    "forks": Workload((), _forks, 300),
    "threads": Workload((), _threads, 2),
    # Counters per CPU on separate lines; the same side by side; counters that cores share.
    "share-none": _share("none", SHORT),
    "share-false": _share("false", SHORT),
    "share-true": _share("true", SHORT),
    # The yield experiment: one mask, one for each half of the CPUs, bytes in a line per half.
    "yield-global": _share("global", YIELD),
    "yield-half": _share("half", YIELD),
    "yield-byte": _share("byte", YIELD),
}


def find_workload(name: str) -> Workload:
    """Return the workload with a name."""
    check_names("workload", [name], WORKLOADS)
    return WORKLOADS[name]


def step(name: str, shape: Shape, seconds: int) -> Step:
    """Return the step that runs a workload in its window, for ``seconds`` of guest time at most."""
    workload = find_workload(name)
    argv = workload.argv(shape.cpus, workload.amount)
    if workload.program:
        return Step(name, argv, seconds)
    window = (str(int(workload.made * shape.cpus)), str(workload.length_us))
    return Step(name, (_RUN, *window, *argv), seconds)
