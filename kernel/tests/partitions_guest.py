# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Doctor makes and undoes partitions in a guest while threads run in them.

If a partition is refused, `apply` leaves nothing behind. If `apply` ends too early, `undo` restores
the state. After each write all threads must run, and the FIFO threads have their CPUs. Only writes
that make or end a partition may change the CPUs of a cgroup.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
import time
from pathlib import Path

from common.errors import UserError
from doctor.plan.apply import Kernel, Wanted, apply, undo, verify

JOURNAL = Path("/tmp/journal.json")
SERVICES = {
    "/app.slice/a.service": range(4, 6), "/app.slice/b.service": range(6, 8),
    "/deep.slice/deep-er.slice/c.service": range(8, 10),
}  # fmt: skip
THREADS = "/threads.service"
GUEST = "/machine.slice/machine-qemu\\x2d1\\x2dg.scope"
ROWS = [
    *(Wanted(name, "", frozenset(cpus), "member", (), None) for name, cpus in SERVICES.items()),
    Wanted(f"{THREADS}/cpus-10", "", frozenset((10, 11)), "-", ("10", "11"), None),
    Wanted(GUEST, "", frozenset((13, 15)), "member", (), 15),
]
SLOTS = 16
ORDINARY = 15
counts = mmap.mmap(-1, 8 * SLOTS)
masks: dict[int, set[int]] = {}
left = 1 << 30
written: list[str] = []


def count(slot: int) -> int:
    """Return how often a thread has run."""
    return int.from_bytes(counts[8 * slot : 8 * slot + 8], "little")


def work(slot: int, cpus: set[int], fifo: bool) -> None:
    """Run and sleep for ever, on these CPUs."""
    os.sched_setaffinity(0, cpus)
    if fifo:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    for number in range(1, 1 << 40):
        counts[8 * slot : 8 * slot + 8] = number.to_bytes(8, "little")
        time.sleep(0.005)


def start(kernel: Kernel, cgroup: str, workers: dict[int, set[int]], fifo: bool = True) -> None:
    """Start a process in a new cgroup, with a thread for each slot."""
    kernel.path(cgroup).mkdir(parents=True)
    if os.fork() == 0:
        kernel.write(f"{cgroup}/cgroup.procs", str(os.getpid()))
        for slot, cpus in workers.items():
            threading.Thread(target=work, args=(slot, cpus, fifo)).start()
        time.sleep(1e6)
    deadline = time.monotonic() + 60
    while not all(count(slot) for slot in workers):
        assert time.monotonic() < deadline, f"{cgroup} did not start"
        time.sleep(0.01)
    for thread in kernel.read(f"{cgroup}/cgroup.threads").split():
        if fifo and os.sched_getscheduler(int(thread)) == os.SCHED_FIFO:
            masks[int(thread)] = os.sched_getaffinity(int(thread))


def start_guest(kernel: Kernel, slot: int) -> None:
    """Start a virtual CPU and an emulator, in cgroups as libvirt makes them."""
    inner = f"{GUEST}/libvirt"
    start(kernel, inner, {slot: {13}})
    for name, cpus in (("vcpu0", "13"), ("emulator", "0-1")):
        kernel.path(f"{inner}/{name}").mkdir()
        kernel.write(f"{inner}/{name}/cgroup.type", "threaded")
        for cgroup in ("", "/machine.slice", GUEST, inner):
            kernel.write(f"{cgroup}/cgroup.subtree_control", "+cpuset")
        kernel.write(f"{inner}/{name}/cpuset.cpus", cpus)
    for thread in kernel.read(f"{inner}/cgroup.threads").split():
        name = "vcpu0" if int(thread) in masks else "emulator"
        kernel.write(f"{inner}/{name}/cgroup.threads", thread)


def probe(after: str) -> None:
    """Assert that no FIFO thread lost a CPU, and that all threads run."""
    for thread, cpus in masks.items():
        assert os.sched_getaffinity(thread) == cpus, f"thread {thread} lost CPUs after {after}"
    slots = [slot for slot in range(SLOTS) if count(slot)]
    before = {slot: count(slot) for slot in slots}
    deadline = time.monotonic() + 30
    while waiting := [slot for slot in slots if count(slot) == before[slot]]:
        assert time.monotonic() < deadline, f"threads {waiting} starve after {after}"
        time.sleep(0.002)


