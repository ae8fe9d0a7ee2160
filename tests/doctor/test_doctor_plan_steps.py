# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The steps of a plan on a model of the host: no step hurts, wherever they end.

The model knows cgroups and threads (host_model.py). The hosts are random ones: groups of real-time
threads in services, guests, pods and cgroups, beside siblings that have some of their CPUs. The
threads are pinned one per CPU, or to all CPUs of their group.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.errors import UserError
from doctor.facts.cpusets import Cpuset, Cpusets
from doctor.facts.domains import root_domains
from doctor.facts.facts import Facts, Thread
from doctor.facts.load import domain_loads
from doctor.facts.topology import Cpu
from doctor.plan.plan import Plan, make_plan
from doctor.plan.steps import Step, steps_of
from host_model import Cgroup, Cpus, Host, Task, expand, harm, listed

CPUS = 24
ALL = frozenset(range(CPUS))
CGROUPS = (
    "/system.slice/app{}.service",
    "/system.slice/system-rt.slice/rt@{}.service",
    "/machine.slice/machine-qemu\\x2d{}\\x2dvm.scope/libvirt/vcpu0",
    "/kubepods.slice/pod{}.slice/cri-{}.scope",
    "/system.slice/docker-{}.scope",
    "/qemu.slice/{}.scope",
    "/own{}",
)
# Threads that are not real-time ones, and where they are.
OTHERS = {
    50: "/sshd.service", 51: "/system.slice/cron.service", 52: "/other", 53: "/other/deep",
    54: "/kubepods.slice/pause.scope",
}  # fmt: skip


