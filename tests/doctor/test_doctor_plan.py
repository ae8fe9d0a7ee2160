# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plans: which partitions, the files, and the scripts on a tree that behaves like cgroups."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import UserError
from doctor.facts.archive import read_directory
from doctor.facts.domains import root_domains
from doctor.facts.facts import Facts, read_facts
from doctor.facts.load import domain_loads
from doctor.plan.files import SCRIPTS, plan_files, write_plan
from doctor.plan.plan import Plan, make_plan
from doctor_cli import Outcome, assert_refused, call
from doctor_tree import Machine, Task, build, collect
from fake_cgroups import FakeCgroups, fake_cgroups

pytestmark = pytest.mark.long  # scripts run on a tree like a host's

Capture = pytest.CaptureFixture[str]
ROOT = "/sys/fs/cgroup"
SYSTEMD = {"run/systemd/system/x": "", "usr/lib/systemd/libsystemd-shared-252.so": ""}
NEW_SYSTEMD = {"run/systemd/system/x": "", "usr/lib/systemd/libsystemd-shared-261.1-2.so": ""}
MEMBER = {"cpuset.cpus.effective": "0-15"}


def tasks(cgroup: str = "/", first: int = 4, groups: int = 3, rate: int = 80_000) -> list[Task]:
    """Groups of four threads, each a process that is pinned to its four CPUs."""
    return [
        Task(
            100 + n, f"rt{n}", allowed=f"{first + n // 4 * 4}-{first + n // 4 * 4 + 3}",
            tgid=100 + n // 4 * 4, voluntary=rate * 2 + n // 4, cgroup=cgroup.format(n // 4),
        )
        for n in range(groups * 4)
    ]  # fmt: skip


def host(tmp_path: Path, machine: Machine) -> Path:
    """Collect a machine on which no thread has slept at the first reading."""
    tasks = [replace(task, voluntary=0, ran=0) for task in machine.tasks]
    early = replace(machine, tasks=tasks)
    build(tmp_path / "early", early)
    build(tmp_path / "late", replace(machine, uptime=machine.uptime + 2))
    out = tmp_path / "host.tar"
    done = collect(tmp_path / "early", "-o", out, second=tmp_path / "late")
    assert done.returncode == 0, done.stderr
    return out


def facts_of(tmp_path: Path, machine: Machine) -> Facts:
    root = build(tmp_path / "tree", machine)
    lists = tmp_path / "lists"
    lists.mkdir()
    assert collect(root, "-d", lists, "-s", "0").returncode == 0
    return read_facts(read_directory(lists), "host")


def plan_for(facts: Facts) -> Plan:
    domains = root_domains(facts)
    return make_plan(facts, domains, domain_loads(facts, domains))


def planned(capsys: Capture, tmp_path: Path, machine: Machine) -> tuple[Outcome, Path]:
    """Make a plan from the collected tar file alone."""
    plan = tmp_path / "plan"
    return call(capsys, "doctor", host(tmp_path, machine), "--plan", plan), plan


def partitions(plan: Path) -> dict[str, str]:
    lines = (plan / "partitions").read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    return {row[1]: row[2] for row in rows if row[0] == "partition"}


def fact(plan: Path, name: str) -> str:
    lines = (plan / "partitions").read_text().splitlines()
    return next(line.partition("\t")[2] for line in lines if line.startswith(f"{name}\t"))


def applied(
    tmp_path: Path, machine: Machine, plan: Path, status: int = 0, shell: str = "sh"
) -> tuple[FakeCgroups, Mapping[str, str]]:
    """Apply a plan; no step may take a CPU from a real-time thread, or crowd other threads."""
    fake = fake_cgroups(tmp_path / "live", machine)
    (fake.root / "free").write_text(fact(plan, "rest"))
    before = fake.everything()
    done = fake.run(plan / "apply.sh", shell=shell)
    assert done.returncode == status, done
    assert fake.harm == ""
    return fake, before


