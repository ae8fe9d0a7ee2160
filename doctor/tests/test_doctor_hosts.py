# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests verdict and plan for hosts of the kinds that operators have."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doctor_cli import call
from doctor_tree import FIFO, KTHREAD, Machine, Task, tar
from test_doctor_plan import FILES, ROOT, planned
from test_doctor_predict import needs_sim, simulates

Capture = pytest.CaptureFixture[str]
ID = "0123456789abcdef" * 4


def pinned(
    place: str, cpus: Iterable[int], rate: int = 20_000, tgid: int | None = None
) -> list[Task]:
    """A thread on each CPU that wakes up ``rate`` times a second; a reading takes two seconds."""
    return [
        Task(1000 + cpu, "rt", allowed=str(cpu), cgroup=place, voluntary=2 * rate,
             tgid=tgid or 1000 + cpu)
        for cpu in cpus
    ]  # fmt: skip


def tree(kind: str, lists: dict[str, str], rest: str) -> dict[str, dict[str, str]]:
    made = {f"{ROOT}{place}": {**FILES, "cpuset.cpus": cpus, "cpuset.cpus.partition": kind}
            for place, cpus in lists.items()}  # fmt: skip
    return {ROOT: {"cpuset.cpus.effective": rest}, **made}


VM = r"/machine.slice/machine-qemu\x2d{0}\x2dvm{0}.scope"
POD = f"/kubepods.slice/kubepods-pod{{0}}.slice/cri-containerd-{{0}}{ID}.scope"


def host(cgroups: dict[str, dict[str, str]], tasks: list[Task], **changes: Any) -> Machine:
    """64 CPUs: 16 share a cache, and 32 a node."""
    shape = {"cpus": 64, "llc_cpus": 16, "node_cpus": 32, **changes}
    return Machine(tasks=tasks, cgroups=cgroups, **shape)


def seven(place: str, inside: str = "", busy: int = 8, *, has: bool = True, **more: Any) -> Machine:
    """Seven cgroups, with lists of 8 CPUs if ``has``, and threads on ``busy`` CPUs of each."""
    lists = {place.format(n): f"{8 * n}-{8 * n + 7}" for n in range(1, 8)}
    tasks = [
        task for n, name in enumerate(lists, 1)
        for task in pinned(name + inside, range(8 * n, 8 * n + busy))
    ]  # fmt: skip
    return host(tree("member", lists if has else {}, "0-63"), tasks, **more)


def watched() -> Machine:
    """A watchdog on all CPUs does not join the pods; PREEMPT_RT's timers belong to the pods."""
    machine = seven(POD)
    dogs = [Task(200 + n, f"ktimers/{n}", FIFO, 1, str(n), "/", 60_000, flags=KTHREAD)
            for n in range(8, 64)]  # fmt: skip
    dogs += [Task(900 + n, "dog", FIFO, 99, str(n), "/init.scope", 6, tgid=900) for n in range(64)]
    return replace(machine, tasks=[*machine.tasks, *dogs])


def old() -> Machine:
    """Before Linux 6.7 a slice below the root may be a partition, a service inside may not."""
    machine = seven("/rt{0}.slice", "/a.service", release="6.6.60")
    files = ("cpuset.cpus", "cpuset.cpus.partition", "cpuset.cpus.effective")
    cgroups = (machine.cgroups or {}).items()
    kept = {place: {key: held[key] for key in files if key in held} for place, held in cgroups}
    return replace(machine, cgroups=kept)


def openshift(first: int = 8, rest: str = "0-7", rate: int = 20_000, **changes: Any) -> Machine:
    """Seven isolated partitions of 8 CPUs each. The threads of the last partition poll."""
    starts = [first + 8 * n for n in range(7)]
    lists = {POD.format(n): f"{cpu}-{cpu + 7}" for n, cpu in enumerate(starts, 1)}
    tasks = [
        task for n, cpu in enumerate(starts, 1)
        for task in pinned(POD.format(n), range(cpu, cpu + 8), rate if n < 7 else 12)
    ]  # fmt: skip
    return host(tree("isolated", lists, rest), tasks, **changes)


def guests(name: str = f"{VM}/libvirt") -> Machine:
    """Three guests on each node. Emulators use the node's first CPUs, with FIFO priority."""
    cgroups = tree("member", {}, "0-63")
    tasks = [Task(890, "corosync", FIFO, 99, "0-63", "/system.slice/corosync.service", 9)]
    for n, first in enumerate((8, 16, 24, 40, 48, 56)):
        place = name.format(n)
        near = "0-3" if first < 32 else "32-35"
        for inner in ("emulator", "iothread2"):
            cgroups |= {f"{ROOT}{place}/{inner}": {**FILES, "cpuset.cpus": near}}
        tasks.append(Task(800 + n, "qemu", FIFO, 1, near, f"{place}/emulator", 9))
        tasks += pinned(f"{place}/vcpu0", range(first, first + 8), tgid=5000 + n)
    return host(cgroups, tasks)