def host_of(
    threads: list[Thread], sets: dict[str, Cpuset], systemd: str, runtime: str = "950000"
) -> Facts:
    """Return a machine of 24 CPUs, four last-level caches and two nodes."""
    places = {
        cpu: Cpu(cpu, cpu // 12, cpu // 12, frozenset(range(cpu // 6 * 6, cpu // 6 * 6 + 6)), 3)
        for cpu in ALL
    }
    kernel = Thread(2, 2, "migration/0", 1, 99, True, 0, frozenset({0}), "/")
    manager = {"systemd/running": "yes", "systemd/version": systemd} if systemd else {}
    return Facts(
        "6.12.10", (6, 12, 10), "#1 SMP", places, ALL, frozenset(), frozenset(),
        {"proc/sys/kernel/sched_rt_runtime_us": runtime, **manager}, (), {},
        Cpusets(2, "/sys/fs/cgroup", False, {"/": Cpuset("/", effective=ALL), **sets}),
        (*threads, kernel), 2.0, 1000, {}, ((300, ALL),),
        {0: frozenset(range(12)), 1: frozenset(range(12, 24))},
    )  # fmt: skip


def without(offline: Cpus, facts: Facts) -> Facts:
    """Return a machine on which CPUs went offline; a thread that had no others is gone."""
    online = facts.online - offline
    sets: dict[str, Cpuset] = {}
    for path in sorted(facts.cpusets.sets):
        each = facts.cpusets.sets[path]
        above = sets.get(path.rpartition("/")[0], Cpuset("", effective=online)).effective or online
        effective = (each.effective or frozenset()) & online or above
        sets[path] = replace(each, effective=effective)
    threads = [
        replace(each, cpu=min(each.allowed & online)) for each in facts.threads
        if each.allowed is not None and each.allowed & online
    ]  # fmt: skip
    return replace(
        facts, online=online, threads=tuple(threads), cpusets=replace(facts.cpusets, sets=sets)
    )


@st.composite
def hosts(draw: st.DrawFn) -> Facts:
    """Groups of CPUs that do not overlap, each with threads in a cgroup of some kind."""
    order = draw(st.permutations(sorted(ALL)))
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    threads, sets, first = [], {}, 0
    tid = 100
    for number, size in enumerate(sizes):
        cpus = frozenset(order[first : first + size])
        first += size
        if not cpus:
            break
        kind = draw(st.sampled_from(CGROUPS))
        cgroup = kind.format(number, number)
        each = draw(st.booleans())
        process = tid
        for cpu in sorted(cpus):
            mask = frozenset({cpu}) if each else cpus
            threads.append(
                Thread(process, tid, "rt", 1, 50, False, min(mask), mask, cgroup, 20_000)
            )
            tid += 1
        if kind.startswith(("/own", "/kube")) and draw(st.booleans()):
            sets[cgroup] = Cpuset(
                cgroup, cpus, cpus, draw(st.sampled_from((None, frozenset[int]()))), partitions=True
            )
    for name in ("/system.slice", "/system.slice/system-rt.slice", "/kubepods.slice", "/other"):
        if draw(st.booleans()):
            cpus = draw(st.frozensets(st.sampled_from(sorted(ALL)), min_size=1))
            inside = [each.allowed for each in threads if (each.cgroup or "").startswith(name)]
            cpus = cpus.union(*(each for each in inside if each is not None))
            sets[name] = Cpuset(name, cpus, cpus, partitions=True)
    for cgroup in {each.cgroup or "" for each in threads if draw(st.booleans())}:
        if cgroup.endswith(".service"):
            own = [each.allowed or ALL for each in threads if each.cgroup == cgroup]
            cpus = draw(st.frozensets(st.sampled_from(sorted(ALL)))).union(*own)
            sets[cgroup] = Cpuset(cgroup, cpus, cpus, partitions=True)
    if "/other" in sets and draw(st.booleans()):
        cpus = draw(st.frozensets(st.sampled_from(sorted(ALL)), min_size=1))
        sets["/other/deep"] = Cpuset("/other/deep", cpus, partitions=True)
    for path in [path for path in sets if path.startswith("/kube") and draw(st.booleans())]:
        # Another container of the pod, or another pod.
        beside = path.rpartition("/")[0] + draw(st.sampled_from(("/side.scope", "x.slice")))
        cpus = draw(st.frozensets(st.sampled_from(sorted(ALL)), max_size=3))
        sets[beside] = Cpuset(beside, cpus, exclusive=sets[path].exclusive, partitions=True)
    if "/kubepods.slice" in sets:
        sets[OTHERS[54]] = Cpuset(OTHERS[54], frozenset(), partitions=True)
    for path in sorted(sets):
        # A cgroup may list CPUs that the one above it lacks.
        above = sets.get(path.rpartition("/")[0], Cpuset("", effective=ALL)).effective or ALL
        sets[path] = replace(sets[path], effective=(sets[path].cpus or ALL) & above or above)
    roaming = Thread(90, 90, "watchdog", 1, 1, False, 0, ALL, "/system.slice/w.service", 1)
    if draw(st.booleans()):
        threads.append(roaming)
    facts = host_of(threads, sets, draw(st.sampled_from(("", "252", "262"))))
    return without(draw(st.frozensets(st.sampled_from(sorted(ALL)), max_size=5)), facts)


def planned(facts: Facts) -> Plan:
    domains = root_domains(facts)
    return make_plan(facts, domains, domain_loads(facts, domains))


def model_of(facts: Facts) -> Host:
    """Return the model of a machine, with threads that are not real-time ones."""
    host = Host(facts.online)
    for path, each in facts.cpusets.sets.items():
        if path != "/":
            exclusive = each.exclusive or frozenset()
            host.cgroups[path] = Cgroup(each.cpus or frozenset(), exclusive, each.partition)
    for thread in facts.threads:
        if not thread.kernel and thread.allowed is not None:
            host.tasks[thread.tid] = Task(thread.tgid, True, thread.allowed, thread.cgroup or "/")
    for number, cgroup in OTHERS.items():
        host.tasks[number] = Task(number, False, facts.online, cgroup)
    host.settle()
    return host


class Runner:
    """Carries out steps on a model, as apply.sh does on a host."""

    def __init__(self, plan: Plan, host: Host, by_hand: bool) -> None:
        self.plan = plan
        self.host = host
        self.by_hand = by_hand
        self.skip = -2

    def _enter(self, path: str, cpus: Cpus) -> None:
        for task in self.host.tasks.values():
            if task.real_time and task.chosen <= cpus:
                task.cgroup = f"{path}/moved"

    def step(self, step: Step) -> None:
        """Carry out one step; an assertion fails where apply.sh would stop with an error."""
        if step.kind == "group":
            self.skip = -2
        if step.group == self.skip:
            return
        host = self.host
        getattr(self, f"_{step.kind}", lambda *_: None)(*step.args)
        if step.kind == "hand" and not self.by_hand:
            self.skip = step.group
        host.settle()

    def _make(self, path: str) -> None:
        self.host.cgroups[path] = Cgroup()

    def _start(self, _: str, path: str) -> None:
        self._make(path)

    def _put(self, file: str, value: str) -> None:
        path, _, name = file.rpartition("/")
        if name == "cpuset.cpus":
            self.host.cgroups[path].cpus = expand(value)

    def _move(self, path: str, cpus: str) -> None:
        self._enter(path, expand(cpus))

    def _hand(self, path: str, cpus: str) -> None:
        if self.by_hand:
            self._enter(path, expand(cpus))

    def _restart(self, service: str) -> None:
        partition = next(
            each for each in self.plan.partitions
            if any(unit.endswith(f"/{service}") for unit in each.units)
        )  # fmt: skip
        for task in self.host.tasks.values():
            if task.cgroup.endswith(f"/{service}"):
                task.cgroup = f"{partition.path}/{service}"

    def _threads(self, path: str, cpus: str) -> None:
        mine = [
            task for task in self.host.tasks.values()
            if task.real_time and task.chosen <= expand(cpus)
        ]  # fmt: skip
        assert mine
        assert all((task.cgroup + "/").startswith(f"{path}/") for task in mine)

    def _narrow(self, path: str, cpus: str) -> None:
        self.host.cgroups[path].cpus -= expand(cpus)
        assert self.host.cgroups[path].cpus

    def _exclusive(self, path: str, cpus: str) -> None:
        each = self.host.cgroups.setdefault(path, Cgroup())
        each.exclusive |= expand(cpus)
        # The kernel leaves each sibling a CPU of its list.
        for name, other in self.host.cgroups.items():
            if name != path and name.rpartition("/")[0] == path.rpartition("/")[0]:
                assert not other.exclusive & each.exclusive, (name, path)
                assert not other.cpus or other.cpus - each.exclusive, (name, path)

    def _partition(self, path: str, cpus: str) -> None:
        self.host.cgroups[path].kind = "root"
        self.host.settle()
        assert self.host.cgroups[path].in_force, self.host.cgroups[path].why
        assert self.host.effective(path) == expand(cpus)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=300)
