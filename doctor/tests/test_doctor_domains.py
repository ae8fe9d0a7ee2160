# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests root domains and their loads, by the kernel's rules, over a matrix of configurations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.facts.cpusets import Cpuset, Cpusets
from doctor.facts.domains import Domains, root_domains
from doctor.facts.facts import FIFO, Facts, Thread
from doctor.facts.load import domain_loads
from doctor.facts.topology import Cpu
from doctor.facts.values import cpu_list


def facts(
    version: int = 2,
    isolated: str = "",
    release: tuple[int, int, int] = (6, 12, 20),
    online: str = "0-15",
    part: bool = False,
    **sets: Cpuset,
) -> Facts:
    """A machine of 16 CPUs; each keyword is a cpuset, top is the root."""
    paths = {("/" if key == "top" else cpuset.path): cpuset for key, cpuset in sets.items()}
    cpus = cpu_list(online)
    return Facts(
        "6.12.20", release, "", {cpu: Cpu(cpu, 0, 0, cpu_list(f"{cpu // 4 * 4}-{cpu // 4 * 4 + 3}"))
                                 for cpu in cpus},
        cpus, cpu_list(isolated), frozenset(), {}, (), {},
        Cpusets(version, "/sys/fs/cgroup", part, paths), (), 2.0, None, {},
    )  # fmt: skip


def v2(path: str, partition: str, effective: str, valid: bool = True, cpus: str = "") -> Cpuset:
    mask = cpu_list(effective)
    return Cpuset(path, cpu_list(cpus or effective), mask, partition=partition, valid=valid)


def v1(path: str, cpus: str, balance: bool) -> Cpuset:
    return Cpuset(path, cpu_list(cpus), cpu_list(cpus), load_balance=balance)


def shape(domains: Domains) -> set[tuple[str, bool]]:
    return {(domain.label, domain.default) for domain in domains.domains}


TOP = Cpuset("/", effective=cpu_list("0-15"))


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (facts(0), {("0-15", False)}),
        (facts(0, isolated="4-15"), {("0-3", False), ("4-15", True)}),
        (facts(2, top=TOP), {("0-15", False)}),
        (facts(2, "8-15", top=TOP), {("0-7", False), ("8-15", True)}),
        # Two partitions of type root: each has its own.
        (
            facts(
                top=replace(TOP, effective=cpu_list("0-7")),
                a=v2("/a", "root", "8-11"),
                b=v2("/b", "root", "12-15"),
            ),
            {("0-7", False), ("8-11", False), ("12-15", False)},
        ),
        # Two isolated partitions share def_root_domain, also with boot-time isolation.
        (
            facts(
                top=replace(TOP, effective=cpu_list("0-7")),
                a=v2("/a", "isolated", "8-11"),
                b=v2("/b", "isolated", "12-15"),
            ),
            {("0-7", False), ("8-15", True)},
        ),
        (
            facts(
                isolated="4-7",
                top=replace(TOP, effective=cpu_list("0-7")),
                a=v2("/a", "isolated", "8-11"),
                b=v2("/b", "root", "12-15"),
            ),
            {("0-3", False), ("4-11", True), ("12-15", False)},
        ),
        # A partition that the kernel calls invalid changes nothing.
        (
            facts(top=TOP, a=v2("/a", "root", "0-15", valid=False, cpus="8-11")),
            {("0-15", False)},
        ),
        # A nested partition takes its CPUs from its parent's effective ones.
        (
            facts(
                top=replace(TOP, effective=cpu_list("0-7")),
                a=v2("/a", "root", "8-11", cpus="8-15"),
                b=v2("/a/b", "root", "12-15"),
            ),
            {("0-7", False), ("8-11", False), ("12-15", False)},
        ),
        # Version 1: nothing happens while the root cpuset balances.
        (
            facts(1, top=v1("/", "0-15", True), a=v1("/a", "8-15", True)),
            {("0-15", False)},
        ),
        (
            facts(1, top=v1("/", "0-15", False), a=v1("/a", "0-7", True), b=v1("/b", "8-11", True)),
            {("0-7", False), ("8-11", False), ("12-15", True)},
        ),
        # Overlapping cpusets that balance are one set.
        (
            facts(1, top=v1("/", "0-15", False), a=v1("/a", "0-7", True), b=v1("/b", "6-11", True)),
            {("0-11", False), ("12-15", True)},
        ),
        # Children of a cpuset that does not balance count; those of one that balances do not.
        (
            facts(
                1,
                top=v1("/", "0-15", False),
                a=v1("/a", "0-7", False),
                a1=v1("/a/1", "0-3", True),
                b=v1("/b", "8-15", True),
                b1=v1("/b/1", "8-11", True),
            ),
            {("0-3", False), ("8-15", False), ("4-7", True)},
        ),
        (facts(0, online="0-7"), {("0-7", False)}),
    ],
)
def test_rules(machine: Facts, expected: set[tuple[str, bool]]) -> None:
    domains = root_domains(machine)
    assert shape(domains) == expected
    assert domains.unsure == ()


