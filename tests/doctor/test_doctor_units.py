# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Which threads can only be in one partition: the cost and the plan agree about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.facts.cpusets import Cpuset
from doctor.facts.domains import root_domains
from doctor.facts.facts import Facts
from doctor.facts.load import domain_loads, kind_of, unit_of
from doctor.plan.steps import steps_of
from doctor.plan.text import readme
from doctor.predict.shape import shape_of
from host_model import expand
from test_doctor_plan_steps import groups_of, host_of, planned

CPUS = ["8-11", "12-15", "16-19"]
NSPAWN = "/machine.slice/systemd-nspawn@deb.service"
SERVICES = [
    f"systemd-nspawn@{name}-x.service" for name in ("docker", "libpod", "crio", "machine-lxc")
]
SCOPE = "/machine.slice/machine-arch.scope"
PODMAN = "/machine.slice/libpod-{}.scope/container"
JOB = "/system.slice/slurmstepd.scope/job_10{}"
# Guests whose names contain what containers' names begin with.
GUESTS = [
    *(f"/machine/qemu-1-{name}host.libvirt-qemu" for name in ("docker-", "libpod-", "crio-")),
    "/machine/prod.partition/docker-1.libvirt-lxc",
    "/machine/qemu-1-docker-host.libvirt-qemu/vcpu0",
    "/machine.slice/machine-qemu\\x2d1\\x2dlibpod-1.scope",
    "/schedshard0.slice/machine-lxc\\x2d1\\x2dcrio-1.scope",
    "/machine.slice/machine-qemu-1.scope/libvirt",
]
CONTAINERS = [
    "/docker/1f/machine/qemu-1-vm.libvirt-qemu", "/machine.slice/libpod-1f.scope",
    "/system.slice/docker-1f.scope", "/system.slice/crio-1f.scope",
]  # fmt: skip


def groups_in_cost(facts: Facts) -> int:
    [load] = domain_loads(facts, root_domains(facts))
    shape = shape_of(load, facts)
    assert shape is not None
    return shape.groups


@pytest.mark.parametrize(
    "cgroup", ["/user.slice/user-1000.slice/session-3.scope", "/rt", "/", f"{JOB}/step_0/task_0"]
)
def test_processes_of_one_scope_can_be_apart(cgroup: str) -> None:
    """A scope or cgroup with a process for each group, such as a session in which all started."""
    facts = host_of(groups_of(cgroup, CPUS), {}, "252")
    assert groups_in_cost(facts) == 3
    plan = planned(facts)
    if "job" in cgroup:
        assert "SLURM makes this cgroup" in plan.left[0]
        return
    assert [each.group.cpus for each in plan.partitions] == [expand(each) for each in CPUS]
    said = [step.says for step in steps_of(plan) if step.kind == "hand"]
    assert [f"CPUs {each}" in words for each, words in zip(CPUS, said, strict=True)] == [True] * 3


@pytest.mark.parametrize("cgroup", ["/system.slice/app.service", PODMAN.format(1)])
def test_processes_of_one_service_are_one(cgroup: str) -> None:
    facts = host_of(groups_of(cgroup, CPUS), {}, "252")
    assert groups_in_cost(facts) == 1
    plan = planned(facts)
    assert plan.partitions == ()
    assert "belong to one process, service, guest or container" in plan.left[0]
    assert ("start /system.slice/app.service as several services" in plan.left[0]) == (
        "app.service" in cgroup
    )


@pytest.mark.parametrize(("version", "systemd"), [(1, "252"), (2, "243"), (2, "")])
def test_processes_of_a_service_move_where_systemd_does_not(version: int, systemd: str) -> None:
    facts = host_of(groups_of("/system.slice/app.service", CPUS), {}, systemd)
    facts = replace(facts, cpusets=replace(facts.cpusets, version=version))
    assert groups_in_cost(facts) == 3
    moved = [step.args[1] for step in steps_of(planned(facts)) if step.kind == "move"]
    assert moved == CPUS


def test_threads_that_link_guests_are_named() -> None:
    """Iothreads of all guests on the same CPUs: the guests can be apart once these are."""
    vm = "/machine.slice/machine-qemu\\x2d{}\\x2dvm.scope/libvirt/vcpu0"
    guests = groups_of(vm, CPUS, comm="CPU 0/KVM")
    links = [
        replace(each, tid=each.tid + 500, comm="IO iothread1", allowed=expand("0-3"), voluntary=5)
        for each in guests[::2]
    ]
    facts = host_of([*guests, *links], {}, "252")
    assert groups_in_cost(facts) == 3
    [why] = planned(facts).left
    assert "share CPUs 0-3, which joins all groups" in why
    assert "iothread1" in why
    busy = [replace(each, voluntary=20_000) for each in links]
    assert groups_in_cost(host_of([*guests, *busy], {}, "252")) == 1


