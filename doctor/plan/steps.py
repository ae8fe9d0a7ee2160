# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The steps of a plan. apply.sh runs them in order, and stops at the first unexpected state.

It handles one group at a time. The group's cgroup gets the CPUs and stays an ordinary member. Then
the threads move into it, and siblings lose these CPUs. Only then it becomes a partition. So threads
that have not moved yet keep all of their CPUs, whatever happens in between.

With cgroup v1 the last steps make all root domains at once. No thread loses a CPU before that.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from doctor.plan.groups import Partition
from doctor.plan.names import quoted
from doctor.plan.plan import CPUSET_PARTITION, Plan
from model.machines.topo import label

DROP_IN = "50-schedshard.conf"
REST = "/schedshard-rest"


@dataclass(frozen=True)
class Step:
    """One step: its kind and arguments, its description, and the expected state afterwards.

    ``group`` counts from 0; -1 is a step of no group. apply.sh implements the kinds.
    """

    kind: str
    group: int
    args: tuple[str, ...]
    says: str
    then: str

    @property
    def line(self) -> str:
        """Return the step for the scripts: fields separated by tabs, none of them empty."""
        args = [*self.args, "-", "-", "-"][:3]
        return "\t".join([self.kind, str(self.group), *args, self.says, self.then])


def by_setting(plan: Plan) -> dict[str, Partition]:
    """Return the services that a drop-in moves to a partition, each with that partition."""
    held = Counter(unit for each in plan.partitions for unit in each.units)
    found = {}
    for each in plan.partitions:
        if each.found is not None or plan.systemd is None:
            continue
        for unit in each.units:
            top = unit.strip("/").partition("/")[0]
            ours = each.wanted.kind == "service" and top.endswith(".slice")
            if ours and held[unit] == 1 and top != "user.slice":
                found[unit] = each
    return found


def by_hand(plan: Plan, partition: Partition, unit: str) -> str:
    """Return what the administrator has to do to move a unit, in one sentence."""
    kind, cpus = partition.wanted.kind, label(partition.cpus)
    if kind == "guest":
        return "shut the guest down, change its XML (README.txt: libvirt), and start it"
    if kind == "nspawn":
        return (
            f"stop it, and start it in {partition.name} (systemd-nspawn --slice={partition.name}, "
            "if systemd-nspawn made this scope)"
        )
    if kind == "container":
        # A user's own manager cannot start anything in a slice of the system.
        who = "as root, " if "/user@" in unit else ""
        where = f"--cgroup-parent={partition.name} --cpuset-cpus={cpus}"
        return f"start the container {who}with {where}"
    if plan.systemd is None:
        where = quoted(f"{plan.place}{partition.path}/cgroup.procs")
        return f"start it from a shell that did: echo $$ > {where}"
    return f"start it with systemd-run --scope --slice={partition.name} COMMAND"


def _late(plan: Plan, each: Partition) -> str:
    """Return the unit that makes the partition at each boot, empty if there is none."""
    version = plan.systemd
    if version is None or each.remote or (each.found is not None and each.path.count("/") > 1):
        return ""
    if version >= CPUSET_PARTITION:
        return f"{each.name}.d/{DROP_IN}" if each.path.endswith(".slice") else ""
    return f"{late_name(each)}.service"


def late_name(each: Partition) -> str:
    """Return the name of the service that makes a partition at boot, without its suffix."""
    stem = each.name.rpartition(".")[0] or each.name
    return f"{'' if stem.startswith('schedshard') else 'schedshard-'}{stem}-partition"


def late_units(plan: Plan) -> dict[str, Partition]:
    """Return the units that make partitions at each boot, each with its partition."""
    return {name: each for each in plan.partitions if (name := _late(plan, each))}


def _member(plan: Plan, number: int, each: Partition) -> list[Step]:
    """Return the steps that make the cgroup an ordinary member with its CPUs."""
    cpus, file = label(each.cpus), f"{each.path}/{plan.prefix}cpuset"
    steps = []
    if each.found is not None:
        return []
    if plan.systemd is not None:
        steps.append(Step(
            "install", number, (each.name,), f"install the unit {each.name}",
            "the file is there; nothing else changed",
        ))  # fmt: skip
        for unit, partition in by_setting(plan).items():
            name = unit.rpartition("/")[2]
            if partition is each:
                steps.append(Step(
                    "install", number, (f"{name}.d/{DROP_IN}",),
                    f"install a drop-in: from its next start on {name} is in {each.name}",
                    "the file is there; the service runs on as before",
                ))  # fmt: skip
        steps.append(Step(
            "start", number, (each.name, each.path), f"systemctl start {each.name}",
            f"{file.rpartition('/')[0]} exists, an ordinary member without threads",
        ))  # fmt: skip
    else:
        steps.append(Step(
            "make", number, (each.path,), f"make the cgroup {each.path}",
            "it exists, an ordinary member without threads",
        ))  # fmt: skip
    if each.mems or plan.version == 1:
        mems = label(each.mems or plan.mems)
        steps.append(Step(
            "put", number, (f"{each.path}/{plan.prefix}mems", mems),
            f"memory nodes {mems} for {each.path}", "its memory nodes read back",
        ))  # fmt: skip
    steps.append(Step(
        "put", number, (f"{each.path}/{plan.prefix}cpus", cpus),
        f"CPUs {cpus} for {each.path}",
        "its CPUs read back; it is not a partition, and all others may use these CPUs as before",
    ))  # fmt: skip
    return steps