@given(hosts(), st.booleans())
def test_no_step_hurts(facts: Facts, by_hand: bool) -> None:
    try:
        plan = planned(facts)
    except UserError:
        return
    host = model_of(facts)
    runner = Runner(plan, host, by_hand)
    busy = {
        thread.tid: thread.allowed & facts.online
        for thread in facts.threads
        if not thread.kernel and thread.allowed is not None and thread.comm == "rt"
    }
    if not plan.partitions:
        return  # the plan is advice only: there is nothing to run
    assert len(plan.free) >= plan.need
    assert harm(host, busy, plan.free) == []
    before = {number: host.allowed(number) for number in OTHERS}
    for step in steps_of(plan):
        runner.step(step)
        assert harm(host, busy, plan.free) == [], step
        for number, had in before.items():
            # Who loses CPUs keeps some without real-time threads.
            now = host.allowed(number)
            assert now == had or now & plan.free, (number, step)
    if by_hand or not any(step.kind == "hand" for step in steps_of(plan)):
        assert host.rest == plan.rest
        for each in plan.partitions:
            assert host.cgroups[each.path].in_force
            assert each.wanted.kind != "guest" or each.wanted.spare


def test_a_sibling_keeps_cpus_without_real_time_threads() -> None:
    """A FIFO thread without a partition stays on all CPUs that system.slice would keep."""
    hog = replace(groups_of("/x$.slice/hog.service", ["0-1"])[0], tid=900, tgid=900, priority=99)
    threads = [*groups_of("/{}.slice/rt.service", ["8-15", "16-23"]), hog]
    for path, cgroup in (("/system.slice", "0-1,8-15"), ("/a.slice/sshd.service", "0,9")):
        sets = {path: Cpuset(path, expand(cgroup), expand(cgroup), partitions=True)}
        plan = planned(host_of(threads, sets, "252"))
        assert [listed(each.cpus) for each in plan.partitions] == ["16-23"]
        said = f"CPUs 8-15: {path} has no other CPUs that are neither isolated nor of real-time"
        assert said in plan.left[-1]
        more = expand(f"{cgroup},2")
        wide = {path: replace(sets[path], cpus=more, effective=more)}
        plan = planned(host_of(threads, wide, "252"))
        assert [listed(each.cpus) for each in plan.partitions] == ["8-15", "16-23"]