def test_what_is_in_several_groups_is_named_and_not_threads_beside_it() -> None:
    """To pin the thread of helper.service elsewhere would divide nothing."""
    app = groups_of("/system.slice/app.service", CPUS)
    one = [replace(each, tgid=100) for each in app]
    helper = replace(
        app[0], tid=900, tgid=900, comm="helper", cgroup="/system.slice/helper.service"
    )
    for threads, several in ((one, False), (app, True)):
        [why] = planned(host_of([*threads, helper], {}, "252")).left
        assert "threads of /system.slice/app.service are in several of these groups" in why
        assert "pin these threads" not in why
        assert "helper" not in why
        assert ("start /system.slice/app.service as several" in why) == several


def test_jobs_of_slurm_stay_where_they_are() -> None:
    sets = {
        JOB.format(n): Cpuset(JOB.format(n), expand(cpus), expand(cpus), frozenset(),
                              partitions=True)
        for n, cpus in enumerate(CPUS)
    }  # fmt: skip
    plan = planned(host_of(groups_of(JOB + "/step_0/user/task_0", CPUS), sets, "252"))
    assert [each.path for each in plan.partitions] == sorted(sets)
    assert all(each.remote for each in plan.partitions)
    text = readme(plan, hot=True)
    assert "Nothing makes the partitions at boot" in text
    assert "SLICE-partition.service" not in text


def test_a_rootless_container_is_started_by_root() -> None:
    own = "/user.slice/user-1.slice/user@1.service/user.slice/libpod-{}.scope/container"
    threads = [
        each for n, cgroup in enumerate((own, PODMAN))
        for each in groups_of(cgroup, CPUS)[2 * n : 2 * n + 2]
    ]  # fmt: skip
    said = [step.says for step in steps_of(planned(host_of(threads, {}, "252")))]
    hand = [words for words in said if words.startswith("by hand")]
    assert ["as root" in words for words in hand] == [True, False]
    assert all("--cgroup-parent=schedshard" in words for words in hand)


def test_a_container_of_systemd_is_no_guest_of_libvirt() -> None:
    """Its service has a drop-in as others have. Another program may have made a scope."""
    threads = [
        each for n, cgroup in enumerate((f"{NSPAWN}/payload/rt.service", f"{SCOPE}/payload"))
        for each in groups_of(cgroup, CPUS)[2 * n : 2 * n + 2]
    ]  # fmt: skip
    plan = planned(host_of(threads, {}, "252"))
    assert not any(each.wanted.spare for each in plan.partitions)
    steps = steps_of(plan)
    assert [step.args[0] for step in steps if step.kind == "restart"] == [NSPAWN.rpartition("/")[2]]
    (hand,) = (step.says for step in steps if step.kind == "hand")
    assert hand.endswith(
        "stop it, and start it in schedshard1.slice (systemd-nspawn --slice=schedshard1.slice, if "
        "systemd-nspawn made this scope)"
    )
    assert "libvirt" not in readme(plan, hot=True)


def test_units_and_their_kinds() -> None:
    job = JOB.format(0)
    for cgroup, unit, kind in (
        (f"{job}/step_0/user/task_0", job, "job"),
        ("/system.slice/slurmstepd.scope/system", "/system.slice/slurmstepd.scope", "other"),
        (PODMAN.format(1), "/machine.slice/libpod-1.scope", "container"),
        ("/machine/vm1", "/machine/vm1", "guest"),
        (f"{NSPAWN}/payload/a.slice/b.service", NSPAWN, "service"),
        *((f"/machine.slice/{name}",) * 2 + ("service",) for name in SERVICES),
        (f"{SCOPE}/payload/init.scope", SCOPE, "nspawn"),
        ("/machine.slice/machine-docker-x.scope", "/machine.slice/machine-docker-x.scope",
         "nspawn"),
        *((unit, unit.removesuffix("/libvirt"), "guest") for unit in GUESTS),
        *((unit, unit, "container") for unit in CONTAINERS),
        ("/user.slice/user-1.slice/user@1.service/a.slice/b.service/c",
         "/user.slice/user-1.slice/user@1.service/a.slice/b.service", "service"),
    ):  # fmt: skip
        assert (unit_of(cgroup), kind_of(unit)) == (unit, kind)


def test_only_ascii_digits_make_numbers() -> None:
    zero, seven = "\N{ARABIC-INDIC DIGIT ZERO}", "\N{ARABIC-INDIC DIGIT SEVEN}"
    facts = host_of([], {}, seven * 3, seven + zero * 6)
    period = {"proc/sys/kernel/sched_rt_period_us": "1000000"}
    facts = replace(facts, settings={**facts.settings, **period})
    assert (facts.systemd, facts.unthrottled) == (0, "")
    assert kind_of(f"/qemu.slice/{seven}.scope") == "other"
    job = "/system.slice/slurmstepd.scope"
    assert unit_of(f"{job}/job_{seven}/step_0") == job