@pytest.mark.parametrize("shell", ["sh", "busybox sh", "bash --posix"])
def test_without_systemd(capsys: Capture, tmp_path: Path, shell: str) -> None:
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"no {shell}")
    machine = Machine(
        tasks=tasks(), cgroups={ROOT: MEMBER, f"{ROOT}/other": {"cpuset.cpus": "0-5"}}
    )
    outcome, plan = planned(capsys, tmp_path, machine)
    assert outcome.status == 4
    assert outcome.err == f"wrote the plan to {plan}: read {plan / 'README.txt'} first\n"
    assert partitions(plan) == {
        "/schedshard0": "4-7", "/schedshard1": "8-11", "/schedshard2": "12-15"
    }  # fmt: skip
    assert not (plan / "units").exists()
    # Busybox would run its own mkdir and rmdir instead of the stand-ins.
    other = shell if shell != "busybox sh" else "sh"
    fake, before = applied(tmp_path, machine, plan, shell=other)
    assert fake.read("schedshard1/cpuset.cpus") == "8-11"
    assert fake.read("schedshard1/cgroup.procs") == "104"
    assert fake.read("other/cpuset.cpus") == "0-3"
    done = fake.run(plan / "verify.sh", shell=shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("right: ") == 4
    undone = fake.run(plan / "undo.sh", shell=other)
    assert (undone.returncode, undone.stderr) == (0, "")
    assert fake.everything() == before
    assert sorted(path.name for path in plan.iterdir()) == sorted(
        [
            "README.txt",
            "partitions",
            "steps",
            *(path.name for path in Path(str(SCRIPTS)).glob("*.sh")),
        ]
    )


def test_undo_waits_for_what_still_runs(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(tasks=tasks(), cgroups={ROOT: MEMBER})
    _, plan = planned(capsys, tmp_path, machine)
    fake, before = applied(tmp_path, machine, plan)
    fake.thread(900, "another", "8-11", "/schedshard1")
    fake.settle()
    done = fake.run(plan / "undo.sh")
    assert done.returncode == 1
    assert "processes still run in /schedshard1" in done.stderr
    # The cgroup is a member with its CPUs: a process that restarts in it can use them.
    assert fake.read("schedshard1/cpuset.cpus.partition") == "member"
    assert fake.read("schedshard1/cpuset.cpus") == "8-11"
    shutil.rmtree(fake.root / "proc/900")
    fake.settle()
    assert fake.run(plan / "undo.sh").returncode == 0
    assert fake.everything() == before
    assert "nothing to undo" in fake.run(plan / "undo.sh").stdout


NO_SETAFFINITY = 0x4000000


def test_threads_get_their_cpus_back(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(tasks=tasks(), cgroups={ROOT: MEMBER})
    _, plan = planned(capsys, tmp_path, machine)
    fake = fake_cgroups(tmp_path / "live", machine)
    fake.boot("first")
    fake.thread(7, "kswapd0", "0-7")
    fake.thread(8, "a) S (b", "2-5,9", "/system.slice/pinned.service")
    fake.thread(9, "gone", "2")
    fake.thread(10, "kworker/0:1", "0", flags=NO_SETAFFINITY)
    fake.thread(11, "everywhere", "0-15")
    assert fake.run(plan / "apply.sh").returncode == 0
    # The kernel takes CPUs from these threads, and lets them use all CPUs when the partitions end.
    for number, name in ((7, "kswapd0"), (10, "kworker/0:1"), (11, "everywhere")):
        fake.thread(number, name, "0-15", flags=NO_SETAFFINITY if number == 10 else 0)
    fake.thread(8, "a) S (b", "0-15", "/system.slice/pinned.service")
    fake.thread(9, "another", "0-15", start=99999)
    undone = fake.run(plan / "undo.sh")
    assert (undone.returncode, undone.stderr) == (0, "")
    assert undone.stdout.startswith("everything is as")
    found = {number: fake.cpus_of(number) for number in (7, 8, 9, 10, 11)}
    assert found == {7: "0-7", 8: "2-5,9", 9: "0-15", 10: "0-15", 11: "0-15"}
    assert not (plan / "affinities").exists()


def test_after_a_boot_threads_are_known_by_name_and_cgroup(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(
        tasks=tasks("/system.slice/app@{}.service"), files=SYSTEMD, cgroups={ROOT: MEMBER}
    )
    _, plan = planned(capsys, tmp_path, machine)
    fake = fake_cgroups(tmp_path / "live", machine)
    fake.boot("first")
    fake.thread(7, "kswapd0", "0-7")
    fake.thread(8, "pinned", "2-5,9", "/a.service")
    fake.thread(9, "chose", "4", "/b.service")
    fake.thread(20, "pool", "1", "/c.service")
    fake.thread(21, "pool", "2", "/c.service")
    assert fake.run(plan / "apply.sh").returncode == 0
    fake.boot("second")
    fake.thread(7, "another", "0-15", "/a.service")
    fake.thread(107, "kswapd0", "0-15")
    fake.thread(108, "pinned", "0-15", "/a.service")
    fake.thread(109, "chose", "12", "/b.service")
    fake.thread(120, "pool", "0-15", "/c.service")
    # A second apply does not forget the original state.
    again = fake.run(plan / "apply.sh")
    assert again.returncode == 0, again
    assert again.stdout.count("already in force") == 3
    undone = fake.run(plan / "undo.sh")
    assert undone.returncode == 0
    assert undone.stderr == (
        "undo.sh: restart /c.service: its threads 'pool' were pinned, and may run anywhere now\n"
    )
    assert undone.stdout.endswith("everything else is as apply.sh found it\n")
    found = {number: fake.cpus_of(number) for number in (7, 107, 108, 109, 120)}
    assert found == {7: "0-15", 107: "0-7", 108: "2-5,9", 109: "12", 120: "0-15"}


def test_nothing_is_applied_without_taskset(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(tasks=tasks(), cgroups={ROOT: MEMBER})
    _, plan = planned(capsys, tmp_path, machine)
    fake = fake_cgroups(tmp_path / "live", machine)
    (fake.tools / "taskset").unlink()
    before = fake.everything()
    done = fake.run(plan / "apply.sh")
    assert done.returncode == 1
    assert "taskset is missing" in done.stderr
    assert fake.everything() == before


def test_with_systemd(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(
        tasks=tasks("/system.slice/app@{}.service"), files=SYSTEMD,
        cgroups={ROOT: MEMBER, f"{ROOT}/system.slice": {"cpuset.cpus": "0-15", "cpuset.mems": "1"}},
    )  # fmt: skip
    outcome, plan = planned(capsys, tmp_path, machine)
    assert outcome.status == 4
    units = plan / "units"
    assert "AllowedMemoryNodes=1\n" in (units / "schedshard0.slice").read_text()
    drop_in = "[Service]\nSlice=schedshard2.slice\n"
    assert (units / "app@2.service.d/50-schedshard.conf").read_text() == drop_in
    assert "apply.sh restarts app@2.service" in (plan / "README.txt").read_text()
    fake, before = applied(tmp_path, machine, plan)
    assert fake.read("system.slice/cpuset.cpus") == "0-3"
    verified = fake.run(plan / "verify.sh")
    assert verified.returncode == 0, verified.stdout
    log = (fake.root / "systemctl.log").read_text().splitlines()
    assert log[0] == "daemon-reload"
    restarted = [line for line in log if line.startswith("restart ")]
    assert restarted == [f"restart -- app@{n}.service" for n in range(3)]
    for n in range(3):
        # Each group is in force before the next one is touched.
        service = f"schedshard{n}-partition.service"
        assert log.index(restarted[n]) < log.index(f"enable -- {service}")
        assert n == 2 or log.index(f"enable -- {service}") < log.index(restarted[n + 1])
    assert fake.run(plan / "undo.sh").returncode == 0
    assert fake.everything() == before


def test_services_that_the_plan_keeps_from_starting_are_named(
    capsys: Capture, tmp_path: Path
) -> None:
    """Linux 7.2 refuses CPUs of a partition to tasks outside; systemd then ends with status 215."""
    machine = Machine(
        tasks=tasks("/system.slice/app@{}.service"), files=SYSTEMD, cgroups={ROOT: MEMBER}
    )
    _, plan = planned(capsys, tmp_path, machine)
    assert "does not start while they are in force" in " ".join(
        (plan / "README.txt").read_text().split()
    )
    fake, before = applied(tmp_path, machine, plan)
    (fake.root / "failed").write_text("pinned.service 215\nbroken.service 1\n")
    verified = fake.run(plan / "verify.sh")
    assert verified.returncode == 0
    notes = [line for line in verified.stdout.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: pinned.service did not start: let its CPUAffinity= name some of CPUs 0-3"
    ]
    undone = fake.run(plan / "undo.sh")
    assert undone.returncode == 0
    assert undone.stderr.splitlines() == [
        "undo.sh: a partition kept it from starting: systemctl start pinned.service"
    ]
    assert undone.stdout.splitlines()[-1] == "everything else is as apply.sh found it"
    (fake.root / "failed").unlink()
    assert fake.everything() == before


def test_units_are_valid(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(
        tasks=tasks("/system.slice/a\\x2db{}.service"), files=SYSTEMD, cgroups={ROOT: MEMBER}
    )
    _, plan = planned(capsys, tmp_path, machine)
    units = sorted((plan / "units").glob("*.s*e"))
    assert units[0].name == "schedshard0-partition.service"
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_newer_systemd_makes_the_partitions(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(tasks=tasks(), files=NEW_SYSTEMD, cgroups={ROOT: MEMBER})
    _, plan = planned(capsys, tmp_path, machine)
    drop_in = plan / "units/schedshard0.slice.d/50-schedshard.conf"
    assert drop_in.read_text() == "[Slice]\nCPUSetPartition=root\n"
    # The slice is a member until its threads are in it.
    assert "CPUSetPartition" not in (plan / "units/schedshard0.slice").read_text()
    assert not list((plan / "units").glob("*-partition.service"))


def test_isolated_partitions_become_root_ones(capsys: Capture, tmp_path: Path) -> None:
    isolated = {"cpuset.cpus.partition": "isolated"}
    machine = Machine(
        tasks=tasks("/app{}"),
        cgroups={ROOT: {"cpuset.cpus.effective": "0-3"}} | {
            f"{ROOT}/app{n}": {**isolated, "cpuset.cpus": f"{4 + n * 4}-{7 + n * 4}"}
            for n in range(3)
        },
    )  # fmt: skip
    _, plan = planned(capsys, tmp_path, machine)
    assert partitions(plan) == {"/app0": "4-7", "/app1": "8-11", "/app2": "12-15"}
    fake, before = applied(tmp_path, machine, plan)
    assert fake.read("app1/cpuset.cpus.partition") == "root"
    assert fake.run(plan / "verify.sh").returncode == 0
    assert fake.run(plan / "undo.sh").returncode == 0
    assert fake.everything() == before
    assert fake.read("app1/cpuset.cpus.partition") == "isolated"


def test_verify_tells_what_the_kernel_refused(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(tasks=tasks(), cgroups={ROOT: MEMBER})
    _, plan = planned(capsys, tmp_path, machine)
    # Since the plan was made, another cgroup has taken a CPU of the second group.
    machine = replace(
        machine, cgroups={**(machine.cgroups or {}), f"{ROOT}/new": {"cpuset.cpus": "3,8"}}
    )
    fake = fake_cgroups(tmp_path / "live", machine)
    before = fake.everything()
    done = fake.run(plan / "apply.sh")
    assert done.returncode == 1
    assert "did not become the planned partition, and was changed back" in done.stderr
    assert "it reads 'root invalid (Cpu" in done.stderr
    # The second partition is a member again, the first one stays, and the third was not made.
    assert fake.read("schedshard0/cpuset.cpus.partition") == "root"
    assert fake.read("schedshard1/cpuset.cpus.partition") == "member"
    assert not (fake.cgroups / "schedshard2").exists()
    assert fake.harm == ""
    done = fake.run(plan / "verify.sh")
    assert done.returncode == 1
    assert "wrong: /schedshard1: partition reads 'member'" in done.stdout
    assert "right: /schedshard0" in done.stdout
    assert fake.run(plan / "undo.sh").returncode == 0
    assert fake.everything() == before


def test_isolcpus_must_be_removed_first(capsys: Capture, tmp_path: Path) -> None:
    word = "isolcpus=domain,managed_irq,4-15"
    machine = Machine(
        tasks=tasks(), cgroups={ROOT: MEMBER}, isolated="4-15", cmdline=f"quiet {word}"
    )
    outcome, plan = planned(capsys, tmp_path, machine)
    assert outcome.status == 4
    assert "use isolcpus=managed_irq,4-15" in (plan / "README.txt").read_text()
    fake = fake_cgroups(tmp_path / "live", machine)
    before = fake.everything()
    done = fake.run(plan / "apply.sh")
    assert done.returncode == 1
    assert f"booted with {word}" in done.stderr
    assert fake.everything() == before


def test_apply_overwrites_no_unit(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(tasks=tasks(), files=SYSTEMD, cgroups={ROOT: MEMBER})
    _, plan = planned(capsys, tmp_path, machine)
    fake = fake_cgroups(tmp_path / "live", machine)
    (fake.root / "etc/systemd/system/schedshard1.slice").write_text("mine\n")
    before = fake.everything()
    done = fake.run(plan / "apply.sh")
    assert done.returncode == 1
    assert "exists and differs: nothing was changed" in done.stderr
    assert fake.everything() == before


def test_two_runs_and_a_directory_of_somebody(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(tasks=tasks(), files=SYSTEMD, cgroups={ROOT: MEMBER})
    tar = host(tmp_path, machine)
    one, two = tmp_path / "one", tmp_path / "two"
    for plan in (one, two, one):
        assert call(capsys, "doctor", tar, "--plan", plan).status == 4
    files = {path.relative_to(one): path.read_bytes() for path in one.rglob("*") if path.is_file()}
    assert files == {
        path.relative_to(two): path.read_bytes() for path in two.rglob("*") if path.is_file()
    }
    (one / "README.txt").write_text("mine")
    outcome = call(capsys, "doctor", tar, "--plan", one)
    assert_refused(outcome, "holds other files")
    assert (one / "README.txt").read_text() == "mine"
    assert_refused(call(capsys, "doctor", tar, "--plan", tar), "is not a directory")
    assert_refused(call(capsys, "doctor", tar, "--plan", tmp_path / "no" / "x"), "no directory")
    assert not list(tmp_path.glob(".*"))


def test_cpus_for_all_others(tmp_path: Path) -> None:
    machine = Machine(tasks=tasks("/g{}", first=0, groups=4), cgroups={ROOT: MEMBER})
    with pytest.raises(UserError, match=r"no CPU would be left.*4 are needed.*first /g0 \(0-3\)"):
        plan_for(facts_of(tmp_path, machine))


def test_a_sibling_that_may_use_these_cpus_only(tmp_path: Path) -> None:
    cgroups = {ROOT: MEMBER, f"{ROOT}/vm": {"cpuset.cpus": "8-9"}}
    plan = plan_for(facts_of(tmp_path, Machine(tasks=tasks(), cgroups=cgroups)))
    assert [sorted(each.cpus)[0] for each in plan.partitions] == [4, 12]
    assert "/vm" in plan.left[0]


def test_where_no_plan_can_be_made(capsys: Capture, tmp_path: Path) -> None:
    cases = {
        "inside": (
            Machine(tasks=tasks(), cgroups={ROOT: MEMBER}, part=True),
            ("container's view",),
        ),
        "none": (Machine(tasks=tasks(), cgroups={}), ("no cgroup tree",)),
        "old": (
            Machine(tasks=tasks(), cgroups={ROOT: MEMBER}, release="4.19.2"),
            ("Linux 4.19.2", "may have added them", "cgroup v1"),
        ),
    }
    for name, (machine, words) in cases.items():
        (tmp_path / name).mkdir()
        outcome, plan = planned(capsys, tmp_path / name, machine)
        assert_refused(outcome, "no plan", *words)
        assert not plan.exists()
    profile = Path(__file__).parent / "data" / "robot-mail.txt"
    outcome = call(capsys, "doctor", "--perf", profile, "--plan", tmp_path / "p")
    assert_refused(outcome, "a profile shows no groups")


def test_no_plan_without_two_groups(capsys: Capture, tmp_path: Path) -> None:
    one_process = [replace(task, tgid=100) for task in tasks()]
    for name, found, words in (
        ("none", [], "no real-time threads"),
        ("one", tasks(groups=1), "the only group"),
        ("process", one_process, "one process"),
    ):
        (tmp_path / name).mkdir()
        machine = Machine(tasks=found, cgroups={ROOT: MEMBER})
        outcome, plan = planned(capsys, tmp_path / name, machine)
        assert outcome.err.startswith("no plan: ")
        assert words in outcome.err
        assert not plan.exists()


def test_what_others_have_to_set(capsys: Capture, tmp_path: Path) -> None:
    guest = "/machine.slice/machine-qemu\\x2d{}\\x2drt.scope/libvirt/vcpu0"
    for name, cgroup, words in (
        ("libvirt", guest, ("<partition>/schedshard0</partition>", "emulatorpin cpuset='3'",
                            "<vcpu placement='static' cpuset='3-7'>")),
        ("pod", "/kubepods.slice/pod{}.slice/crio-x{}.scope", (
            "echo 4-15 > kubepods.slice/cpuset.cpus.exclusive",
            "echo 8-11 > kubepods.slice/pod1.slice/cpuset.cpus.exclusive",
            "kubectl drain NODE", "cpu_manager_state",
            'reservedSystemCPUs: "0-3"', "cpu-load-balancing.crio.io")),
        ("docker", "/system.slice/docker-{}.scope", ("--cgroup-parent=schedshard2.slice",)),
        ("shell", "/user.slice/session-1.scope", ("systemd-run --scope --slice=schedshard0",)),
    ):  # fmt: skip
        (tmp_path / name).mkdir()
        # Guests need CPUs besides those of their groups.
        found = [replace(task, cgroup=cgroup.format(n // 4, n // 4)) for n, task in
                 enumerate(tasks(groups=2 if name == "libvirt" else 3))]  # fmt: skip
        machine = Machine(tasks=found, files=SYSTEMD, cgroups={ROOT: MEMBER})
        outcome, plan = planned(capsys, tmp_path / name, machine)
        assert outcome.status == 4, outcome
        text = (plan / "README.txt").read_text()
        for word in words:
            assert word in " ".join(text.split()), (name, word)


def test_a_plan_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = facts_of(tmp_path, Machine(tasks=tasks(), cgroups={ROOT: MEMBER}))
    files = plan_files(plan_for(facts))

    def broken(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(Exception, match="no space left"):
        write_plan(tmp_path / "plan", files)
    assert not (tmp_path / "plan").exists()
    assert not list(tmp_path.glob(".plan*"))
