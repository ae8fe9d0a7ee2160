# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The README of a plan: its steps in order, and the settings that it leaves to others."""

from __future__ import annotations

from doctor.plan.managers import head, item, kubernetes, libvirt, proxmox, wrapped
from doctor.plan.names import shown
from doctor.plan.plan import CPUSET_PARTITION, Plan
from doctor.plan.steps import REST, by_hand, by_setting, late_units
from model.machines.topo import label


def _table(plan: Plan) -> list[str]:
    lines = head("Partitions" if plan.version == 2 else "Cpusets")
    for each in plan.partitions:
        how = "is made"
        if each.found is not None and plan.version == 1:
            how = "exists"
        elif each.found is not None:
            how = f"was '{each.found.partition}', becomes 'root'"
        mems = f", memory nodes {label(each.mems)}" if each.mems else ""
        spare = each.wanted.spare
        emulator = f", of which {label(spare)} for the emulator's threads" if spare else ""
        lines += item(
            f"{each.path}: CPUs {label(each.cpus)}{emulator}{mems}; {how}; "
            f"{len(each.group.threads)} real-time threads, {each.group.wakeups:,.0f} wake-ups per "
            "second"
        )
    lines += item(
        f"CPUs {label(plan.rest)} stay for all other tasks. Of these, CPUs {label(plan.free)} have "
        f"no real-time threads; {plan.need} such CPUs are needed."
    )
    for sibling in plan.siblings if plan.version == 2 else ():
        taken = frozenset[int]().union(*(each.listed for each in plan.losses(sibling)))
        have = sibling.claimed
        lines += item(
            f"{sibling.path} keeps CPUs {label(have - taken)}, and loses CPUs "
            f"{label(have & taken)}, group by group."
        )
    return lines


def _at_boot(plan: Plan) -> str:
    if plan.version == 2 and plan.systemd is not None and not late_units(plan):
        return "Nothing makes the partitions at boot, because they are cgroups of other managers."
    if plan.version == 1:
        return "After each boot, and each start of such a workload, run apply.sh again."
    if plan.systemd is None:
        return "No systemd is running that could set CPUs: run apply.sh after each boot."
    if plan.systemd >= CPUSET_PARTITION:
        return "systemd makes the partitions again at each boot, by CPUSetPartition=."
    version = f"systemd {plan.systemd}" if plan.systemd else "a systemd of unknown version"
    return (
        f"CPUSetPartition= came with systemd {CPUSET_PARTITION}, and this is {version}. So a "
        "service per partition, SLICE-partition.service, makes it at each boot."
    )


def _steps(plan: Plan) -> list[str]:
    lines = head("Steps")
    if plan.boot:
        lines += item(
            "Change the boot options first, because the kernel puts no CPU of isolcpus=domain into "
            f"a separate root domain. {plan.boot}. Then reboot."
        )
    lines += item("sh apply.sh --dry-run prints each step, and the state expected after it.")
    lines += item(
        "As root: sh apply.sh. It goes group by group, and stops at the first unexpected state. A "
        "group's cgroup is an ordinary member until its threads are in it. Then it becomes a "
        "partition."
        if plan.version == 2 else
        "As root: sh apply.sh. It moves the threads of one group after the other, and makes the "
        "root domains in its last step. It stops at the first unexpected state."
    )  # fmt: skip
    restarts = [unit.rpartition("/")[2] for unit in by_setting(plan)]
    if restarts:
        names = ", ".join(restarts[:4]) + (" ..." if len(restarts) > 4 else "")
        lines += item(
            f"It restarts {len(restarts)} service{'s' if len(restarts) > 1 else ''}, one after the "
            f"other ({names}): each is down for as long as it takes to start."
        )
    lines += item(
        "Status 3: something has to be done by hand, see below. Do it, and run apply.sh again: it "
        "goes on from there. Groups that are not done yet keep their CPUs."
    )
    lines += item("sh verify.sh shows the state of the plan in the kernel, at any time.")
    lines += item(
        "sh undo.sh restores the state that apply.sh found, from any point. It restarts the same "
        "services."
    )
    lines += item(_at_boot(plan))
    late = late_units(plan).values()
    lost = [each for each in plan.partitions if each.found is not None and each not in late]
    if plan.version == 1 or plan.systemd is None:
        lost = []
    others = [each.path for each in lost if each.wanted.kind != "job"]
    if others:
        lines += item(
            "The manager that makes these cgroups sets their type at the next start. Change its "
            "configuration as well:"
        )
        lines += [f"    {path}" for path in others]
    if len(others) < len(lost):
        lines += item("SLURM makes a new cgroup for the next job: run doctor again.")
    return lines


