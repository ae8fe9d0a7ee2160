# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The scripts of a plan, step by step: what is to come, what waits, and an end at any point."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import which
from subprocess import run

import pytest

from doctor.plan.files import SCRIPTS
from doctor_tree import Machine
from fake_cgroups import FakeCgroups, fake_cgroups
from test_doctor_plan import (
    MEMBER,
    NEW_SYSTEMD,
    ROOT,
    SYSTEMD,
    Capture,
    applied,
    fact,
    planned,
    tasks,
)

pytestmark = pytest.mark.long  # scripts run on a tree like a host's


def test_a_dry_run_prints_what_is_to_come(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(
        tasks=tasks("/system.slice/app@{}.service"), files=SYSTEMD, cgroups={ROOT: MEMBER}
    )
    _, plan = planned(capsys, tmp_path, machine)
    fake = fake_cgroups(tmp_path / "live", machine)
    before = fake.everything()
    done = fake.run(plan / "apply.sh", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    count = len((plan / "steps").read_text().splitlines())
    assert len(lines) == 2 * count
    assert all(line.startswith("    then: ") for line in lines[1::2])
    assert f"1 of {count}: " in lines[0]
    text = done.stdout
    restart = text.index("systemctl restart app@1.service")
    assert text.index("/schedshard0.slice becomes a partition") < restart
    assert restart < text.index("/schedshard1.slice becomes a partition")
    assert fake.everything() == before
    assert not (plan / "found").exists()
    assert fake.run(plan / "verify.sh", "--dry-run").returncode == 2


def test_apply_asks_whether_throttling_is_on(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(
        tasks=tasks("/system.slice/app@{}.service"), files=SYSTEMD, cgroups={ROOT: MEMBER}
    )
    _, plan = planned(capsys, tmp_path, machine)
    assert fact(plan, "throttled") == "yes"
    for runtime, on in (("-1", False), ("1000000", False), ("950000", True)):
        fake = fake_cgroups(tmp_path / f"live{runtime}", machine)
        (fake.root / "free").write_text(fact(plan, "rest"))
        settings = fake.root / "proc/sys/kernel"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "sched_rt_runtime_us").write_text(f"{runtime}\n")
        (settings / "sched_rt_period_us").write_text("1000000\n")
        before = fake.everything()
        done = fake.run(plan / "apply.sh")
        assert done.returncode == (0 if on else 1), done
        assert on or f"throttling is off (sched_rt_runtime_us is {runtime})" in done.stderr
        assert (fake.everything() == before) == (not on)
        assert fake.run(plan / "undo.sh").returncode == 0


@pytest.mark.parametrize("shell", ["sh", "bash", "busybox sh"])
def test_a_number_of_the_kernel_is_read_whole(tmp_path: Path, shell: str) -> None:
    """A file of a number below /proc/sys ends after one read, of however few bytes."""
    if which(shell.split()[0]) is None:
        pytest.skip(f"no {shell} here")
    (tmp_path / "partitions").touch()
    (tmp_path / "steps").touch()
    script = 'here=$1; shift; . "$0"; content /proc/sys/kernel/pid_max; content /nowhere'
    common = SCRIPTS / "common.sh"
    done = run([*shell.split(), "-c", script, str(common), str(tmp_path)],
               capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout == Path("/proc/sys/kernel/pid_max").read_text()
    assert done.stderr == ""


def steps_by_hand(fake: FakeCgroups, plan: Path) -> None:
    """Move processes into their cgroups, as an administrator does while apply.sh waits."""
    for line in (plan / "steps").read_text().splitlines():
        kind, _, path, cpus, *_ = line.split("\t")
        if kind == "hand":
            for status in fake.root.glob("proc/[0-9]*/task/[0-9]*/status"):
                if (status.parent / "first").read_text() == cpus:
                    (status.parent / "cgroup").write_text(f"0::{path}/x.scope\n")
    fake.settle()


def test_groups_that_are_moved_by_hand_wait(capsys: Capture, tmp_path: Path) -> None:
    """Nothing takes CPUs from a group before its threads are in its cgroup."""
    machine = Machine(
        tasks=tasks("/system.slice/docker-{}.scope"), files=SYSTEMD, cgroups={ROOT: MEMBER}
    )
    _, plan = planned(capsys, tmp_path, machine)
    fake, before = applied(tmp_path, machine, plan, status=3)
    for number in range(3):
        assert fake.read(f"schedshard{number}.slice/cpuset.cpus.partition") == "member"
    steps_by_hand(fake, plan)
    done = fake.run(plan / "apply.sh")
    assert done.returncode == 0, done
    assert fake.harm == ""
    early = fake.run(plan / "undo.sh")
    assert early.returncode == 1
    assert "stop it, or start it as before the plan: /system.slice/docker-0.scope" in early.stderr
    for cgroup in fake.root.glob("proc/[0-9]*/task/[0-9]*/cgroup"):
        number = (int(cgroup.parent.name) - 100) // 4
        if int(cgroup.parent.name) >= 100:
            cgroup.write_text(f"0::/system.slice/docker-{number}.scope\n")
    fake.settle()
    assert fake.run(plan / "undo.sh").returncode == 0
    assert fake.everything() == before


@pytest.mark.parametrize("systemd", [SYSTEMD, NEW_SYSTEMD, {}], ids=["252", "261", "none"])
def test_undo_from_any_point(capsys: Capture, tmp_path: Path, systemd: Mapping[str, str]) -> None:
    """apply.sh dies at each of its changes in turn; undo.sh puts everything back."""
    machine = Machine(
        tasks=tasks("/system.slice/app@{}.service", groups=2), files=systemd,
        cgroups={ROOT: MEMBER, f"{ROOT}/system.slice": {"cpuset.cpus": "0-15"}},
    )  # fmt: skip
    _, plan = planned(capsys, tmp_path, machine)
    for number in range(100):
        fake = fake_cgroups(tmp_path / f"live{number}", machine)
        (fake.root / "free").write_text(fact(plan, "rest"))
        before = fake.everything()
        (fake.root / "die").write_text(str(number))
        done = fake.run(plan / "apply.sh")
        (fake.root / "die").unlink()
        assert fake.harm == "", number
        if done.returncode == 0:
            break
        undone = fake.run(plan / "undo.sh")
        assert undone.returncode == 0, (number, undone)
        assert fake.harm == "", number
        assert fake.everything() == before, number
    assert number >= 8


@pytest.mark.parametrize("systemd", [SYSTEMD, {}], ids=["252", "none"])
def test_a_kernel_that_forgets_affinities(
    capsys: Capture, tmp_path: Path, systemd: Mapping[str, str]
) -> None:
    """Linux 6.1 lets threads outside of a new partition run anywhere: they are pinned again."""
    machine = Machine(
        tasks=tasks("/system.slice/app@{}.service"), files=systemd, cgroups={ROOT: MEMBER}
    )
    _, plan = planned(capsys, tmp_path, machine)
    fake = fake_cgroups(tmp_path / "live", machine)
    fake.thread(90, "poller", "2", "/system.slice/poller.service")
    (fake.root / "free").write_text(fact(plan, "rest"))
    (fake.root / "forgets").touch()
    fake.settle()
    before = fake.everything()
    done = fake.run(plan / "apply.sh")
    assert (done.returncode, fake.harm) == (0, ""), done
    assert fake.cpus_of(90) == "2"
    undone = fake.run(plan / "undo.sh")
    assert (undone.returncode, fake.harm) == (0, ""), undone
    assert fake.everything() == before
