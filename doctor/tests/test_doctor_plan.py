# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A plan is one page of commands for existing cgroups, or one sentence that says why not."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from doctor_cli import assert_refused, call
from doctor_tree import Machine, Task, tar

ROOT = "/sys/fs/cgroup"
FILES = {"cpuset.cpus": "", "cpuset.cpus.partition": "member", "cpuset.cpus.exclusive": ""}
Capture = pytest.CaptureFixture[str]


def tasks_of(places: list[str], first: int = 4, tgid: int | None = None) -> list[Task]:
    """Four threads for each place, each pinned to one CPU, that wake up often."""
    return [
        Task(
            100 + cpu, "rt", allowed=str(cpu), cgroup=place, voluntary=1_000_000,
            tgid=tgid or 100 + cpu,
        )
        for number, place in enumerate(places)
        for cpu in range(first + 4 * number, first + 4 * number + 4)
    ]  # fmt: skip


def planned(capsys: Capture, tmp_path: Path, machine: Machine) -> tuple[str, str]:
    """Return the page, "" if there is none, and what was said on stderr."""
    page = tmp_path / "plan.txt"
    outcome = call(capsys, "doctor", tar(tmp_path, machine), "--plan", page)
    assert outcome.status in (0, 3, 4)
    assert outcome.out
    if not page.exists():
        return "", outcome.err
    assert subprocess.run(["sh", "-n", page]).returncode == 0
    return page.read_text(), outcome.err


def services(number: int) -> Machine:
    places = [f"/system.slice/a{n}.service" for n in range(number)]
    tree = {ROOT: {"cpuset.cpus.effective": "0-15"}, f"{ROOT}/system.slice": FILES}
    return Machine(tasks=tasks_of(places), cgroups=tree)


def test_services_become_partitions_where_they_are(capsys: Capture, tmp_path: Path) -> None:
    page, _ = planned(capsys, tmp_path, services(3))
    assert [line for line in page.split("\n") if line.startswith("p system")] == [
        f"p system.slice/a{n}.service {4 + 4 * n}-{7 + 4 * n}  # member -> root, 4 threads, "
        "2,000,000/s"
        for n in range(3)
    ]
    for words in (
        "waits on the partitions' own CPUs, 4-15.", "At twice the wake-ups it would cost",
        "all other tasks can then use only CPUs 0-3, 4 of 16",
        "The plan holds while these cgroups live",
        "schedshard's series, which needs no partition and leaves ", "- service: systemd",
    ):  # fmt: skip
        assert words in page
    cores = planned(capsys, tmp_path / "cores", replace(services(3), llc_cpus=1))[0]
    assert cores.count("\np system") == 3
    unknown = tuple(f"sys/devices/system/cpu/cpu{cpu}/cache" for cpu in range(16))
    for name, machine in (
        ("none", replace(services(3), hidden=unknown)),
        # A service that fits into a cache is not cut where caches meet.
        ("meet", replace(services(3), llc_cpus=6, node_cpus=16)),
    ):
        assert planned(capsys, tmp_path / name, machine)[0].count("\np system") == 3