def test_what_is_in_doubt_is_said() -> None:
    inner = v2("/slice/rt", "root", "12-15")
    outer = v2("/slice", "member", "0-11")
    top = replace(TOP, effective=cpu_list("0-11"))
    old = root_domains(facts(release=(6, 8, 0), top=top, a=outer, b=inner))
    assert "6.7 to 6.10" in old.unsure[0]
    new = root_domains(facts(release=(6, 18, 0), top=top, a=outer, b=inner))
    assert new.unsure == ()
    assert shape(new) == {("0-11", False), ("12-15", False)}
    leaking = facts(isolated="4-7", release=(6, 12, 9), top=top, b=v2("/rt", "root", "12-15"))
    assert "9b496a8bbed9" in root_domains(leaking).unsure[0]
    assert root_domains(replace(leaking, version=(6, 12, 10))).unsure == ()


def test_a_part_of_the_tree_is_no_proof() -> None:
    top = replace(TOP, effective=cpu_list("0-3"))
    domains = root_domains(facts(part=True, top=top))
    assert "only a part" in domains.unsure[0]
    assert not any(domain.default for domain in domains.domains)


def test_why_is_said() -> None:
    top = replace(TOP, effective=cpu_list("0-7"))
    machine = facts(isolated="4-7", top=top, a=v2("/rt.slice", "isolated", "8-15"))
    [default] = [domain for domain in root_domains(machine).domains if domain.default]
    assert default.because == "isolcpus 4-7, isolated partition /rt.slice"


STATES = st.sampled_from(("member", "root", "isolated"))


@settings(deadline=None)
@given(
    st.lists(st.tuples(STATES, st.booleans()), min_size=4, max_size=4),
    st.frozensets(st.integers(0, 15), max_size=6),
    st.booleans(),
)
def test_every_cpu_has_one_root_domain(
    states: list[tuple[str, bool]], isolated: frozenset[int], legacy: bool
) -> None:
    sets: dict[str, Any] = {}
    taken: frozenset[int] = frozenset()
    for number, (kind, valid) in enumerate(states):
        mask = cpu_list(f"{number * 4}-{number * 4 + 3}")
        sets[f"s{number}"] = Cpuset(
            f"/{number}", mask, mask, partition=kind, valid=valid, load_balance=kind == "root"
        )
        if kind != "member" and valid:
            taken |= mask
    top = Cpuset("/", effective=TOP.effective - taken if TOP.effective else None)
    machine = facts(1 if legacy else 2, top=replace(top, load_balance=False), **sets)
    machine = replace(machine, isolated=isolated)
    domains = root_domains(machine)
    everybody = [cpu for domain in domains.domains for cpu in domain.cpus]
    assert sorted(everybody) == list(range(16))
    assert sum(domain.default for domain in domains.domains) <= 1
    for cpu in isolated:
        domain = domains.of(cpu)
        assert domain is not None
        assert domain.default


def thread(tid: int, allowed: str, slept: int, **more: bool) -> Thread:
    return Thread(tid, tid, f"t{tid}", FIFO, 50, more.get("kernel", False),
                  min(cpu_list(allowed)), cpu_list(allowed), "/g", slept)  # fmt: skip


def test_load_of_each_domain() -> None:
    top = replace(TOP, effective=cpu_list("0-7"))
    machine = replace(
        facts(top=top, a=v2("/a", "isolated", "8-15")),
        threads=(
            thread(1, "8-11", 100),
            thread(2, "10-11", 300),
            thread(3, "12-15", 50),
            thread(4, "0-15", 20, kernel=True),
            replace(thread(5, "0", 1000, kernel=True), comm="migration/0"),
        ),
    )
    loads = {load.domain.label: load for load in domain_loads(machine, root_domains(machine))}
    isolated = loads["8-15"]
    assert isolated.wakeups == 225.0
    assert [group.wakeups for group in isolated.groups] == [200.0, 25.0]
    assert [sorted(group.cpus)[0] for group in isolated.groups] == [8, 12]
    assert isolated.llcs == 2
    assert isolated.known
    rest = loads["0-7"]
    assert (rest.wakeups, rest.kernel) == (10.0, 10.0)
    assert rest.user_threads == 0
    assert rest.apart == ()
    assert len(isolated.apart) == 2


def test_who_may_run_everywhere_or_hardly_runs_ties_no_groups_together() -> None:
    threads = (
        thread(1, "0-3", 10),
        thread(2, "8-11", 30),
        thread(3, "0-15", 2, kernel=True),
        thread(4, "0-15", 4),
        thread(5, "2-9", 0),
    )
    machine = replace(facts(0), threads=threads)
    [load] = domain_loads(machine, root_domains(machine))
    assert [sorted(group.cpus)[0] for group in load.apart] == [8, 0]
    assert [group.wakeups for group in load.groups if group.roams] == [3.0]
    assert load.wakeups == 23.0
    assert load.llcs == 2
    alone = replace(machine, threads=threads[3:4])
    [load] = domain_loads(alone, root_domains(alone))
    assert [len(group.cpus) for group in load.apart] == [16]
