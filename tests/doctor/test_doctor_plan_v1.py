# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A plan for cgroup v1: separate cpusets that balance load; no step takes a CPU away."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from doctor_cli import call
from doctor_tree import FIFO, OTHER, Machine, Task
from test_doctor_plan import Capture, host

PLACE = "/sys/fs/cgroup/cpuset"
FILES = {"cpuset.cpus": "", "cpuset.mems": "", "cpuset.sched_load_balance": "1", "tasks": ""}
_MKDIR = """#!/bin/sh
/bin/mkdir "$@" || exit
for last; do :; done
: >"$last/cpuset.cpus"; : >"$last/cpuset.mems"; : >"$last/tasks"
echo 1 >"$last/cpuset.sched_load_balance"
"""
# The kernel moves a thread whose number was written, and lets it use all CPUs of its new cpuset.
_WROTE = """#!/bin/sh
printf '%s\\n' "$*" >>"$FAKE/log"
case $1 in
*/tasks)
	cgroup=${1#"$FAKE/sys/fs/cgroup/cpuset"}
	cgroup=${cgroup%/tasks}
	read -r cpus <"${1%tasks}cpuset.cpus"
	for task in "$FAKE"/proc/*/task/"$2"; do
		printf '4:cpuset:%s\\n' "${cgroup:-/}" >"$task/cgroup"
		printf 'Cpus_allowed_list:\\t%s\\n' "$cpus" >"$task/status"
	done
	: >"$1"
	;;
*/cpuset.cpus)
	# The kernel refuses that while threads are in there.
	read -r cpus <"$1"
	[ -n "$cpus" ] || printf 'empty: %s\\n' "$1" >>"$FAKE/log"
	;;
esac
"""
_TASKSET = """#!/bin/sh
for task in "$FAKE"/proc/*/task/"$4"; do
	printf 'Cpus_allowed_list:\\t%s\\n' "$3" >"$task/status"
done
"""
_RMDIR = """#!/bin/sh
for last; do :; done
rm -r -- "$last"
"""


def tasks() -> list[Task]:
    """Three groups of four threads, and threads that are not real-time."""
    found = [
        Task(100 + n, "rt", FIFO, allowed=str(4 + n), tgid=100 + n // 4 * 4, voluntary=100_000,
             cgroup=f"/machine/vm{n // 4}", controller="cpuset")
        for n in range(12)
    ]  # fmt: skip
    return [
        *found,
        Task(50, "sshd", OTHER, 0, "0-15", controller="cpuset"),
        Task(51, "pinned", OTHER, 0, "4-5", controller="cpuset"),
    ]