def _moves(plan: Plan) -> list[str]:
    lines = head("Who moves where")
    settings = by_setting(plan)
    for each in plan.partitions:
        if each.found is not None:
            lines += item(f"{each.path}: its threads are there already.")
        elif plan.version == 1:
            lines += item(f"{each.path}: apply.sh moves the real-time threads alone.")
        elif plan.systemd is None and each.wanted.kind in ("service", "other"):
            lines += item(f"{each.path}: apply.sh moves the processes.")
        else:
            for unit in each.units:
                if settings.get(unit) is each:
                    name = unit.rpartition("/")[2]
                    lines += item(f"apply.sh restarts {name}: it starts in {each.name}.")
                else:
                    cpus = label(each.group.cpus)
                    lines += item(f"by hand: {unit}, CPUs {cpus}: {by_hand(plan, each, unit)}.")
            if not each.units:
                lines += item(f"by hand: threads of the root cgroup: {by_hand(plan, each, '/')}.")
    return lines


def _several_domains(plan: Plan) -> list[str]:
    """Return what to do with other threads of cpusets of version 1 that overlap groups."""
    names: dict[frozenset[int], list[str]] = {}
    for each in plan.siblings:
        cpus = (each.cpus or each.effective or frozenset()) & plan.free
        names.setdefault(cpus, []).append(shown(each.path))
    lines = []
    for cpus, found in names.items():
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        if cpus:
            how = f"before you apply, pin those that are not real-time to CPUs {label(cpus)}"
        else:
            how = f"once apply.sh has made {REST}, move those that are not real-time there"
        lines += item(
            f"Other threads of {', '.join(found[:3])}{more} keep CPUs of several root domains. One "
            f"that waits there behind a real-time thread is not moved away: {how}."
        )
    return lines


def _costs(plan: Plan) -> list[str]:
    lines = head("What it costs others")
    if plan.version == 1:
        lines += item(
            f"Threads that may run anywhere move to {REST}, with CPUs {label(plan.rest)}. "
            "Otherwise load balancing could no longer move a thread that waits behind a busy "
            "real-time thread."
        )
        lines += _several_domains(plan)
        return lines + item("No load is balanced between root domains any more.")
    lines += item("No other task runs on the CPUs of a partition any more, even when they idle.")
    lines += item(
        "Pinned threads of no group run on those of their CPUs that are not taken, or on CPUs "
        f"{label(plan.rest)} if all are taken. undo.sh pins them again."
    )
    lines += item(
        "A whole process is in one partition: its threads that are not real-time move as well, and "
        "share the partition's CPUs."
    )
    lines += item(
        "A service whose CPUAffinity= names CPUs of partitions only does not start while they are "
        "in force (seen on Linux 7.2 and 7.3, not on 6.1). verify.sh and undo.sh name those."
    )
    return lines + item(
        "The kernel balances load among a partition's CPUs: pin threads that must not move."
    )


def readme(plan: Plan, hot: bool) -> str:
    """Return README.txt. ``hot``: whether doctor found that sharing among the groups costs much."""
    lines = wrapped(
        "A plan of schedshard doctor: each group of real-time threads gets a separate root domain. "
        "Nothing was applied."
    )
    if not hot:
        lines += ["", *wrapped(
            "Doctor found nothing hot here. The plan is correct but gains little: leave the "
            "machine as it is, unless you have another reason."
        )]  # fmt: skip
    if plan.warnings:
        lines += head("Warnings")
        for warning in plan.warnings:
            lines += item(warning)
    lines += _table(plan) + _steps(plan) + _moves(plan)
    lines += libvirt(plan) + kubernetes(plan) + proxmox(plan) + _costs(plan)
    if plan.left:
        lines += head("Left as it is")
        for reason in plan.left:
            lines += item(reason)
    return "\n".join(lines) + "\n"


def only_text(plan: Plan) -> str:
    """Return README.txt for a machine on which the owners of guests or pods make all settings."""
    lines = wrapped("A plan of schedshard doctor, for the owners of guests and pods.")
    return "\n".join(lines + kubernetes(plan) + proxmox(plan)) + "\n"


def summary(plan: Plan) -> str:
    """Return why a plan has no partitions."""
    return shown(plan.left[0]) if plan.left else "no real-time threads are in groups of CPUs"