def test_cpus_that_the_cgroup_above_lacks_are_not_left() -> None:
    hog = replace(groups_of("/x$.slice/hog.service", ["0-1"])[0], tid=900, tgid=900, priority=99)
    threads = [*groups_of("/{}.slice/rt.service", ["8-11", "16-19"]), hog]
    above = Cpuset("/a", expand("0-3,8-11"), expand("0-3,8-11"), partitions=True)
    deep = Cpuset("/a/b", expand("0-1,8-11,20"), expand("0-1,8-11"), partitions=True)
    plan = planned(host_of(threads, {"/a": above, "/a/b": deep}, "252"))
    assert [listed(each.cpus) for each in plan.partitions] == ["16-19"]
    assert "CPUs 8-11: /a/b has no other CPUs" in plan.left[-1]
    # A cgroup that has no CPU of its list has all of the one above.
    deep = replace(deep, cpus=expand("20"), effective=above.effective)
    plan = planned(host_of(threads, {"/a": above, "/a/b": deep}, "252"))
    assert [listed(each.cpus) for each in plan.partitions] == ["8-11", "16-19"]


def test_what_a_workload_leaves_forbids_nothing() -> None:
    """Services restart in new slices, so that their old cgroups and slices are empty then."""
    name = "/system.slice/system-rt.slice"
    groups = ["8-11", "12-15", "16-19"]
    threads = groups_of(f"{name}/rt@{{}}.service", groups)
    sets = {name: Cpuset(name, expand("8-19"), expand("8-19"), partitions=True)}
    own = {
        path: Cpuset(path, expand(cpus), expand(cpus), partitions=True)
        for n, cpus in enumerate(groups) for path in (f"{name}/rt@{n}.service",)
    }  # fmt: skip
    for each in (sets, sets | own):
        plan = planned(host_of(threads, each, "252"))
        assert [listed(each.cpus) for each in plan.partitions] == groups
    # The slice has another member, or apply.sh moves single processes.
    more = f"{name}/log.service"
    for each, systemd in ((sets | own | {more: Cpuset(more, partitions=True)}, "252"), (sets, "")):
        assert not planned(host_of(threads, each, systemd)).partitions
    scopes = groups_of(f"{name}/rt{{}}.scope", groups)
    assert not planned(host_of(scopes, sets, "252")).partitions
    # A login's slice contains its shell.
    name = "/user.slice/user-7.slice"
    logins = groups_of(f"{name}/user@7.service/app.slice/rt{{}}.service", groups)
    sets = {name: Cpuset(name, expand("8-19"), expand("8-19"), partitions=True)}
    assert not planned(host_of(logins, sets, "252")).partitions