class Live:
    """The machine on which the scripts run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tools = root.parent / "tools"
        self.tools.mkdir()
        for name, text in (("mkdir", _MKDIR), ("wrote", _WROTE), ("taskset", _TASKSET),
                           ("rmdir", _RMDIR)):  # fmt: skip
            (self.tools / name).write_text(text)
            (self.tools / name).chmod(0o755)
        place = root / PLACE[1:]
        for path, cpus in (("", "0-15"), ("machine", "0-15")):
            (place / path).mkdir(parents=True, exist_ok=True)
            for name, value in {**FILES, "cpuset.cpus": cpus, "cpuset.mems": "0-1"}.items():
                (place / path / name).write_text(f"{value}\n")
        for number in range(3):
            (place / f"machine/vm{number}").mkdir()
            (place / f"machine/vm{number}/tasks").touch()
        for task in tasks():
            where = root / f"proc/{task.tgid or task.tid}/task/{task.tid}"
            where.mkdir(parents=True)
            (where / "stat").write_text(task.stat())
            (where / "status").write_text(f"Cpus_allowed_list:\t{task.allowed}\n")
            (where / "cgroup").write_text(f"4:cpuset:{task.cgroup}\n0::/\n")
        (root / "proc/cmdline").write_text("quiet\n")

    def run(self, script: Path) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}", "FAKE": str(self.root),
               "WROTE": str(self.tools / "wrote"), "TASKSET": str(self.tools / "taskset"),
               "PATIENCE": "0"}  # fmt: skip
        argv = ["sh", str(script), "-r", str(self.root)]
        return subprocess.run(argv, env=env, capture_output=True, text=True)

    def read(self, path: str) -> str:
        return (self.root / PLACE[1:] / path).read_text().strip()

    @property
    def balances(self) -> tuple[str, str]:
        """Whether the root cpuset and the one of the guests balance load."""
        name = "cpuset.sched_load_balance"
        return self.read(name), self.read(f"machine/{name}")

    def where(self, tid: int) -> tuple[str, str]:
        [task] = self.root.glob(f"proc/*/task/{tid}")
        cgroup = (task / "cgroup").read_text().splitlines()[0].rpartition(":")[2]
        return cgroup, (task / "status").read_text().strip().rpartition("\t")[2]


def written(capsys: Capture, tmp_path: Path, machine: Machine) -> tuple[Path, str]:
    """Write a plan, and return its folder and the words of its README.txt."""
    plan = tmp_path / "plan"
    outcome = call(capsys, "doctor", host(tmp_path, machine), "--plan", plan)
    assert "wrote the plan" in outcome.err, outcome
    return plan, " ".join((plan / "README.txt").read_text().split())


def overlapping(runtime: str) -> Machine:
    """Return a machine whose cpuset /machine overlaps all groups."""
    cgroups = {
        PLACE: {"cpuset.cpus": "0-15", "cpuset.mems": "0-1", "cpuset.sched_load_balance": "1",
                "release_agent": ""},
        f"{PLACE}/machine": {"cpuset.cpus": "0-15", "cpuset.sched_load_balance": "1"},
    }  # fmt: skip
    return Machine(
        release="4.18.0-553.el8_10.x86_64", tasks=tasks(), cgroups=cgroups,
        mounts=(f"cgroup {PLACE} cpuset",),
        files={"run/systemd/system/x": "", "proc/sys/kernel/sched_rt_runtime_us": f"{runtime}\n"},
    )  # fmt: skip


def test_threads_of_several_root_domains_need_throttling(capsys: Capture, tmp_path: Path) -> None:
    """The rest of a cpuset that overlaps groups keeps its CPUs, in several root domains.

    No thread of it is moved from one domain to another any more. With throttling it has 5% of a
    CPU even behind a real-time thread that never sleeps: the plan is safe, and warns. Without
    throttling such a thread would never run again, and with it what waits for its locks.
    """
    machine = overlapping("-1")
    busy = [replace(task, ran=1_500_000_000) for task in machine.tasks]
    archive = host(tmp_path, replace(machine, tasks=busy))
    outcome = call(capsys, "doctor", archive, "--plan", tmp_path / "plan")
    assert "no plan: CPUs 4-7: throttling is off (sched_rt_runtime_us is -1)" in outcome.err
    assert "the cpuset /machine, if it has any, might wait forever" in outcome.err
    assert "If cat tasks there shows none, write 0 to its cpuset.sched_load_balance" in outcome.err
    assert not (tmp_path / "plan").exists()
    # Threads that use little leave time for others at any throttling.
    (tmp_path / "little").mkdir()
    written(capsys, tmp_path / "little", machine)


def test_what_the_words_say_of_a_cpuset_without_threads_gives_a_plan(
    capsys: Capture, tmp_path: Path
) -> None:
    """The /machine of libvirt has no threads of its own, and guests have exactly their CPUs."""
    machine = overlapping("-1")
    busy = [replace(task, ran=1_500_000_000) for task in machine.tasks]
    cgroups = {path: dict(files) for path, files in (machine.cgroups or {}).items()}
    for number, cpus in enumerate(("4-7", "8-11", "12-15")):
        cgroups[f"{PLACE}/machine/vm{number}"] = {
            "cpuset.cpus": cpus, "cpuset.sched_load_balance": "1",
        }  # fmt: skip
    archive = host(tmp_path, replace(machine, tasks=busy, cgroups=cgroups))
    outcome = call(capsys, "doctor", archive, "--plan", tmp_path / "plan")
    assert "write 0 to its cpuset.sched_load_balance and collect again" in outcome.err
    cgroups[f"{PLACE}/machine"]["cpuset.sched_load_balance"] = "0"
    (tmp_path / "again").mkdir()
    _, said = written(capsys, tmp_path / "again", replace(machine, tasks=busy, cgroups=cgroups))
    assert all(f"/machine/vm{number}: its threads are there already" in said for number in range(3))
    assert "Left as it is" not in said


@pytest.mark.parametrize(("name", "cpus"), [("shield", "4-15"), ("system", "0-3")])
def test_an_exclusive_cpuset(capsys: Capture, tmp_path: Path, name: str, cpus: str) -> None:
    """No new cpuset may have its CPUs, be it that of a group or that of all others."""
    machine = overlapping("950000")
    more = {f"{PLACE}/{name}": {"cpuset.cpus": cpus, "cpuset.cpu_exclusive": "1"}}
    archive = host(tmp_path, replace(machine, cgroups={**(machine.cgroups or {}), **more}))
    outcome = call(capsys, "doctor", archive, "--plan", tmp_path / "plan")
    assert f"the cpuset /{name} has cpu_exclusive 1" in outcome.err
    assert f"its CPUs {cpus}: write 0 to its cpu_exclusive first" in outcome.err
    assert not (tmp_path / "plan").exists()


def test_cpus_for_other_threads_of_a_cpuset(capsys: Capture, tmp_path: Path) -> None:
    """A thread can only be pinned to CPUs of its cpuset."""
    cgroups = {PLACE: {"cpuset.cpus": "0-15", "cpuset.mems": "0-1", "release_agent": ""}} | {
        f"{PLACE}/{name}": {"cpuset.cpus": cpus, "cpuset.sched_load_balance": "1"}
        for name, cpus in (("machine", "2-11"), ("a", "4-9"), ("b", "4-11,15"), ("c", "2-11"))
    }  # fmt: skip
    hog = Task(60, "hog", FIFO, allowed="15", voluntary=1, cgroup="/$x", controller="cpuset")
    machine = Machine(
        release="4.18.0-553.el8_10.x86_64", tasks=[*tasks()[:8], hog], cgroups=cgroups,
        mounts=(f"cgroup {PLACE} cpuset",), files={"run/systemd/system/x": ""},
    )  # fmt: skip
    _, said = written(capsys, tmp_path, machine)
    assert "Other threads of /c, /machine keep CPUs of several root domains." in said
    assert "pin those that are not real-time to CPUs 2-3." in said
    # No other thread of /a and /b can use a CPU without real-time threads.
    assert "Other threads of /a, /b keep CPUs of several root domains." in said
    assert "once apply.sh has made /schedshard-rest, move those that are not real-time" in said


def test_root_domains_of_version_1(capsys: Capture, tmp_path: Path) -> None:
    plan, said = written(capsys, tmp_path, overlapping("950000"))
    assert "Other threads of /machine keep CPUs of several root domains." in said
    assert "pin those that are not real-time to CPUs 0-3." in said
    (tmp_path / "there").mkdir()
    live = Live(tmp_path / "there/live")
    done = live.run(plan / "apply.sh")
    assert done.returncode == 0, done
    assert done.stdout.count("right: ") == 3
    assert [live.read(f"schedshard{n}/cpuset.cpus") for n in range(3)] == ["4-7", "8-11", "12-15"]
    assert live.balances == ("0", "0")
    # The real-time threads alone have moved, and are pinned as before; so is what is pinned there.
    assert live.where(105) == ("/schedshard1", "9")
    assert live.where(51) == ("/", "4-5")
    assert live.where(50) == ("/schedshard-rest", "0-3")
    log = (live.root / "log").read_text().splitlines()
    assert log[-1].endswith("/cpuset/cpuset.sched_load_balance")
    # A thread has begun there since.
    (live.root / PLACE[1:] / "schedshard-rest/tasks").write_text("77\n")
    undone = live.run(plan / "undo.sh")
    assert undone.returncode == 0, undone
    log = (live.root / "log").read_text().splitlines()
    assert not [line for line in log if line.startswith("empty:")]
    assert f"{live.root / PLACE[1:]}/tasks 77" in log
    assert live.balances == ("1", "1")
    assert not list((live.root / PLACE[1:]).glob("schedshard*"))
    assert live.where(105) == ("/machine/vm1", "9")
    assert live.where(50) == ("/", "0-15")
