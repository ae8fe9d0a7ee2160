# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Facts from the collector's lists agree with the tree."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import UserError
from doctor.facts.archive import read_directory
from doctor.facts.cpusets import read_cpusets
from doctor.facts.facts import Facts, read_facts
from doctor.facts.values import CPU_LIMIT, CpuLists, clean, cpu_list, release
from doctor_tree import DEADLINE, KTHREAD, Machine, Task, build, collected, listed
from model.machines.topo import ranges


def facts_of(tmp_path: Path, first: Machine, second: Machine | None = None) -> Facts:
    """The facts from the collector's lists, which must equal those that listed() makes."""
    early = build(tmp_path / "1", first)
    late = build(tmp_path / "2", second) if second is not None else None
    lists = read_directory(collected(tmp_path / "here", early, late))
    said = listed(first, second)
    assert {name: sorted(text.split("\n")) for name, text in lists.items()} == {
        name: sorted(text.split("\n")) for name, text in said.items()
    }
    return read_facts(lists, "host.tar")


def test_a_machine_is_read_back(tmp_path: Path) -> None:
    root = "/sys/fs/cgroup"

    def machine(slept: int, uptime: float) -> Machine:
        return Machine(
            cmdline="isolcpus=12-15 nohz_full=12-15 secret=1",
            isolated="12-15",
            config=("CONFIG_SMP=y", "# CONFIG_RT_GROUP_SCHED is not set", "CONFIG_HZ=250"),
            cgroups={
                root: {"cpuset.cpus.effective": "0-3,8-15"},
                f"{root}/a:cpus:b": {
                    "cpuset.cpus": "4-7",
                    "cpuset.cpus.effective": "4-7",
                    "cpuset.cpus.partition": "root",
                },
                f"{root}/bad": {"cpuset.cpus.partition": "isolated invalid (Parent: no root)"},
            },
            tasks=(
                Task(60, "sleeper", allowed="4-7", cgroup="/a:cpus:b/x", voluntary=slept),
                Task(61, "dl\x1b[2J", DEADLINE, 0, tgid=60),
                Task(62, "psimon", priority=1, flags=KTHREAD),
            ),
            uptime=uptime,
            files={"proc/interrupts": f" IWI: {slept} {slept} IRQ work interrupts\n"},
        )

    facts = facts_of(tmp_path, machine(100, 50.0), machine(400, 52.0))
    assert facts.version == (6, 12, 10)
    assert facts.seconds == 2.0
    assert facts.isolated == frozenset(range(12, 16))
    assert facts.cmdline == ("isolcpus=12-15", "nohz_full=12-15")
    assert facts.config == {"SMP": "y", "RT_GROUP_SCHED": "n", "HZ": "250"}
    assert facts.interrupts == {"IWI": 600}
    assert len(facts.llcs) == 4
    assert facts.cpus[9].node == 1
    assert facts.cpus[9].llc == frozenset(range(8, 12))
    threads = {thread.tid: thread for thread in facts.threads}
    assert threads[60].voluntary == 300
    assert threads[60].allowed == frozenset(range(4, 8))
    assert threads[60].cgroup == "/a:cpus:b/x"
    assert (threads[61].tgid, threads[61].comm) == (60, "dl?[2J")
    assert threads[62].kernel
    assert threads[10].stopper
    assert facts.sees_kernel_threads
    assert facts.cpusets.version == 2
    assert not facts.cpusets.part
    assert facts.cpusets.sets["/a:cpus:b"].root_partition
    bad = facts.cpusets.sets["/bad"]
    assert (bad.partition, bad.valid, bad.why) == ("isolated", False, "Parent: no root")


def test_cgroups_of_version_1(tmp_path: Path) -> None:
    machine = Machine(
        mounts=("cgroup2 /sys/fs/cgroup/unified", "cgroup /sys/fs/cgroup/cpuset cpuset"),
        cgroups={
            "/sys/fs/cgroup/cpuset": {"cpuset.cpus": "0-15", "cpuset.sched_load_balance": "0",
                                      "release_agent": ""},
            "/sys/fs/cgroup/cpuset/rt": {"cpuset.cpus": "4-7", "cpuset.cpu_exclusive": "1"},
        },
        tasks=[Task(70, "v1", cgroup="/rt", controller="cpu,cpuset")],
    )  # fmt: skip
    facts = facts_of(tmp_path, machine)
    assert facts.cpusets.version == 1
    assert not facts.cpusets.part
    assert facts.cpusets.sets["/"].load_balance is False
    assert facts.cpusets.sets["/rt"].cpus == frozenset(range(4, 8))
    assert {thread.cgroup for thread in facts.threads if thread.tid == 70} == {"/rt"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("cpus", "sys/devices/system/cpu/online:0-x\n", ("cpus:1", "'0-x'")),
        ("cpus", "", ("online is missing",)),
        ("cpus", "sys/devices/system/cpu/online:5-3\n", ("cpus:1",)),
        ("cpus", "sys/devices/system/cpu/online:0-999999\n", ("cpus:1",)),
        ("settings", "proc/sys/kernel/osrelease:plan9\n", ("'plan9'",)),
        ("config", "hello\n", ("config:1",)),
        ("mounts", "ext4 / /\n", ("mounts:1",)),
        ("cgroups", "sys/fs/cgroup/cpuset.cpus:zero\n", ("cgroups:1", "'zero'")),
        ("cgroups", "sys/fs/cgroup/a/cpuset.cpus.partition:rooted\n", ("cgroups:1", "'rooted'")),
        ("cgroups", "somewhere/else/cpuset.cpus:0\n", ("below no mount",)),
        ("threads", "1 2 1\n", ("threads:1",)),
        ("threads", "1 2 0 5 0 0 fair\n", ("threads:1", "policy 0")),
        ("threads", "1 2 x 5 0 0 fair\n", ("threads:1", "'x'")),
        ("places", "elsewhere\n", ("places:1",)),
        ("reading-2", "uptime:never 1\n", ("reading-2:1",)),
        ("reading-2", "uptime:1_0 1\n", ("reading-2:1",)),
        ("reading-1", "1/task/1/status:voluntary_ctxt_switches:\tno\n", ("reading-1:1", "'no'")),
    ],
)
def test_what_is_wrong_is_named(name: str, text: str, words: tuple[str, ...]) -> None:
    lists = listed(Machine(cpus=8))
    with pytest.raises(UserError) as caught:
        read_facts({**lists, name: text}, "host.tar")
    assert caught.value.status == 2
    for word in ("host.tar", *words):
        assert word in str(caught.value)