def test_a_services_own_cpus_forbid_nothing() -> None:
    hog = replace(groups_of("/x$.slice/hog.service", ["0-1"])[0], tid=900, tgid=900, priority=99)
    threads = [*groups_of("/system.slice/rt{}.service", ["8-11", "16-23"]), hog]
    path = "/system.slice/rt0.service"
    sets = {path: Cpuset(path, expand("0-1,8-11"), expand("0-1,8-11"), partitions=True)}
    plan = planned(host_of(threads, sets, "252"))
    assert [listed(each.cpus) for each in plan.partitions] == ["8-11", "16-23"]
    plan = planned(host_of(threads, sets, ""))
    assert [listed(each.cpus) for each in plan.partitions] == ["16-23"]


def groups_of(
    cgroup: str, groups: list[str], policy: int = 1, comm: str = "rt", **more: int
) -> list[Thread]:
    return [
        Thread(100 + n * 10, 100 + n * 10 + i, comm, policy, 50, False, min(expand(cpus)),
               expand(cpus), cgroup.format(n), 20_000, more.get("ran"))
        for n, cpus in enumerate(groups) for i in range(2)
    ]  # fmt: skip


def test_threads_whose_list_has_cpus_offline_or_of_another_domain() -> None:
    """The kernel leaves CPUs that went offline in a thread's list, and apply.sh compares lists."""
    threads = groups_of("/system.slice/a{}.service", ["4-7", "8-11", "16-19"])
    threads = [
        replace(each, allowed=expand("8-15")) if each.tgid == 110 else each for each in threads
    ]  # fmt: skip
    facts = host_of(threads, {}, "252")
    plan = planned(replace(facts, online=ALL - expand("12-15")))
    assert [listed(each.cpus) for each in plan.partitions] == ["4-7", "8-11", "16-19"]
    runner = Runner(plan, model_of(facts), by_hand=True)
    for step in steps_of(plan):
        runner.step(step)
    # Online CPUs of another root domain would be lost. They are not free of real-time threads.
    plan = planned(replace(facts, isolated=expand("12-15")))
    assert [listed(each.cpus) for each in plan.partitions] == ["4-7", "16-19"]
    assert "may also run on CPUs 12-15 of another root domain" in plan.left[0]
    assert "a1.service: stays on CPUs 8-15, without a partition" in plan.warnings[0]
    runner = Runner(plan, model_of(facts), by_hand=True)
    busy = {each.tid: each.allowed for each in threads if each.allowed is not None}
    for step in steps_of(plan):
        runner.step(step)
        assert harm(runner.host, busy, plan.free) == [], step


def test_other_threads_have_no_cpu_beside_a_list_over_two_root_domains() -> None:
    threads = groups_of("/system.slice/a{}.service", ["0-7", "8-15", "16-23"])
    with pytest.raises(UserError, match="no CPU would be left for all other tasks"):
        planned(replace(host_of(threads, {}, "252"), isolated=expand("20-23")))


def test_no_partition_takes_cpus_of_a_list_over_two_root_domains() -> None:
    """Neither a group of the other domain nor a guest's emulator gets them."""
    names = ["4-7", "8-11", "12-17", "18-19", "20-21"]
    threads = groups_of("/system.slice/a{}.service", names)
    facts = replace(host_of(threads, {}, "252"), isolated=expand("16-21"))
    plan = planned(facts)
    assert [listed(each.cpus) for each in plan.partitions] == [*names[:2], *names[3:]]
    wide = [
        replace(each, allowed=expand("12-19"), cpu=12) if each.tgid == 120 else each
        for each in threads
    ]
    plan = planned(replace(facts, threads=tuple(wide)))
    assert [listed(each.cpus) for each in plan.partitions] == [*names[:2], names[4]]
    said = "CPUs 18-19: threads of /system.slice/a2.service, of another root domain, may also run"
    assert said in plan.left[1]
    vm = "/machine.slice/machine-qemu\\x2d{}\\x2dvm.scope"
    threads = groups_of(vm, ["6-7", "8-11", "12-23"], comm="CPU 0/KVM")
    plan = planned(replace(host_of(threads, {}, "252"), isolated=expand("20-23")))
    assert [listed(each.cpus) for each in plan.partitions] == ["5-7", "4,8-11"]