def test_threads_of_one_process_are_cut_by_cache(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(tasks=tasks_of(["/system.slice/a.service"] * 3, tgid=100))
    page, _ = planned(capsys, tmp_path, machine)
    assert "t system.slice/a.service/cpus-4 4-7 '4 5 6 7'  # - -> root" in page
    old = replace(machine, release="6.1.0", cgroups={ROOT: {"cpuset.cpus.effective": "0-15"}})
    page, message = planned(capsys, tmp_path / "old", old)
    assert (page, "/system.slice/a.service/cpus-4 does not" in message) == ("", True)
    inner = {f"{ROOT}/system.slice/a.service/sub": {"cgroup.type": "domain"}}
    machine = replace(machine, cgroups={ROOT: {"cpuset.cpus.effective": "0-15"}, **inner})
    page, message = planned(capsys, tmp_path / "inner", machine)
    assert (page, "no threaded cgroup beside /system.slice/a.service/sub," in message) == ("", True)


def test_lines_are_undone_by_hand(capsys: Capture, tmp_path: Path) -> None:
    """The lines run on ordinary files, which keep the last text written."""
    page, _ = planned(capsys, tmp_path, services(3))
    for place in ("", "/a0.service", "/a1.service", "/a2.service"):
        folder = tmp_path / f"tree/system.slice{place}"
        folder.mkdir(parents=True)
        (folder / "cpuset.cpus.exclusive").write_text("")
    text = page.replace(f"cd {ROOT}", f"cd {tmp_path}/tree")
    for service in ("a1", "a0", "a2"):
        text += f"tail */cpuset.cpus.exclusive; u system.slice/{service}.service\n"
    text += "tail */cpuset.cpus.exclusive; tail */a*/cpuset.cpus.*"
    done = subprocess.run(["sh", "-c", text], check=True, capture_output=True, text=True)
    root, *lists = done.stdout.split("root\n" * 3)[1].split("\n")
    assert [root, *lists[:3]] == [",4-7,8-11,12-15", ",4-7,12-15,", ",12-15,", ","]
    assert lists[3:].count("member") == 3
    assert not any(line[:1].isdigit() for line in lists[3:])


def test_one_cache_stays_where_every_cpu_has_threads(capsys: Capture, tmp_path: Path) -> None:
    places = [f"/system.slice/a{n}.service" for n in range(4)]
    machine = Machine(tasks=tasks_of(places, first=0))
    page, _ = planned(capsys, tmp_path, machine)
    assert page.count("\np system") == 3
    assert "so that real-time threads lose 4 of 16" in page
    whole = Machine(tasks=tasks_of(places, first=0), llc_cpus=16, node_cpus=16)
    assert planned(capsys, tmp_path / "whole", whole)[0].count("\np system") == 3
    off = replace(machine, files={"proc/sys/kernel/sched_rt_runtime_us": "-1\n"})
    page, message = planned(capsys, tmp_path / "off", off)
    assert not page
    assert "sched_rt_runtime_us is -1" in message
    finding = call(capsys, "doctor", tmp_path / "off/host.tar", "--json").json["findings"][0]
    assert "possible now: CPUs 0-3: sched_rt_runtime_us" in finding["remedy"]
    assert "--plan" not in finding["command"]


def test_an_emulator_gets_a_free_cpu_of_its_guests_node(capsys: Capture, tmp_path: Path) -> None:
    places = [
        f"/machine.slice/machine-qemu\\x2d{n}\\x2dvm{n}.scope/libvirt/vcpu0" for n in (0, 1, 2)
    ]
    tasks = tasks_of([places[0]], 2) + tasks_of(places[1:], 8)
    machine = Machine(cpus=18, node_cpus=6, llc_cpus=2, tasks=tasks)
    page, _ = planned(capsys, tmp_path, machine)
    assert "virsh emulatorpin vm0 1 --live --config && p 'machine.slice" in page
    assert "emulatorpin vm1 7 " in page
    assert page.count(", emulator was on 0-17\n") == 3
    assert "emulatorpin vm2 16 " in page
    two = tasks_of(places[:2], 8)
    polled = Machine(node_cpus=16, isolated="4-15", cmdline="isolcpus=4-15", tasks=two)
    page, _ = planned(capsys, tmp_path / "polled", polled)
    assert ("emulatorpin vm0 3 " in page, "leave only 4-7 in the list of isolcpus=" in page) == (
        True,
        True,
    )
    pmd = {**FILES, "cpuset.cpus": "3", "cpuset.cpus.partition": "isolated"}
    busy = {ROOT: {"cpuset.cpus.effective": "0-2,4-15"}, f"{ROOT}/pmd.slice": pmd}
    page, _ = planned(capsys, tmp_path / "pmd", replace(polled, cgroups=busy))
    assert "emulatorpin vm0 2 " in page
    lists = {places[0]: "2-5", places[0].replace("vcpu0", "emulator"): "0-1,6-7"}
    tree = {f"{ROOT}{place}": {**FILES, "cpuset.cpus": cpus} for place, cpus in lists.items()}
    few = replace(machine, cgroups={ROOT: {"cpuset.cpus.effective": "0-17"}, **tree})
    page, _ = planned(capsys, tmp_path / "few", few)
    assert "virsh emulatorpin vm0 1 --live --config && p 'machine.slice" in page
    page, _ = planned(capsys, tmp_path / "full", Machine(tasks=tasks_of(places)))
    assert page.count("\nvirsh emulatorpin") == 2
    assert "none is free" in page
    finding = call(capsys, "doctor", tmp_path / "full/host.tar", "--json").json["findings"][0]
    assert "The plan saves 67% of what partitions could" in finding["remedy"]


def test_a_cgroup_that_would_lose_its_last_cpu(capsys: Capture, tmp_path: Path) -> None:
    machine = services(3)
    tree = {**(machine.cgroups or {}), f"{ROOT}/user.slice": {**FILES, "cpuset.cpus": "4-7"}}
    page, _ = planned(capsys, tmp_path, replace(machine, cgroups=tree))
    assert "a0.service" not in page
    assert "threads of /user.slice have no other CPU" in page


def test_isolated_partitions_become_root(capsys: Capture, tmp_path: Path) -> None:
    machine = services(3)
    tree = {ROOT: {"cpuset.cpus.effective": "0-3"}} | {
        f"{ROOT}/a{n}.slice": {
            **FILES, "cpuset.cpus": f"{4 + 4 * n}-{7 + 4 * n}", "cpuset.cpus.partition": "isolated",
        }
        for n in range(3)
    }  # fmt: skip
    tasks = tasks_of([f"/a{n}.slice/x.service" for n in range(3)])
    boot = "isolcpus=managed_irq,domain,8-15"
    page, _ = planned(capsys, tmp_path, replace(machine, tasks=tasks, cgroups=tree))
    assert page.count("echo root >a") == 3
    assert ("'echo isolated' undoes" in page, "p()" in page) == (True, False)
    isolated = replace(services(3), isolated="8-15", cmdline=boot)
    page, _ = planned(capsys, tmp_path / "boot", isolated)
    assert f"take domain out of the flags of {boot}. Then boot and " in page


def test_hostile_names_are_in_no_command(capsys: Capture, tmp_path: Path) -> None:
    places = ["/system.slice/a';touch x;'.service", "/system.slice/b.service", "/c.service"]
    page, _ = planned(capsys, tmp_path, Machine(tasks=tasks_of(places)))
    assert not [line for line in page.split("\n") if "touch" in line and line[:1] != "#"]
    assert page.count("\np ") == 2


def test_no_plan_is_one_sentence(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "quiet").mkdir()
    first = Machine(
        tasks=tasks_of(["/a", "/b", "/c"]), mounts=("cgroup /sys/fs/cgroup/cpuset cpuset",),
        cgroups={f"{ROOT}/cpuset": {"cpuset.cpus": "0-15", "cpuset.sched_load_balance": "1"}},
    )  # fmt: skip
    page, message = planned(capsys, tmp_path / "v1", first)
    assert (page, "A container that is made later" in message) == ("", True)
    older = [tmp_path / "quiet" / name for name in ("plan.txt", "plan.json")]
    planned(capsys, tmp_path, services(3))
    for path in older:
        (tmp_path / path.name).rename(path)
    page, message = planned(capsys, tmp_path / "quiet", Machine())
    assert (page, message.startswith("no plan: ")) == ("", True)
    assert not any(path.exists() for path in older)


def test_more_partitions_than_anybody_reviews(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doctor.plan.plan.MOST", 2)
    page, message = planned(capsys, tmp_path, services(3))
    assert (page, "3 partitions are more than a person can review (2)" in message) == ("", True)


def test_a_plan_replaces_plans_only(capsys: Capture, tmp_path: Path) -> None:
    planned(capsys, tmp_path, services(3))
    page, data, host = (tmp_path / name for name in ("plan.txt", "plan.json", "host.tar"))
    for path in (page, data):
        kept = path.rename(tmp_path / "kept")
        for text in ("", "# 3 partitions of mine", '{"format": "other"}'):
            path.write_text(text)
            before = page.read_bytes(), data.read_bytes()
            assert_refused(call(capsys, "doctor", host, "--plan", page), f"{path} exists")
            assert (page.read_bytes(), data.read_bytes()) == before
        path.unlink()
        path.symlink_to(kept)
        assert_refused(call(capsys, "doctor", host, "--plan", page), f"{path} exists")
        kept.rename(path)
    assert_refused(call(capsys, "doctor", host, "--plan", "/dev/null"), "/dev/null exists")
    assert call(capsys, "doctor", host, "--plan", page).status == 4