def telecom(place: str = "/system.slice/ran.service", **lists: str) -> Machine:
    """One process, whose threads use all caches."""
    tasks = [*pinned(place, range(4, 128), tgid=5000), *pinned("/ptp4l.service", [2], 20)]
    return host(tree("member", lists, "0-127"), tasks, cpus=128)


def slurm() -> Machine:
    """Two steps for each job."""
    job, jobs = "/system.slice/slurmstepd.scope/job_{}", range(1, 8)
    lists = {job.format(n): f"{8 * n}-{8 * n + 7}" for n in jobs}
    tasks = [
        task for n in jobs for cpu in (8 * n, 8 * n + 4)
        for task in pinned(f"{job.format(n)}/step_{cpu % 8}/user/task_0", range(cpu, cpu + 4))
    ]  # fmt: skip
    return host(tree("member", lists, "0-63"), tasks)


EIGHTS = "8-15 16-23 24-31 32-39 40-47 48-55"
SEVEN = f"{EIGHTS} 56-63"
VMS = "5,24-31 6,16-23 7-15 37,56-63 38,48-55 39-47"
ONE = f"/docker/{ID}"
CACHES = "4-15 16-31 32-47 48-63 64-79 80-95 96-111 112-127"
OFF = {"proc/sys/kernel/sched_rt_runtime_us": "-1\n"}
FULL = {"sys/devices/system/cpu/nohz_full": "8-63\n"}
# By kind: the host, what its cgroups are now, the CPUs of the plan's partitions, words of the page.
HOSTS = {
    "kubernetes": (seven(POD, busy=7), "member", SEVEN, "which 'crictl ps"),
    "lxc": (seven("/lxc.payload.a{0}", "/x/b.service"), "member", SEVEN, "p lxc.payload.a1 8-15  "),
    "proxmox": (seven("/qemu.slice/10{0}.scope", busy=7, has=False), "member", SEVEN, "qm set ID"),
    "watchdogs": (
        watched(),
        "member",
        SEVEN,
        "Moved: other threads of /init.scope leave",
    ),
    "overlooked": (seven(POD, release="6.8.12"), "member", SEVEN, "says so, run 'undo'"),
    "local": (seven("/r{0}.slice", "/a.service", release="6.8.12"), "member", SEVEN, "p r1.slice"),
    "slices": (old(), "member", SEVEN, "p rt1.slice 8-15  "),
    "openshift": (openshift(files=FULL), "isolated", EIGHTS, "can then use only CPUs 0-7, 8 of 64"),
    "virtqemud": (guests("/machine/qemu-{0}-vm{0}.libvirt-qemu"), "member", VMS, "on 32-35"),
    "guests": (guests(), "member", VMS, "iothreadpin vm0 2 7 --live --config && p "),
    "threaded": (seven("/a.service/w{0}", files=OFF), "member", SEVEN, "p a.service/w1 8-15  #"),
    "dedicated": (seven(f"{VM}/libvirt/vcpu0", busy=7), "member", SEVEN, "\np 'machine.slice/m"),
    "telecom": (telecom(), "-", CACHES, "cpus-4 4-15 '4 5 6 7 8 9 10 11 12 "),
    "container": (
        telecom(ONE, **{ONE: "4-127"}),
        "-",
        CACHES,
        "Moved: other threads",
    ),
    "slurm": (slurm(), "member", SEVEN, "PrologFlags=RunInJob"),
}


@pytest.mark.parametrize("name", HOSTS)
def test_a_plan_for_each_kind_of_host(capsys: Capture, tmp_path: Path, name: str) -> None:
    machine, was, cpus, words = HOSTS[name]
    page, _ = planned(capsys, tmp_path, machine)
    assert words in page
    rows = json.loads((tmp_path / "plan.json").read_text())["rows"]
    assert [(row["was"], row["cpus"]) for row in rows] == [
        (was, partition) for partition in cpus.split()
    ]
    findings = call(capsys, "doctor", tmp_path / "host.tar", "--json").json["findings"]
    assert [(finding["id"], finding["severity"]) for finding in findings] == [
        ("rd-isolated" if name == "openshift" else "rd-shared", "high")
    ]