def test_offline_cpus_of_a_cgroup_that_becomes_a_partition() -> None:
    """The kernel compares whole lists: no sibling may list one of its CPUs, online or not."""
    offline = expand("5,21,23")
    lists = {"/own1": "1,5,14,16,21,23", "/machine.slice": "0-11,21", "/own0": "8-11"}
    sets = {path: Cpuset(path, expand(cpus), expand(cpus)) for path, cpus in lists.items()}
    threads = groups_of("/own{}", ["8-11", "1,5,14,16,21,23"])
    plan = planned(without(offline, host_of(threads, sets, "")))
    assert [listed(each.cpus) for each in plan.partitions] == ["1,14,16", "8-11"]
    runner = Runner(plan, model_of(without(offline, host_of(threads, sets, ""))), by_hand=True)
    for step in steps_of(plan):
        runner.step(step)
    assert runner.host.cgroups["/machine.slice"].cpus == expand("0,2-4,6-7")
    # A sibling whose other CPUs are offline would first have those of the next group only.
    sets["/machine.slice"] = replace(sets["/machine.slice"], cpus=expand("0,8-11,14"))
    plan = planned(without(expand("0"), host_of(threads, sets, "")))
    assert not plan.partitions
    sets["/machine.slice"] = Cpuset("/machine.slice", expand("0-7"), expand("0-7"))
    # Nobody else can lose what two such cgroups list.
    sets["/own0"] = replace(sets["/own0"], cpus=expand("5,8-11"))
    plan = planned(without(offline, host_of(threads, sets, "")))
    assert not plan.partitions
    assert "CPUs 1,14,16: /own0 has no other CPUs" in plan.left[0]
    assert "or claims these as well" in plan.left[0]


def test_throttling_off_and_a_group_that_stays() -> None:
    """A plan names a group that stays; without throttling a busy one makes a plan impossible."""
    threads = groups_of("/system.slice/a{}.service", ["4-7", "8-11"])
    threads += [replace(each, tid=each.tid + 500, tgid=600, cgroup="/system.slice/roam.service",
                        allowed=ALL) for each in threads[:1]]  # fmt: skip
    said = " ".join(planned(host_of(threads, {}, "252")).warnings)
    assert "/system.slice/roam.service: may run on all CPUs now" in said
    with pytest.raises(UserError, match=r"roam.service would stay.*Throttling is off"):
        planned(host_of(threads, {}, "252", "-1"))
    # All of the period is as much as no limit.
    whole = host_of(threads, {}, "252", "1000000")
    kernel = {**whole.settings, "proc/sys/kernel/sched_rt_period_us": "1000000"}
    with pytest.raises(UserError, match=r"would stay.*is 1000000, all of sched_rt_period_us"):
        planned(replace(whole, settings=kernel))
    little = [replace(each, ran=1_000_000) for each in threads]
    plan = planned(host_of(little, {}, "252", "-1"))
    assert plan.warnings[0].startswith("sched_rt_runtime_us is -1: throttling is off")


def test_one_sentence_for_the_pinned_threads_of_a_service() -> None:
    threads = groups_of("/system.slice/a{}.service", ["4-7", "8-11"])
    odd = [
        replace(each, tid=600 + cpu, tgid=600, cgroup="/system.slice/$x.service",
                allowed=frozenset({cpu}))
        for cpu in (12, 13) for each in threads[:1]
    ]  # fmt: skip
    said = planned(host_of(threads + odd, {}, "252")).warnings
    (stays,) = (each for each in said if "$" in each or "x24" in each)
    assert "stays on CPUs 12-13, without a partition" in stays


