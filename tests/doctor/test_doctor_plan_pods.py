# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plans for pods and jobs, whose cgroups become partitions where they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.facts.cpusets import Cpuset
from doctor.facts.facts import Facts
from doctor.plan.plan import Plan
from doctor.plan.steps import steps_of
from doctor.plan.text import readme
from host_model import expand, harm, listed
from test_doctor_plan_steps import Runner, groups_of, host_of, model_of, planned

POD = "/kubepods.slice/pod{0}.slice/cri-{0}.scope"


def pods(*groups: str) -> dict[str, Cpuset]:
    """Return the cpusets of pods, each with its CPUs."""
    return {
        POD.format(n): Cpuset(
            POD.format(n), expand(cpus), expand(cpus), frozenset(), partitions=True
        )
        for n, cpus in enumerate(groups)
    }  # fmt: skip


def applied(facts: Facts) -> Plan:
    """Carry out a plan on a model of the machine: no step hurts or is refused."""
    plan, host = planned(facts), model_of(facts)
    runner = Runner(plan, host, by_hand=True)
    busy = {each.tid: each.allowed or frozenset() for each in facts.threads if not each.kernel}
    for step in steps_of(plan):
        runner.step(step)
        assert harm(host, busy, plan.free) == [], step
    assert host.rest == plan.rest
    return plan


@pytest.mark.parametrize("systemd", ["252", "262", ""])
def test_a_service_on_cpus_of_the_cgroup_above_a_pod(systemd: str) -> None:
    """Before Linux 7.0 a sibling that lists CPU 0 forbids a partition of CPU 0."""
    threads = groups_of(POD, ["1"])
    threads += [replace(each, tid=each.tid + 50, tgid=500, cgroup="/system.slice/app0.service",
                        allowed=expand("0")) for each in threads]  # fmt: skip
    top = Cpuset("/kubepods.slice", expand("0-2"), expand("0-2"), frozenset(), partitions=True)
    plan = applied(host_of(threads, {top.path: top, **pods("1")}, systemd))
    assert [listed(each.cpus) for each in plan.partitions] == ["0", "1"]
    narrow = [step.args for step in steps_of(plan) if step.kind == "narrow"]
    assert narrow == [("/kubepods.slice", "0")]
    said = " ".join(readme(plan, True).split())
    assert "/kubepods.slice keeps CPUs 1-2, and loses CPUs 0," in said
    # The pod's partition may be there already. The cgroup above then lists its CPUs as exclusive.
    top = replace(top, effective=expand("0,2"), exclusive=expand("1"))
    pod = replace(pods("1")[POD.format(0)], exclusive=expand("1"), partition="root")
    rest = Cpuset("/", effective=expand("0,2-23"))
    threads += [replace(each, tid=each.tid + 60, tgid=600, cgroup="/system.slice/app1.service",
                        allowed=expand("3")) for each in threads[:2]]  # fmt: skip
    plan = applied(host_of(threads, {"/": rest, top.path: top, pod.path: pod}, systemd))
    assert [listed(each.cpus) for each in plan.partitions] == ["0", "3"]


@pytest.mark.parametrize(("beside", "cpus"), [
    ("/kubepods.slice/pod0.slice/side.scope", "8,2"), ("/kubepods.slice/pod9.slice", "8-9"),
])  # fmt: skip
def test_a_cgroup_that_the_kernel_wants_apart_from_a_pod(beside: str, cpus: str) -> None:
    """A container of the same pod lists its CPU, or another pod has no other CPUs."""
    threads, sets = groups_of(POD, ["8-11", "12-15"]), pods("8-11", "12-15")
    sets[beside] = replace(sets[POD.format(0)], path=beside, cpus=expand(cpus))
    plan = planned(host_of(threads, sets, "252"))
    assert [listed(each.cpus) for each in plan.partitions] == ["12-15"]
    assert f"CPUs 8-11: {beside} " in plan.left[0]
    assert "claims these as well: change its cpuset.cpus first" in plan.left[0]
    sets[beside] = replace(sets[beside], cpus=expand("2-3"))
    assert len(applied(host_of(threads, sets, "252")).partitions) == 2


def test_another_cgroup_beside_the_jobs_of_a_scope() -> None:
    """After the first partition it would have only the CPUs of the second job."""
    scope = "/system.slice/slurmstepd.scope"
    threads = groups_of(f"{scope}/job_{{}}/step_0", ["8-11", "12-15"])
    sets = {scope: Cpuset(scope, expand("8-15"), expand("8-15"), frozenset(), partitions=True)}
    for n, cpus in enumerate((expand("8-11"), expand("12-15"))):
        path = f"{scope}/job_{n}"
        sets[path] = Cpuset(path, cpus, cpus, frozenset(), partitions=True)
    alone = planned(host_of(threads, sets, "252"))
    assert [each.path for each in alone.partitions] == [f"{scope}/job_0", f"{scope}/job_1"]
    said = readme(alone, hot=True)
    assert "SLURM makes a new cgroup for the next job: run doctor again." in said
    assert "Change its configuration" not in said
    other = f"{scope}/system"
    sets[other] = Cpuset(other, frozenset(), expand("8-15"), frozenset(), partitions=True)
    plan = planned(host_of(threads, sets, "252"))
    assert not plan.partitions
    assert f"CPUs 8-11: {scope} has no other CPUs" in plan.left[0]


def test_pods_in_place_need_a_kernel_that_can() -> None:
    groups = ["8-11", "12-15"]
    sets = pods(*groups)
    plan = planned(host_of(groups_of(POD, groups), sets, "252"))
    assert all(each.remote for each in plan.partitions)
    assert "The manager that makes these cgroups sets their type" in readme(plan, hot=True)
    lists = [step.args for step in steps_of(plan) if step.kind == "exclusive"]
    assert lists[0] == ("/kubepods.slice", "8-11")
    assert len(lists) == 6
    old = {path: replace(each, exclusive=None) for path, each in sets.items()}
    plan = planned(host_of(groups_of(POD, groups), old, "252"))
    assert plan.partitions == ()
    assert all("see Kubernetes" in each for each in plan.left)
    assert not plan.exclusive
