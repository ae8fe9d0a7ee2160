# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Doctor gives the right verdict in each situation, from the collected tar file alone."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from doctor import verdict as verdict_package
from doctor.judge.predictions import percent
from doctor_cli import Outcome, assert_refused, call
from doctor_tree import DEADLINE, KTHREAD, OTHER, Machine, Task, tar

DATA = Path(__file__).resolve().parent / "data"
SCHEMA = json.loads(
    (Path(verdict_package.__file__).parent / "verdict.schema.json").read_text(encoding="utf-8")
)
Capture = pytest.CaptureFixture[str]
ROOT = "/sys/fs/cgroup"


def groups(rate: int) -> list[Task]:
    """Three groups of four threads, each pinned to its four CPUs; all wake up rate times."""
    switches = rate // 6
    return [
        Task(100 + n, f"rt{n}", allowed=f"{4 + n // 4 * 4}-{7 + n // 4 * 4}", voluntary=switches,
             cgroup=f"/app{n // 4}")
        for n in range(12)
    ]  # fmt: skip


def judged(capsys: Capture, *args: str | Path) -> Outcome:
    """Judge with --json, check the schema, and that the text says the same."""
    outcome = call(capsys, "doctor", *args, "--json")
    data = outcome.json
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert data["exit_status"] == outcome.status
    text = call(capsys, "doctor", *args)
    assert text.status == outcome.status
    first = " ".join(text.out.split())
    assert first.startswith(" ".join(data["sentence"].split()))
    for finding in data["findings"]:
        assert f"[{finding['id']}]" in text.out
    return outcome


def ids(outcome: Outcome) -> list[tuple[str, str]]:
    return [(finding["id"], finding["severity"]) for finding in outcome.json["findings"]]


def partitions(kind: str) -> dict[str, dict[str, str]]:
    made = {ROOT: {"cpuset.cpus.effective": "0-3"}}
    for n in range(3):
        cpus = f"{4 + n * 4}-{7 + n * 4}"
        made[f"{ROOT}/app{n}"] = {
            "cpuset.cpus": cpus,
            "cpuset.cpus.effective": cpus,
            "cpuset.cpus.partition": kind,
        }
    return made


def test_pinned_groups_on_one_root_domain(capsys: Capture, tmp_path: Path) -> None:
    outcome = judged(capsys, tar(tmp_path, Machine(tasks=groups(4_000_000), node_cpus=16)))
    assert outcome.status == 4
    assert ids(outcome) == [("rd-shared", "high")]
    [finding] = outcome.json["findings"]
    assert finding["cpus"] == "0-15"
    assert "--plan" in finding["command"]
    cost = finding["predicted"]["variants"][0]["share"]
    assert 0.03 < cost["low"] <= cost["value"] < cost["high"] <= 1
    assert (
        f"cannot tell how much of the machine's CPU time that costs, {percent(cost['low'])}"
        in (finding["summary"])
    )
    assert outcome.json["cost"] == cost
    [domain] = outcome.json["root_domains"]
    assert [group["cpus"] for group in domain["groups"]] == ["4-7", "8-11", "12-15"]
    assert any("3 groups that share no CPU" in fact["value"] for fact in finding["evidence"])