@pytest.mark.parametrize("option", [None, pytest.param("--predict", marks=[needs_sim, simulates])])
def test_a_cost_that_no_partition_lowers(
    capsys: Capture, tmp_path: Path, option: str | None
) -> None:
    """Six pods in one cache: the stored table and --predict say that nothing helps."""
    xeon = "vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8358 CPU\n"
    machine = openshift(
        56, "0-55", 40_000, cpus=112, llc_cpus=56, node_cpus=56,
        files={"proc/cpuinfo": xeon},
    )  # fmt: skip
    archive = tar(tmp_path, machine)
    args = (option, "--limit", "5") if option else ()
    outcome = call(capsys, "doctor", archive, *args, "--plan", tmp_path / "plan.txt")
    assert outcome.status == 0
    assert "no partition would save enough" in " ".join(outcome.out.split())
    assert "def_root_domain: 7 isolated partitions\n" in outcome.out
    assert not (tmp_path / "plan.txt").exists()


def test_pods_of_a_kernel_without_remote_partitions(capsys: Capture, tmp_path: Path) -> None:
    """For pods only another kernel helps: no finding. Services can move to a slice."""
    for place, status, words in ((POD, 0, "not: boot Linux"), ("/x/a{0}.service", 4, "Slice=")):
        machine = seven(place)
        tree = {path: {key: held for key, held in files.items() if "exclusive" not in key}
                for path, files in (machine.cgroups or {}).items()}  # fmt: skip
        archive = tar(tmp_path / f"{status}", replace(machine, release="6.6.60", cgroups=tree))
        outcome = call(capsys, "doctor", archive, "--plan", tmp_path / "plan.txt")
        assert (outcome.status, words in outcome.err) == (status, True)
        assert outcome.out.startswith("No remedy found") == (status == 0)


def test_a_slice_with_cpusets_inside_before_linux_6_1(capsys: Capture, tmp_path: Path) -> None:
    inner = {f"{ROOT}/rt{n}.slice/a.service": {"cpuset.cpus": ""} for n in range(1, 8)}
    for release, words in (("6.0.9", "before Linux 6.1 the kernel makes no"), ("6.1.9", "wrote ")):
        machine = replace(old(), release=release)
        machine = replace(machine, cgroups={**(machine.cgroups or {}), **inner})
        assert words in planned(capsys, tmp_path / release, machine)[1]


def test_threads_that_are_not_pinned_get_no_plan(capsys: Capture, tmp_path: Path) -> None:
    tasks = [replace(task, allowed="8-39") for task in pinned("/a.service", range(8, 40), 40_000)]
    page, message = planned(capsys, tmp_path, host(tree("member", {}, "0-63"), tasks))
    assert (page, message.startswith("no plan: threads of /a.service may run on the")) == ("", True)
    assert "taskset" in call(capsys, "doctor", tmp_path / "host.tar").out
    two = [f"/docker/{n}{ID[1:]}" for n in (1, 2)]
    tasks = pinned(two[0], range(4, 20), 80_000)
    tasks += [replace(task, tid=task.tid + 99) for task in pinned(two[1], range(18, 34), 80_000)]
    archive = tar(tmp_path / "two", host(tree("member", {}, "0-63"), tasks))
    [finding] = call(capsys, "doctor", archive, "--json").json["findings"]
    assert f"Threads of {', '.join(two)} share CPUs: give each" in finding["remedy"]


def test_a_partition_keeps_cpus_for_its_other_threads(capsys: Capture, tmp_path: Path) -> None:
    machine = host(tree("root", {ONE: "4-63"}, "0-3"), pinned(ONE, range(4, 64), 40_000, 5000))
    page, _ = planned(capsys, tmp_path, machine)
    assert "# - CPUs 4-15: threads of /docker/" in page
    assert (page.count("\nt cpus-"), "Moved" in page) == (3, False)
    machine = seven("/rt.slice/a{0}.service")
    cgroups = {**(machine.cgroups or {}), **tree("root", {"/rt.slice": "8-63"}, "0-7")}
    page, _ = planned(capsys, tmp_path / "slice", replace(machine, cgroups=cgroups))
    assert page.count("\np a") == 7
    cgroups[f"{ROOT}/rt.slice/monitor.service"] = FILES
    page, _ = planned(capsys, tmp_path / "beside", replace(machine, cgroups=cgroups))
    assert (page.count("\np a"), "8-15: threads of /rt.slice/monitor" in page) == (6, True)


@pytest.mark.parametrize(
    ("option", "full", "said"),
    [
        ("", "", "as they are"),
        ("nohz_full=2-63", "2-63", "0-1"),
        ("systemd.cpu_affinity=0,1", "", "0-1"),
    ],
)
def test_what_the_kubelet_reserves(
    capsys: Capture, tmp_path: Path, option: str, full: str, said: str
) -> None:
    """Only boot options tell: the CPUs outside nohz_full, or those of systemd.cpu_affinity."""
    files = {"sys/devices/system/cpu/nohz_full": f"{full}\n"}
    page, _ = planned(capsys, tmp_path, seven(POD, busy=7, cmdline=option, files=files))
    assert f"PerformanceProfile) stay {said}." in page