class Probed(Kernel):
    """The guest's kernel: each write is probed, or the process ends before it."""

    def write(self, file: str, value: str) -> None:
        """Write and probe, or end."""
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        if left < 1 << 20:
            super().write(file, value)
            return
        before = state(self, "cpuset.cpus.effective")
        super().write(file, value)
        written.append(file)
        probe(f"'{value}' to {file}")
        if not file.endswith(".partition"):
            before.pop(f"{GUEST}/libvirt/emulator/cpuset.cpus.effective", None)  # its own list
            now = {**before, **state(self, "cpuset.cpus.effective")}
            same({file: now[file] for file in before}, before, f"'{value}' to {file}")


def state(kernel: Kernel, *names: str) -> dict[str, str]:
    """Return the contents of the cgroups' files: ``names``, or all that apply may change."""
    names = names or (
        "cpuset.cpus", "cpuset.cpus.exclusive", "cpuset.cpus.partition", "cgroup.type",
        "cpuset.cpus.effective", "cgroup.subtree_control", "cgroup.threads",
    )  # fmt: skip
    files = [f"{cgroup}/{name}" for cgroup in sorted(kernel.cgroups()) for name in names]
    there = [file for file in files if kernel.path(file).exists()]
    return {file: " ".join(sorted(kernel.read(file).split())) for file in there}


def same(now: dict[str, str], before: dict[str, str], after: str) -> None:
    """Assert that all is as it was."""
    wrong = {file: (before.get(file), now.get(file)) for file in {*before, *now}}
    wrong = {file: values for file, values in wrong.items() if values[0] != values[1]}
    assert not wrong, f"after {after}: {wrong}"


def refused(kernel: Kernel, row: Wanted, words: str, early: bool = False) -> None:
    """Assert that a row beside ROWS is refused with this reason, and nothing stays.

    ``early``: before a partition is made.
    """
    before, message = state(kernel), "nothing"
    written.clear()
    try:
        apply([*ROWS, row], kernel, JOURNAL)
    except UserError as error:
        message = str(error)
    print(message)
    assert words in message
    assert any(file.endswith(".partition") for file in written) != early, written
    same(state(kernel), before, "a refusal")
    assert not JOURNAL.exists()


def cut_off(kernel: Kernel) -> int:
    """End apply before some of its writes, undo, and return how many writes there are."""
    global left
    before = state(kernel)
    for writes in range(2, 100, 5):
        child = os.fork()
        if child == 0:
            left = writes
            apply(ROWS[3:], kernel, JOURNAL)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        undo(kernel, JOURNAL)
        same(state(kernel), before, f"{writes} writes")
        if os.waitstatus_to_exitcode(status) == 0:
            return writes
    raise AssertionError("apply never ended")


def main() -> None:
    """Run all checks."""
    kernel = Probed(Path("/sys/fs/cgroup"))
    kernel.write("/cgroup.subtree_control", "+cpuset")
    slot = 0
    for name, cpus in SERVICES.items():
        start(kernel, name, {slot + n: {cpu} for n, cpu in enumerate(cpus)})
        slot += len(cpus)
    start(kernel, THREADS, {slot: {10}, slot + 1: {11}, slot + 2: {12}})
    start_guest(Kernel(kernel.place), slot + 3)
    start(kernel, "/user.slice", {ORDINARY: set(range(os.cpu_count() or 1))}, fifo=False)
    before = state(kernel)
    probe("the start")
    print(apply(ROWS, kernel, JOURNAL))
    assert verify(kernel, JOURNAL) == []
    assert kernel.read(f"{GUEST}/libvirt/emulator/cpuset.cpus.effective") == "15"
    print(undo(kernel, JOURNAL))
    same(state(kernel), before, "undo")
    kernel.path("/other").mkdir()
    kernel.path("/other/cpuset.cpus.exclusive").write_text("14")
    kernel.path("/other/cpuset.cpus.partition").write_text("root")
    for name in ("/taken", "/unplugged", "/isolated"):
        kernel.path(name).mkdir()
    refused(kernel, Wanted("/taken", "", frozenset((14,)), "member", (), None), "/taken", True)
    isolated = Wanted("/isolated", "", frozenset((2, 3)), "member", (), None)
    refused(kernel, isolated, "housekeeping")
    kernel.path("/other/cpuset.cpus.partition").write_text("member")
    kernel.path("/other/cpuset.cpus.exclusive").write_text("\n")
    online = state(kernel)
    power = Path("/sys/devices/system/cpu/cpu14/online")
    power.write_text("0")
    unplugged = Wanted("/unplugged", "", frozenset((1, 14)), "member", (), None)
    refused(kernel, unplugged, "CPUs 14 are offline")
    power.write_text("1")
    same(state(kernel), online, "a CPU came back")
    print(f"apply was ended before some of {cut_off(kernel)} writes")
    probe("the end")
    print("all partitions as they should be")


if __name__ == "__main__":
    main()
    sys.stdout.flush()