def test_isolcpus(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(
        tasks=groups(4_000_000), isolated="4-15", cmdline="isolcpus=domain,managed_irq,4-15"
    )
    outcome = judged(capsys, tar(tmp_path, machine))
    assert ids(outcome) == [("rd-isolated", "high")]
    [finding] = outcome.json["findings"]
    assert finding["cpus"] == "4-15"
    assert {"where": "/sys/devices/system/cpu/isolated", "value": "4-15"} in finding["evidence"]
    facts = {fact["where"]: fact["value"] for fact in finding["evidence"]}
    assert "on def_root_domain" in facts["root domain (computed)"]


REASONS = {
    "Invalid cpu list in cpuset.cpus": "is online and free for it",
    "Invalid cpu list in cpuset.cpus.exclusive": "is online and free for it",
    "Parent is an invalid partition root": "is not a valid partition",
    "Cpu list in cpuset.cpus not exclusive": "Take CPUs 8-11 out",
    "Parent unable to distribute cpu downstream": "Or another partition, anywhere",
    "No cpu available due to hotplug": "take one online",
    "cpuset.cpus is empty": "Write the partition's CPUs to",
    "cpuset.cpus and cpuset.cpus.exclusive are empty": "Write the partition's CPUs to",
    "partition config conflicts with housekeeping setup": "outside nohz_full=",
    "Enable partition not permitted": "Only root of the host's",
    "Have remote partition underneath": "write 'member' to that cgroup's file",
    "a reason of a later kernel": "Fix what the reason names",
}


def test_each_reason_of_the_kernel_has_a_remedy(capsys: Capture, tmp_path: Path) -> None:
    """The siblings have the same CPUs, which makes them invalid for one reason only."""
    for release, unnamed in (("6.1.0", "Take CPUs 8-11 out"), ("7.3.4", "Fix what the")):
        state = [*(f"root invalid ({why})" for why in REASONS), "root invalid"]
        tree = {
            f"{ROOT}/a{n:02}": {"cpuset.cpus": "8-11", "cpuset.cpus.partition": partition}
            for n, partition in enumerate(state)
        } | {ROOT: {"cpuset.cpus.effective": "0-15"}}
        machine = Machine(cgroups=tree, release=release, tasks=[Task(90, "rt", cgroup="/a00")])
        host = tar(tmp_path / release, machine)
        findings = call(capsys, "doctor", host, "--json").json["findings"]
        assert [finding["severity"] for finding in findings] == ["medium", *["low"] * len(REASONS)]
        for finding, words in zip(findings, [*REASONS.values(), unnamed], strict=True):
            assert words in finding["remedy"], finding
            assert ("Take CPUs" in finding["remedy"]) == words.startswith("Take")


def test_the_sibling_that_makes_a_partition_invalid(capsys: Capture, tmp_path: Path) -> None:
    cgroups = {
        ROOT: {"cpuset.cpus.effective": "0-15"},
        f"{ROOT}/rt.slice": {
            "cpuset.cpus": "8-11",
            "cpuset.cpus.partition": "isolated invalid (Cpu list in cpuset.cpus not exclusive)",
        },
        f"{ROOT}/system.slice": {"cpuset.cpus": "0-9", "cpuset.cpus.partition": "member"},
        f"{ROOT}/user.slice": {"cpuset.cpus": "0-7", "cpuset.cpus.partition": "member"},
    }
    outcome = judged(capsys, tar(tmp_path, Machine(cgroups=cgroups)))
    assert ids(outcome) == [("partition-invalid", "low")]
    finding = json.loads(outcome.out)["findings"][0]
    assert finding["summary"].endswith("/system.slice may also use its CPUs 8-9")
    assert finding["evidence"][1] == {
        "where": f"{ROOT}/system.slice",
        "value": "names CPUs 0-9, including the partition's 8-9",
    }
    assert "Take CPUs 8-9 out of the cpuset.cpus of /system.slice" in finding["remedy"]


def test_a_partition_of_one_guest_is_done(capsys: Capture, tmp_path: Path) -> None:
    """A partition of three caches stays if it has one guest; with a service it could be cut."""
    root = {"cpuset.cpus": "4-15", "cpuset.cpus.partition": "root"}
    cgroups = {ROOT: {"cpuset.cpus.effective": "0-3"}, f"{ROOT}/rt.slice": root}
    for name, status in (("machine-qemu.scope", 0), ("a.service", 4), ("{}.service", 4)):
        tasks = [
            replace(task, allowed=str(4 + n), cgroup=f"/rt.slice/{name.format(n // 4)}")
            for n, task in enumerate(groups(8_000_000)[:12])
        ]
        systemd = {"run/systemd/system/x": ""}
        machine = Machine(tasks=tasks, cgroups=cgroups, files=systemd)
        outcome = judged(capsys, tar(tmp_path / name, machine))
        assert status or outcome.status == 0, outcome
        notes = json.loads(outcome.out)["notes"]
        remarks = [note for note in notes if "cannot be cut into smaller ones" in note]
        assert len(remarks) == (status == 0)


def test_what_helps_with_version_1(capsys: Capture, tmp_path: Path) -> None:
    """A kernel with cgroup v1 may have no partitions: the remedy is one of version 1."""
    cgroups = {f"{ROOT}/cpuset": {"cpuset.cpus": "0-15", "cpuset.sched_load_balance": "1",
                                  "release_agent": ""}}  # fmt: skip
    machine = Machine(
        tasks=groups(4_000_000), cgroups=cgroups, mounts=("cgroup /sys/fs/cgroup/cpuset cpuset",)
    )
    finding = json.loads(judged(capsys, tar(tmp_path, machine)).out)["findings"][0]
    assert "write 0 to sched_load_balance of the root cpuset" in finding["remedy"]
    assert "artition" not in finding["remedy"]
    assert finding["command"].startswith("grep . /sys")


def test_deadline_threads_are_never_pinned(capsys: Capture, tmp_path: Path) -> None:
    tasks = [replace(task, policy=DEADLINE, allowed="0-15") for task in groups(4_000_000)]
    finding = json.loads(judged(capsys, tar(tmp_path, Machine(tasks=tasks))).out)["findings"][0]
    assert "taskset" not in finding["command"]
    assert "does not let them be pinned" in finding["remedy"]


def test_threads_that_may_run_everywhere(capsys: Capture, tmp_path: Path) -> None:
    tasks = [Task(900 + n, "rt", voluntary=800_000) for n in range(10)]
    outcome = judged(capsys, tar(tmp_path, Machine(tasks=tasks)))
    assert ids(outcome) == [("rd-shared", "high")]
    assert outcome.json["findings"][0]["remedy"].startswith("Threads of rt may run on the same")
    shares = []
    for name, more in (("some", tasks[:1]), ("alone", [])):
        archive = tar(tmp_path / name, Machine(tasks=[*groups(1_200_000), *more]))
        [finding] = judged(capsys, archive).json["findings"]
        shares.append([row["share"]["value"] for row in finding["predicted"]["variants"][:2]])
        assert ("Threads of rt may run on CPUs of several" in finding["remedy"]) == bool(more)
    # Partitions leave these threads where they are.
    assert shares[0][1] > 0.2 * shares[0][0] > 3 * shares[1][1]


@pytest.mark.parametrize(
    ("name", "command"),
    [("irq", "grep . /proc/irq/*/smp_affinity_list"), ("ktimers", "timer:"), ("rcuc", "waking")],
)
def test_kernel_threads(capsys: Capture, tmp_path: Path, name: str, command: str) -> None:
    tasks = [
        Task(100 + n, f"{name}/{n}", allowed=str(n), flags=KTHREAD, voluntary=1_000_000)
        for n in range(10)
    ]
    host = tar(tmp_path, Machine(tasks=tasks))
    assert "kernel threads, which" in call(capsys, "doctor", host, "--plan", tmp_path / "p").err
    outcome = judged(capsys, host)
    assert ids(outcome) == [("rd-shared", "high")]
    [finding] = outcome.json["findings"]
    assert (command in finding["command"], f"threads {name}" in finding["remedy"]) == (True, True)
    assert outcome.json["root_domains"][0]["kernel_wakeups_per_second"] == 5_000_000


def test_a_container(capsys: Capture, tmp_path: Path) -> None:
    def machine(rate: int) -> Machine:
        return Machine(
            tasks=groups(rate), kernel_threads=False,
            files={"sys/fs/cgroup/cgroup.events": ""},
            cgroups={ROOT: {"cpuset.cpus.effective": "4-15"}},
        )  # fmt: skip

    quiet = judged(capsys, tar(tmp_path / "quiet", machine(500)))
    assert (quiet.status, quiet.json["verdict"]) == (3, "cannot-tell")
    assert "container" in quiet.json["sentence"]
    busy = judged(capsys, tar(tmp_path / "busy", machine(1_000_000)))
    assert ids(busy) == [("rd-shared", "high")]
    assert "Run the collector on the host" in busy.json["findings"][0]["remedy"]
    # The kernel would refuse a plan: from here the owners of CPUs are unknown.
    assert busy.json["findings"][0]["command"] == "./schedshard doctor collect > collect.sh"
    assert busy.json["doubts"]


@pytest.mark.slow(reason="predictions for a whole machine")
def test_a_storm_of_push_interrupts(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(
        tasks=[Task(60, "psimon", priority=1, flags=KTHREAD)],
        files={"sys/kernel/debug/sched/features": "RT_PUSH_IPI TTWU_QUEUE\n"},
    )
    for name, release, on, status, fix in (
        ("on", "6.12.74", True, 4, "6.12.74 is older than the fix, commit 94894c9c477e"),
        ("stable", "6.12.75", True, 4, "6.12.75 has the fix, commit 94894c9c477e"),
        ("fixed", "7.0.1", True, 4, "7.0.1 has the fix, commit 94894c9c477e"),
        ("old", "4.14.2", True, 0, ""),
        ("off", "6.12.10", False, 0, ""),
    ):
        features = "RT_PUSH_IPI\n" if on else "NO_RT_PUSH_IPI\n"
        changed = replace(
            machine, release=release, files={"sys/kernel/debug/sched/features": features}
        )
        outcome = judged(capsys, tar(tmp_path / name, changed, iwi=16 * 2 * 5000))
        assert outcome.status == status, name
        if status == 4:
            assert ids(outcome) == [("rt-push-ipi", "medium")]
            values = [fact["value"] for fact in outcome.json["findings"][0]["evidence"]]
            assert "1 thread psimon" in values
            assert values[-1].startswith(fix)


@pytest.mark.parametrize(
    ("waiting", "calls", "wakeups", "storm"),
    [
        (3, 5000, 0, True),
        (3, 1500, 0, False),  # too few
        (3, 16 * 2 * 5000, 0, True),
        (1, 5000, 0, False),  # no thread waits there
        (3, 5000, 4000, False),  # wake-ups from other caches are function calls as well
    ],
)
def test_requests_to_push_are_function_calls(
    capsys: Capture, tmp_path: Path, waiting: int, calls: int, wakeups: int, storm: bool
) -> None:
    tasks = [Task(100 + n, "spin", allowed="0-3") for n in range(waiting)]
    tasks += [Task(60, "psimon", priority=1, flags=KTHREAD, voluntary=wakeups)]
    machine = Machine(tasks=tasks, files={"sys/kernel/debug/sched/features": "RT_PUSH_IPI\n"})
    outcome = judged(capsys, tar(tmp_path, machine, calls=calls))
    assert ids(outcome) == ([("rt-push-ipi", "medium")] if storm else [])
    if storm:
        values = [fact["value"] for fact in outcome.json["findings"][0]["evidence"]]
        gets = "CPU 0, with 3 real-time threads, gets 2,500 per second"
        assert (gets if calls == 5000 else "80,000 per second in all") in values[0]


def test_one_reading_is_no_rate(capsys: Capture, tmp_path: Path) -> None:
    outcome = judged(capsys, tar(tmp_path, Machine(tasks=groups(4_000_000)), seconds=0.0))
    assert outcome.status == 3
    assert "no rate is known" in outcome.json["sentence"]


def hot_report(folder: Path) -> Path:
    path = folder / "report.txt"
    path.write_text("    63.10%  a  [kernel]  [k] cpupri_set\n    36.00%  b  [kernel]  [k] work\n")
    return path


def test_profiles_alone(capsys: Capture, tmp_path: Path) -> None:
    mail, report = DATA / "c2c-mail.txt", hot_report(tmp_path)
    for files in ((mail,), (report,), (mail, report)):
        args = [str(part) for file in files for part in ("--perf", file)]
        outcome = judged(capsys, *args)
        assert ids(outcome) == [("rd-shared", "high")]
        assert outcome.json["machine"] is None
        assert outcome.json["source"] == "profile only"
        assert "now: HOST.tar shows the groups" in outcome.json["findings"][0]["remedy"]
    titles = [fact["value"] for fact in outcome.json["findings"][0]["evidence"]]
    for words in ("its third line", "its first line", "four neighbouring levels", "bits of a mask"):
        assert sum(words in title for title in titles) == 1


def test_a_profile_confirms_the_machine(capsys: Capture, tmp_path: Path) -> None:
    machine = Machine(tasks=groups(4_000_000), cgroups=partitions("isolated"))
    host = tar(tmp_path, machine)
    assert [name for name, _ in ids(judged(capsys, host))] == ["rd-isolated"]
    outcome = judged(capsys, host, "--perf", hot_report(tmp_path))
    assert ids(outcome) == [("rd-isolated", "high")]
    assert "63.1%" in outcome.json["findings"][0]["summary"]


def test_a_kernel_that_has_the_fix(capsys: Capture, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("    20.00%  a  [kernel]  [k] update_cfs_group\n")
    host = tar(tmp_path, Machine(tasks=groups(500)))
    outcome = judged(capsys, host, "--perf", report)
    assert ids(outcome) == [("tg-load-avg", "low")]
    assert "not among the versions" in outcome.json["findings"][0]["evidence"][-1]["value"]
    assert ids(judged(capsys, "--perf", report)) == [("tg-load-avg", "medium")]


def test_this_host(capsys: Capture) -> None:
    outcome = call(capsys, "doctor", "--seconds", "1", "--json")
    assert outcome.status in (0, 3, 4)
    jsonschema.Draft202012Validator(SCHEMA).validate(outcome.json)
    assert outcome.json["source"] == "this host"
    assert outcome.err == "looking at this host for 1 s\n"


def test_bad_input(capsys: Capture, tmp_path: Path) -> None:
    good = tar(tmp_path, Machine(cpus=8))
    packed = gzip.compress(good.read_bytes())
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(packed[:300])
    before = sorted(tmp_path.rglob("*"))
    assert_refused(call(capsys, "doctor", cut), "cut.tar.gz is truncated")
    assert_refused(call(capsys, "doctor", tmp_path / "no.tar"), "no such file")
    assert_refused(call(capsys, "doctor", "colect"), "nor a command of doctor", "collect")
    assert_refused(call(capsys, "doctor", DATA / "c2c-mail.txt"), "tar file")
    assert_refused(call(capsys, "doctor", good, "--perf", good), "not text in UTF-8")
    assert_refused(call(capsys, "doctor", good, "--live"), "--live")
    assert_refused(call(capsys, "doctor", good, "more.tar"), "more.tar")
    assert_refused(call(capsys, "doctor", "--seconds", "0"), "--seconds")
    assert_refused(call(capsys, "doctor", "--perf", tmp_path), "regular file")
    assert sorted(tmp_path.rglob("*")) == before


def test_names_cannot_steer_a_terminal(capsys: Capture, tmp_path: Path) -> None:
    cgroups = {
        f"{ROOT}/a\x1b[31m": {"cpuset.cpus": "4", "cpuset.cpus.partition": "root invalid (\x07)"}
    }
    tasks = [*groups(4_000_000), Task(90, "\x1b]0;x\x07", OTHER, 0), Task(91, "\x1b[2J")]
    host = tar(tmp_path, Machine(tasks=tasks, cgroups=cgroups))
    for args in ((), ("--json",)):
        out = call(capsys, "doctor", host, *args).out
        assert "\x1b" not in out
        assert "\x07" not in out


def test_half_a_cgroup_tree(capsys: Capture, tmp_path: Path) -> None:
    """A missing part of the tree is not a finding: the kernel may have other root domains."""
    tree = partitions("root")
    tree[ROOT]["cpuset.cpus.isolated"] = ""
    whole = Machine(tasks=groups(4_000_000), cgroups=tree)
    half = {path: files for path, files in tree.items() if not path.endswith(("app1", "app2"))}
    for name, cgroups, reason in (
        ("half", half, "CPUs 8-15 are in a partition that was not collected"),
        ("rootless", {f"{ROOT}/app0": tree[f"{ROOT}/app0"]}, "the cgroup tree lacks its root"),
        ("bare", {}, "the cgroup tree lacks the cpuset files that a kernel makes"),
    ):
        outcome = judged(capsys, tar(tmp_path / name, replace(whole, cgroups=cgroups)))
        assert (outcome.status, outcome.json["findings"]) == (3, [])
        assert outcome.json["sentence"] == f"Cannot tell: {reason}."
    for name, changed in (
        ("off", replace(whole, cgroups={}, cmdline="cgroup_disable=cpuset")),
        ("without", replace(whole, cgroups={}, config=("# CONFIG_CPUSETS is not set",))),
        ("old", replace(whole, cgroups={}, release="4.19.5")),
    ):
        outcome = judged(capsys, tar(tmp_path / name, changed))
        assert ids(outcome) == [("rd-shared", "high")], name


def test_speaks_of_what_it_collects(capsys: Capture, tmp_path: Path) -> None:
    files = {
        "proc/sys/kernel/sched_rt_runtime_us": "-1\n", "sys/kernel/sched_ext/state": "enabled\n",
        "sys/kernel/sched_ext/root/ops": "layered\n", "sys/kernel/sched_ext/switch_all": "1\n",
    }  # fmt: skip
    config = ("CONFIG_SMP=y", "CONFIG_CPUSETS=y", "CONFIG_RT_GROUP_SCHED=y")
    machine = Machine(tasks=groups(500), files=files, cmdline="threadirqs", config=config)
    notes = " ".join(judged(capsys, tar(tmp_path, machine)).json["notes"])
    for word in ("throttling is off", "(layered)", "interrupts wake FIFO", "BATCH", "no budget"):
        assert word in notes
    files["sys/kernel/sched_ext/switch_all"] = "0\n"
    machine = replace(machine, files=files, cmdline="rt_group_sched=0")
    notes = " ".join(judged(capsys, tar(tmp_path / "other", machine)).json["notes"])
    assert "threads of SCHED_EXT only" in notes
    assert "no budget" not in notes
    hidden = Machine(tasks=groups(500), kernel_threads=False)
    doubts = " ".join(judged(capsys, tar(tmp_path / "hidden", hidden)).json["doubts"])
    assert "hidepid" in doubts


@pytest.mark.parametrize("seed", range(20))
def test_healthy_hosts_are_silent(capsys: Capture, tmp_path: Path, seed: int) -> None:
    """Audio, watchdogs, packet threads that poll, guests in root partitions, on any machine."""
    dice = random.Random(seed)
    cpus, cache = dice.choice([(4, 4), (8, 4), (16, 8), (32, 8)])
    tasks = [Task(60 + cpu, f"watchdog/{cpu}", priority=99, allowed=str(cpu), flags=KTHREAD,
                  voluntary=dice.randrange(3)) for cpu in range(cpus)]  # fmt: skip
    tasks += [Task(900, "pipewire", allowed=f"0-{cpus - 1}", cgroup="/user.slice/s.scope",
                   voluntary=dice.randrange(800))]  # fmt: skip
    for n in range(dice.randrange(cpus // 2)):
        often = 0 if dice.random() < 0.7 else dice.randrange(100)
        tasks.append(Task(1000 + n, f"pmd{n}", allowed=str(cpus - 1 - n), cgroup="/ovs.service",
                          voluntary=often))  # fmt: skip
    tree = {ROOT: {"cpuset.cpus.effective": f"0-{cpus - 1}"}}
    machine = Machine(
        cpus=cpus, llc_cpus=cache, node_cpus=max(cache, cpus // 2), tasks=tasks, cgroups=tree,
        release=dice.choice(["5.14.0-570.el9_6.x86_64", "6.1.0-30-amd64", "6.12.43", "7.3.4"]),
    )  # fmt: skip
    outcome = call(capsys, "doctor", tar(tmp_path, machine), "--json")
    assert (outcome.status, outcome.json["findings"]) == (0, [])
