# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests in every shell what the collector keeps, what it must not keep, and how it refuses."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from doctor.collector.script import SCRIPT
from doctor_cli import call
from doctor_tree import (
    DEADLINE,
    KTHREAD,
    OTHER,
    RR,
    SHELLS,
    Machine,
    Task,
    build,
    collect,
    collected,
)  # fmt: skip

SECRET = "hunter2"


def everything(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("small"), Machine(cpus=1, llc_cpus=1, node_cpus=1))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with a thread of each kind, cgroups with odd names, and things to keep away from."""
    return build(
        tmp_path_factory.mktemp("host") / "a tree",
        Machine(
            cmdline=f"root=/dev/sda1 isolcpus=domain,8-11 nohz_full=8-11 password={SECRET} quiet",
            config=("CONFIG_SMP=y", "# CONFIG_RT_GROUP_SCHED is not set",
                    f'CONFIG_DEFAULT_HOSTNAME="{SECRET}"'),
            isolated="8-11",
            cgroups={
                "/sys/fs/cgroup": {"cpuset.cpus.effective": "0-15", "cpuset.cpus.isolated": ""},
                "/sys/fs/cgroup/a b:c*": {
                    "cpuset.cpus": "4-7",
                    "cpuset.cpus.partition": "root invalid (Cpu list in cpuset.cpus not exclusive)",
                },
                "/sys/fs/cgroup/a b:c*/d\\x2de": {"cpuset.cpus": ""},
            },
            tasks=(
                Task(100, "odd) R (name", RR, 7, "4-7", "/a b:c*", 40, 2),
                Task(101, "two\nlines", priority=3, tgid=100, cgroup="/a b:c*"),
                Task(102, "dl", DEADLINE, 0),
                Task(103, "psimon", priority=1, flags=KTHREAD),
                Task(104, "plain", OTHER, 0, "0-3"),
            ),
            files={
                "proc/100/cmdline": SECRET,
                "proc/100/environ": SECRET,
                "proc/sys/kernel/hostname": SECRET,
                "proc/version": f"Linux ({SECRET}@{SECRET})",
                "proc/sys/kernel/sched_rt_runtime_us": "950000\n",
                "proc/cpuinfo": "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor sse\n",
                "sys/kernel/debug/sched/features": "GENTLE_FAIR_SLEEPERS RT_PUSH_IPI\n",
            },
        ),
    )  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_collects_the_same(machine: Path, tmp_path: Path, shell: str) -> None:
    lists = everything(collected(tmp_path / "here", machine, shell=shell))
    assert lists["format"] == "schedshard-doctor 1\n"
    threads = sorted(lists["threads"].splitlines())
    assert "100 100 2 7 0 0 odd) R (name" in threads
    assert "100 101 1 3 0 0 lines" in threads
    assert "102 102 6 0 0 0 dl" in threads
    assert f"103 103 1 1 {KTHREAD} 0 psimon" in threads
    assert len(threads) == 4 + 16
    assert lists["cmdline"] == "isolcpus=domain,8-11\nnohz_full=8-11\n"
    assert lists["config"] == "CONFIG_SMP=y\n# CONFIG_RT_GROUP_SCHED is not set\n"
    assert "100/task/100/status:Cpus_allowed_list:\t4-7" in lists["places"]
    assert "100/task/100/cgroup:0::/a b:c*" in lists["places"]
    assert "100/task/100/status:voluntary_ctxt_switches:\t40" in lists["reading-2"]
    partition = "sys/fs/cgroup/a b:c*/cpuset.cpus.partition:root invalid (Cpu list"
    assert partition in lists["cgroups"]
    assert "sys/fs/cgroup/a b:c*/d\\x2de/cpuset.cpus:\n" in lists["cgroups"]
    assert "sys/devices/system/cpu/isolated:8-11\n" in lists["cpus"]
    assert "sys/devices/system/cpu/cpu15/cache/index2/shared_cpu_list:12-15\n" in lists["cpus"]
    assert "proc/cpuinfo:hypervisor : yes" in lists["settings"]
    assert "RT_PUSH_IPI" in lists["settings"]
    assert "proc/sys/kernel/sched_rt_runtime_us:950000" in lists["settings"]


def test_keeps_no_secrets_and_no_owner(machine: Path, tmp_path: Path) -> None:
    out = tmp_path / "host.tar"
    done = collect(machine, "-o", out)
    assert done.returncode == 0
    with tarfile.open(out) as made:
        members = made.getmembers()
        assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {
            (0, 0, "", "")
        }
        assert all(member.isfile() for member in members)
        contents = [made.extractfile(member) for member in members]
        assert all(SECRET.encode() not in file.read() for file in contents if file is not None)
    assert SECRET.encode() not in out.read_bytes()


@pytest.mark.parametrize("shell", SHELLS)
def test_tar_is_what_the_directory_holds(machine: Path, tmp_path: Path, shell: str) -> None:
    here = collected(tmp_path / "here", machine, shell=shell)
    out = tmp_path / "host.tar.gz"
    assert collect(machine, "-o", out, shell=shell).returncode == 0
    with tarfile.open(out, "r:gz") as made:
        held = {}
        for member in made:
            file = made.extractfile(member)
            assert file is not None
            held[member.name] = file.read().decode()
    assert held == {f"schedshard-doctor/{name}": text for name, text in everything(here).items()}
    listed = subprocess.run(["tar", "-tzf", str(out)], capture_output=True, text=True, check=True)
    assert len(listed.stdout.splitlines()) == len(held)


def test_many_threads_start_few_programs(tmp_path: Path) -> None:
    counter = tmp_path / "bin"
    counter.mkdir()
    grep = shutil.which("grep")
    (counter / "grep").write_text(f'#!/bin/sh\necho >>"{tmp_path}/calls"\nexec {grep} "$@"\n')
    (counter / "grep").chmod(0o755)
    tasks = [Task(1000 + n, "w", tgid=1000 + n // 4 * 4) for n in range(500)]
    tree = build(tmp_path / "root", Machine(tasks=tasks))
    here = tmp_path / "here"
    here.mkdir()
    path = f"{counter}:{os.environ['PATH']}"
    argv = ["sh", str(SCRIPT), "-r", str(tree), "-R", str(tree), "-d", str(here)]
    subprocess.run(argv, check=True, env={"PATH": path})
    assert len((here / "threads").read_text().splitlines()) == 500 + 16
    calls = len((tmp_path / "calls").read_text().splitlines())
    assert calls < 60, calls


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("-s", "x"), "-s x"),
        (("-s", "601"), "at most 600"),
        (("-q",), "usage"),
        (("extra",), "unexpected argument 'extra'"),
        (("-o", "a", "-d", "b"), "exclude each other"),
        (("-d", "nowhere"), "no such directory"),
    ],
)
def test_refuses_in_words(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...], word: str,
) -> None:  # fmt: skip
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    done = collect(small, *arguments)
    assert done.returncode == 2
    assert word in done.stderr.splitlines()[-1]
    assert list(empty.iterdir()) == []


def test_overwrites_nothing(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "host.tar"
    out.write_text("mine")
    done = collect(small, "-o", out)
    assert done.returncode == 2
    assert "exists" in done.stderr
    assert out.read_text() == "mine"


@pytest.mark.parametrize("target", ["mine", "nothing"])
def test_writes_through_no_link(small: Path, tmp_path: Path, target: str) -> None:
    """The link may lead to a file or to a path that does not exist."""
    (tmp_path / "mine").write_text("mine")
    here = tmp_path / "here"
    here.mkdir()
    for link, arguments, word in (
        (tmp_path / "host.tar", ("-o", tmp_path / "host.tar"), "exists"),
        (here / "threads", ("-d", here), "not empty"),
        (here / ".hidden", ("-d", here), "not empty"),
    ):
        link.symlink_to(tmp_path / target)
        done = collect(small, *arguments)
        assert (done.returncode, word in done.stderr) == (2, True), done.stderr
        assert link.is_symlink()
        link.unlink()
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "nothing").exists()
    # One that appears after the look is not written through, either.
    text = SCRIPT.read_text().replace('if [ -e "$out" ] || [ -h "$out" ]; then', "if false; then")
    script = tmp_path / "collect.sh"
    script.write_text(text)
    (tmp_path / "host.tar").symlink_to(tmp_path / target)
    done = subprocess.run(
        ["sh", script, "-r", small, "-R", small, "-o", tmp_path / "host.tar"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert (tmp_path / "host.tar").is_symlink()
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "nothing").exists()


def test_an_empty_machine_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "root/proc").mkdir(parents=True)
    assert everything(collected(tmp_path / "here", tmp_path / "root"))["threads"] == ""


def test_command_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "doctor", "collect")
    assert outcome.status == 0
    first, last = SCRIPT.read_text().split("# PSEUDONYMS\n")
    assert outcome.out.startswith(first)
    assert outcome.out.endswith(last)
    assert "\npseudonyms() {\n" in outcome.out


@pytest.mark.parametrize("shell", SHELLS)
def test_a_list_that_ends_with_a_null_byte(tmp_path: Path, shell: str) -> None:
    tree = build(tmp_path / "tree", Machine(cpus=4, llc_cpus=2))
    for cpu, shared in ((0, b"0-1"), (1, b"0-1")):
        cache = tree / f"sys/devices/system/cpu/cpu{cpu}/cache/index2/shared_cpu_list"
        cache.write_bytes(shared + b"\n\0")
    cpus = (collected(tmp_path / "lists", tree, shell=shell) / "cpus").read_bytes()
    assert b"\0" not in cpus
    for cpu in (0, 1):
        name = f"sys/devices/system/cpu/cpu{cpu}/cache/index2/shared_cpu_list:0-1\n"
        assert name.encode() in cpus