NAMES = st.text(
    st.characters(
        codec="utf-8",
        exclude_characters="\0/",
        categories=("L", "M", "N", "P", "S", "Z", "Cc", "Cf"),
    ),
    min_size=1,
    max_size=15,
)


@settings(max_examples=6, deadline=None)
@given(
    comms=st.lists(st.one_of(NAMES, st.just(") S 1 2 ("), st.just("a\nb")), max_size=16),
    cgroups=st.lists(NAMES.filter(lambda name: "\n" not in name and name not in (".", "..")),
                     max_size=12, unique=True),
)  # fmt: skip
def test_any_names_of_threads_and_cgroups(
    tmp_path_factory: pytest.TempPathFactory, comms: list[str], cgroups: list[str]
) -> None:
    machine = Machine(
        cpus=2,
        llc_cpus=2,
        node_cpus=2,
        cgroups={f"/sys/fs/cgroup/{name}": {"cpuset.cpus": "1"} for name in cgroups},
        tasks=[Task(100 + n, comm, priority=n + 1) for n, comm in enumerate(comms)],
    )
    base = tmp_path_factory.mktemp("any")
    lists = read_directory(collected(base / "lists", build(base / "tree", machine)))
    facts = read_facts(lists, "host")
    threads = {thread.tid: thread for thread in facts.threads if thread.tid >= 100}
    assert {tid: thread.priority for tid, thread in threads.items()} == {
        100 + n: n + 1 for n in range(len(comms))
    }
    for thread, comm in zip((threads[tid] for tid in sorted(threads)), comms, strict=True):
        # The part of a name before a newline is lost.
        assert thread.comm == clean(comm.rpartition("\n")[2])[:32]
    sets = {path for path in facts.cpusets.sets if path != "/"}
    assert sets == {f"/{clean(name)}" for name in cgroups}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(("mounts", "cgroups")), st.text(max_size=200))
def test_any_text_as_cgroups(name: str, text: str) -> None:
    lists = {"mounts": "cgroup2 / /sys/fs/cgroup rw\n", "cgroups": ""}
    lists[name] = text
    with contextlib.suppress(ValueError):
        assert read_cpusets(lists["mounts"], lists["cgroups"], CpuLists()).version in (0, 2)


@settings(deadline=None)
@given(st.frozensets(st.integers(0, 600), max_size=40))
def test_lists_of_cpus(cpus: frozenset[int]) -> None:
    assert cpu_list(ranges(sorted(cpus))) == cpus


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_as_values(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert all(0 <= cpu < CPU_LIMIT for cpu in cpu_list(text))
    version = release(text)
    assert version is None or len(version) == 3
    assert clean(text).isprintable()


def test_releases() -> None:
    assert release("6.12.10-amd64") == (6, 12, 10)
    assert release("7.3-rc4+") == (7, 3, 0)
    assert release("6.18.44-fc-v669") == (6, 18, 44)
    assert release("six") is None
    assert release("\N{ARABIC-INDIC DIGIT SIX}.12") is None


def test_how_busy_the_machine_is() -> None:
    """Guests are part of a CPU's user time; a wait for a disk is not work."""
    first, second = (
        Machine(uptime=uptime, stat=f"cpu  9 0 0 0 0 0 0 0 0 0\ncpu3 {ticks}\n")
        for uptime, ticks in ((10, "0 0 0 0 0 0 0 0 0 0"), (12, "60 0 20 100 20 0 0 0 60 0"))
    )
    assert read_facts(listed(first, second), "host").busy == {3: 0.4}


def test_thousands_of_cpusets_that_collide() -> None:
    """As many of the siblings are named as a reader can take in."""
    files = [f"sys/fs/cgroup/p{n}/cpuset.cpus:{n % 500}-{n % 500 + 9}" for n in range(3000)]
    files.append("sys/fs/cgroup/alone/cpuset.cpus:600-603")
    tree = read_cpusets("cgroup2 / /sys/fs/cgroup rw", "\n".join(files) + "\n", CpuLists())
    for number in range(0, 3000, 100):
        cpuset = tree.sets[f"/p{number}"]
        rivals = tree.rivals(cpuset)
        assert len(rivals) == 8
        assert all(rival is not cpuset and rival.claimed & cpuset.claimed for rival in rivals)
    assert tree.rivals(tree.sets["/alone"]) == []
    assert [held.path for held in tree.inside("/")] == sorted(tree.sets.keys() - {"/"})