def _move(plan: Plan, number: int, each: Partition) -> list[Step]:
    """Return the steps that move the threads into the cgroup. They keep their CPUs."""
    cpus, count = label(each.cpus), len(each.group.threads)
    after = f"{count} real-time threads run in {each.path}, on CPUs {label(each.group.cpus)}"
    steps = []
    if each.found is None:
        settings = by_setting(plan)
        names = [unit.rpartition("/")[2] for unit in each.units if settings.get(unit) is each]
        if plan.version == 1 or (plan.systemd is None and each.wanted.kind in ("service", "other")):
            what = "threads" if plan.version == 1 else "processes with such threads"
            steps.append(Step(
                "move", number, (each.path, label(each.group.asked)),
                f"move the real-time {what} of CPUs {label(each.group.cpus)} to {each.path}", after,
            ))  # fmt: skip
        else:
            steps += [
                Step(
                    "restart", number, (name,), f"systemctl restart {name}: a short outage",
                    f"it runs in {each.name}, on CPUs {cpus}",
                )
                for name in names
            ]  # fmt: skip
            others = [unit for unit in each.units if settings.get(unit) is not each]
            for unit in others or ([] if names else ["/"]):
                steps.append(Step(
                    "hand", number, (each.path, label(each.group.asked)),
                    f"by hand: {unit}, CPUs {label(each.group.cpus)}: {by_hand(plan, each, unit)}",
                    f"{after}; if not, the other steps of this group wait for the next apply.sh",
                ))  # fmt: skip
    steps.append(Step(
        "threads", number, (each.path, label(each.group.asked)),
        f"wait for the real-time threads of CPUs {label(each.group.cpus)}", after,
    ))  # fmt: skip
    return steps


def _part(plan: Plan, number: int, each: Partition) -> list[Step]:
    """Return the steps that make the cgroup a partition. Siblings lose its CPUs first."""
    cpus, listed = label(each.cpus), label(each.listed)
    steps = []
    for sibling in plan.siblings:
        if each in plan.losses(sibling):
            steps.append(Step(
                "narrow", number, (sibling.path, listed), f"{sibling.path} loses CPUs {listed}",
                "its cpuset.cpus reads without them; its threads keep their other CPUs",
            ))  # fmt: skip
    if each.remote:
        parts = each.path.strip("/").split("/")
        steps += [
            Step(
                "exclusive", number, (path, listed),
                f"{path} may hand CPUs {listed} down: its cpuset.cpus.exclusive gets them as well",
                "the list reads back; nothing else changed",
            )
            for path in ("/" + "/".join(parts[: n + 1]) for n in range(len(parts)))
        ]  # fmt: skip
    steps.append(Step(
        "partition", number, (each.path, cpus), f"{each.path} becomes a partition of type root",
        f"its cpuset.cpus.partition reads root; no other task may use CPUs {cpus}; every other "
        "real-time thread keeps its CPUs",
    ))  # fmt: skip
    late = _late(plan, each)
    if late:
        steps.append(Step(
            "keep", number, (late,), f"install {late}, which makes the partition at each boot",
            "the file is there",
        ))  # fmt: skip
    return steps


def _version_1(plan: Plan) -> list[Step]:
    """Return the last steps with cgroup v1, which make the root domains."""
    balance = f"{plan.prefix}sched_load_balance"
    rest, nodes = label(plan.rest), label(plan.mems)
    steps = [
        Step("make", -1, (REST,), f"make the cpuset {REST}, for all others", "it exists, empty"),
        Step("put", -1, (f"{REST}/{plan.prefix}mems", nodes), f"memory nodes {nodes} for {REST}",
             "they read back"),
        Step("put", -1, (f"{REST}/{plan.prefix}cpus", rest), f"CPUs {rest} for {REST}",
             "they read back; nothing runs in it"),
        Step("others", -1, (REST, rest),
             f"move threads of the root cpuset that may run on CPUs {rest} and elsewhere to {REST}",
             f"they run on CPUs {rest}; real-time threads of groups are where they were"),
    ]  # fmt: skip
    steps += [
        Step("balance", -1, (f"{sibling.path}/{balance}".replace("//", "/"), "0"),
             f"{sibling.path} no longer balances load", "it reads 0; root domains are as before")
        for sibling in plan.siblings
    ]  # fmt: skip
    groups = " ".join(label(each.cpus) for each in plan.partitions)
    return [*steps, Step(
        "balance", -1, (f"/{balance}", "0"), "the root cpuset no longer balances load",
        f"it reads 0; CPUs {groups} {rest} are root domains; this step takes no CPU from a thread",
    )]  # fmt: skip


def steps_of(plan: Plan) -> list[Step]:
    """Return all steps of a plan."""
    steps = []
    if plan.version == 2:
        above = {"/"}
        for each in plan.partitions:
            if each.remote:
                parts = each.path.strip("/").split("/")[:-1]
                above |= {"/" + "/".join(parts[: n + 1]) for n in range(len(parts))}
        steps += [
            Step("enable", -1, (path,), f"cgroups below {path} get cpusets, if they have none",
                 "no thread lost a CPU")
            for path in sorted(above)
        ]  # fmt: skip
    for number, each in enumerate(plan.partitions):
        steps += [
            Step("group", number, (each.path, label(each.group.asked)),
                 f"group {number + 1} of {len(plan.partitions)}: CPUs {label(each.cpus)}, "
                 f"{each.wanted.title}", "as collected"),
            *_member(plan, number, each), *_move(plan, number, each),
        ]  # fmt: skip
        if plan.version == 2:
            steps += _part(plan, number, each)
    return steps + (_version_1(plan) if plan.version == 1 else [])