def test_what_all_others_use_is_left_to_them() -> None:
    threads = groups_of("/system.slice/a{}.service", ["4-11", "12-17"], ran=16_000_000_000 // 8)
    busy = dict.fromkeys(range(24), 0.0) | dict.fromkeys(range(4, 18), 1.0)
    facts = host_of(threads, {}, "252")
    # Real-time threads ran for 4 of the 14 busy CPUs: 10 are left for others, and are needed.
    assert planned(replace(facts, busy=busy)).need == 10
    busy |= {0: 0.5}
    with pytest.raises(UserError, match=r"11 are needed .it used 10.5 between the two readings"):
        planned(replace(facts, busy=busy))


def test_isolated_cpus_that_others_rely_on_stay_isolated() -> None:
    threads = groups_of("/system.slice/a{}.service", ["16-19", "20-23"])
    facts = host_of(threads, {}, "252")
    isolated = expand("4-23")
    boot = ("isolcpus=domain,managed_irq,4-23", "nohz_full=4-23", "rcu_nocbs=2-19")
    alone = ((300, ALL), *((1, frozenset({cpu})) for cpu in range(4, 12)))
    polled = replace(facts, isolated=isolated, cmdline=boot, affinities=alone)
    busy = {cpu: 1.0 if 4 <= cpu < 12 else 0.0 for cpu in range(24)}
    measured = replace(facts, isolated=isolated, cmdline=boot, busy=busy)
    for each in (polled, measured):
        plan = planned(each)
        assert plan.boot.endswith("use isolcpus=domain,managed_irq,4-11")
        assert plan.free == expand("0-3,12-15")
        said = " ".join(plan.warnings)
        assert "CPUs 4-11 stay isolated" in said
        assert "nohz_full=4-23 no longer fits: CPUs 12-15" in said
        assert "Boot with nohz_full=4-11,16-23." in said
        assert "rcu_nocbs=2-19 lacks CPUs 20-23 of the partitions" in said
    # Threads that poll on CPUs outside the plan need no other CPUs.
    assert planned(measured).need == planned(polled).need < 8
    plan = planned(replace(facts, isolated=isolated, cmdline=boot))
    assert plan.boot.endswith("use isolcpus=managed_irq,4-23")


def test_interrupts_that_go_to_partitions_are_named() -> None:
    facts = host_of(groups_of("/system.slice/a{}.service", ["16-19", "20-23"]), {}, "252")
    irqs = {
        "proc/irq/31/smp_affinity_list": "17,21", "proc/irq/32/smp_affinity_list": "0-23",
        "proc/irq/33/smp_affinity_list": "16",
    }  # fmt: skip
    said = planned(replace(facts, settings={**facts.settings, **irqs})).warnings
    assert sum("of interrupts 31,33 names CPUs of partitions only" in each for each in said) == 1
    assert not any("threads of interrupts" in each for each in said)
    # A PREEMPT_RT kernel, or threadirqs: the thread is not in the partition.
    irq = Thread(30, 30, "irq/31-eth0", 1, 50, True, 17, frozenset({17}), "/")
    said = planned(replace(facts, threads=(*facts.threads, irq))).warnings
    assert sum("irq/31-eth0: these threads of interrupts run on CPUs" in each for each in said) == 1


def test_deadline_threads_that_may_run_anywhere() -> None:
    threads = groups_of("/system.slice/a{}.service", ["16-19", "20-23"])
    threads += groups_of("/system.slice/dl.service", ["0-23"], policy=6, comm="dl")
    with pytest.raises(UserError, match=r"deadline threads .dl in /system.slice/dl.service"):
        planned(host_of(threads, {}, "252"))
    # A partition of type isolated loses no CPU.
    threads[-2:] = groups_of("/dl/x", ["12-15"], policy=6, comm="dl")
    sets = {
        "/": Cpuset("/", effective=ALL - expand("12-15")),
        "/dl": Cpuset("/dl", expand("12-15"), expand("12-15"), partition="isolated"),
    }
    plan = planned(host_of(threads, sets, "252"))
    assert [listed(each.cpus) for each in plan.partitions] == ["16-19", "20-23"]


@pytest.mark.parametrize(("policy", "runtime"), [(6, "950000"), (1, "-1")])
def test_a_partition_that_loses_no_cpu_forbids_nothing(policy: int, runtime: str) -> None:
    mine, rest = expand("4-7"), ALL - expand("4-7")
    facts = host_of(groups_of("/system.slice/a{}.service", ["8-11", "12-15"]), {}, "252", runtime)
    sets = {
        "/": Cpuset("/", effective=rest), "/mine": Cpuset("/mine", mine, mine, partition="root")
    }  # fmt: skip
    inside = groups_of("/mine/s.scope", ["4-5", "6-7"])
    inside += groups_of("/mine/s.scope", ["4-7"], policy=policy, comm="wide")
    inside = [
        replace(each, tid=each.tid + 500 + 50 * (each.comm == "wide"),
                tgid=each.tgid + 500 + 50 * (each.comm == "wide")) for each in inside
    ]  # fmt: skip
    plan = planned(replace(
        facts, cpusets=replace(facts.cpusets, sets=sets), threads=(*facts.threads, *inside)
    ))  # fmt: skip
    assert [listed(each.cpus) for each in plan.partitions] == ["8-11", "12-15"]
    assert plan.free == rest - expand("8-15")
    assert not any("wide" in each or "without a partition" in each for each in plan.warnings)


def test_a_guest_keeps_a_cpu_for_its_emulator() -> None:
    vm = "/machine.slice/machine-qemu\\x2d{}\\x2dvm.scope"
    threads = groups_of(vm, ["8-11", "12-15", "16-19"], comm="CPU 0/KVM")
    plan = planned(host_of(threads, {}, "252"))
    spares = [each.wanted.spare for each in plan.partitions]
    assert all(len(spare) == 1 for spare in spares)
    assert not frozenset().union(*spares) & expand("8-19")
    tight = groups_of(vm, ["4-11", "12-19"], comm="CPU 0/KVM")
    tight += groups_of("/system.slice/b{}.service", ["1-3"])
    tight = [replace(each, tid=each.tid + n, tgid=each.tgid + n) for n, each in enumerate(tight)]
    plan = planned(host_of(tight, {}, "252"))
    assert [listed(each.cpus) for each in plan.partitions] == ["1-3", "0,4-11"]
    assert "Its emulator's threads need another CPU in the partition" in plan.left[0]


def test_groups_of_one_guest_or_pod_are_one() -> None:
    """Threads of a guest may look like processes of their own, one per CPU."""
    vm = "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope"
    threads = [
        replace(each, tgid=each.tid, cgroup=vm)
        for each in groups_of("/x", ["8", "9", "10", "11"])
    ]  # fmt: skip
    others = groups_of("/system.slice/other.service", ["12-15"])
    threads += [replace(each, tgid=900, tid=each.tid + 800) for each in others]
    plan = planned(host_of(threads, {}, "252"))
    assert [listed(each.group.cpus) for each in plan.partitions] == ["8-11", "12-15"]


def test_a_plan_mends_a_partition_that_its_sibling_breaks() -> None:
    sets = {
        "/rt.slice": Cpuset("/rt.slice", expand("16-23"), expand("16-23"), partition="isolated",
                            valid=False, why="Cpu list in cpuset.cpus not exclusive"),
        "/system.slice": Cpuset("/system.slice", expand("0-19"), expand("0-19")),
    }  # fmt: skip
    threads = groups_of("/rt.slice/rt.service", ["16-23"])
    plan = planned(host_of(threads, sets, "252"))
    [partition] = plan.partitions
    assert (partition.path, partition.found) == ("/rt.slice", sets["/rt.slice"])
    kinds = [
        (step.kind, step.args) for step in steps_of(plan) if step.kind in ("narrow", "partition")
    ]
    assert kinds == [
        ("narrow", ("/system.slice", "16-23")), ("partition", ("/rt.slice", "16-23"))
    ]  # fmt: skip
