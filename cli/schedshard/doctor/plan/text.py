# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A plan as text for people: its steps, in order, and settings that are left to others."""

import textwrap
from collections.abc import Mapping

from schedshard.doctor.plan.plan import CPUSET_PARTITION, Partition, Plan, label

_WIDTH = 92


def _wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _item(text: str) -> list[str]:
    return _wrapped(text, "- ", "  ")


def _head(title: str) -> list[str]:
    return ["", title, "-" * len(title)]


def _table(plan: Plan) -> list[str]:
    lines = _head("Partitions")
    for each in plan.partitions:
        how = "is made" if each.found is None else f"was '{each.found.partition}', becomes 'root'"
        mems = f", memory nodes {label(each.mems)}" if each.mems else ""
        lines += _item(
            f"{each.path}: CPUs {label(each.cpus)}{mems}; {how}; {len(each.group.threads)} "
            f"real-time threads, {each.group.wakeups:,.0f} wake-ups a second"
        )
    lines += _item(f"CPUs {label(plan.rest)} stay for all other tasks.")
    lines += [
        line for narrow in plan.narrowed
        for line in _item(f"{narrow.found.path} keeps CPUs {label(narrow.cpus)}, and loses others.")
    ]  # fmt: skip
    return lines


def _steps(plan: Plan, units: set[str]) -> list[str]:
    lines = _head("Steps")
    if plan.boot:
        lines += _item(
            "Boot options first: the kernel refuses isolcpus=domain in a partition of type root. "
            f"{plan.boot}. Then boot."
        )
    lines += _item("Read 'partitions' and the scripts.")
    lines += _item("As root: sh apply.sh. It ends with what verify.sh says.")
    lines += _item(
        "Move the workloads, see below. Then sh verify.sh again. Until then the kernel lets them "
        f"run on CPUs {label(plan.rest)} only."
    )
    lines += _item("sh undo.sh puts everything back as apply.sh found it.")
    if plan.systemd is None:
        lines += _item("There is no systemd that could set CPUs: run apply.sh after each boot.")
    elif plan.systemd >= CPUSET_PARTITION:
        lines += _item("systemd makes the partitions again at each boot, by CPUSetPartition=.")
    else:
        version = f"systemd {plan.systemd}" if plan.systemd else "a systemd of unknown version"
        lines += _item(
            f"CPUSetPartition= came with systemd {CPUSET_PARTITION}, this is {version}: "
            "schedshard-partitions.service makes the partitions at each boot."
        )
    lost = [
        each.path for each in plan.partitions
        if each.found is not None and plan.systemd is not None
        and not (each.path.count("/") == 1 and each.path.endswith(".slice"))
    ]  # fmt: skip
    if lost:
        lines += _item(
            f"{', '.join(lost)}: whoever makes this cgroup sets its type at its next start. Change "
            "it there as well."
        )
    return lines


def _moves(plan: Plan, moved: Mapping[str, Partition]) -> list[str]:
    lines = _head("Who moves where")
    for each in plan.partitions:
        if each.found is not None:
            lines += _item(f"{each.path}: its tasks are there already.")
            continue
        for unit in each.units:
            if unit in moved:
                name = unit.rpartition("/")[2]
                lines += _item(f"systemctl restart {name}: it starts in {each.name}.")
            else:
                lines += _item(f"{unit}: {_by_hand(plan, each, unit)}")
        if not each.units:
            lines += _item(f"threads of the root cgroup: {_by_hand(plan, each, '/')}")
    return lines


def _by_hand(plan: Plan, partition: Partition, unit: str) -> str:
    cpus = label(partition.cpus)
    if "kubepods" in unit:
        return "a pod: see Kubernetes."
    if "machine-qemu" in unit or "/libvirt" in unit:
        return "a guest: see libvirt."
    if any(mark in unit for mark in ("docker-", "libpod-", "/docker/")):
        return f"a container: start it with --cgroup-parent={partition.name} --cpuset-cpus={cpus}."
    if plan.systemd is None:
        return (
            f"start it from a shell that did: echo $$ > {plan.place}{partition.path}/cgroup.procs"
        )
    return (
        "several groups are in it, or a setting cannot move it: start each group with systemd-run "
        f"--scope --slice={partition.name} COMMAND."
    )


def _libvirt(plan: Plan) -> list[str]:
    guests = [each for each in plan.partitions if any("machine-qemu" in u for u in each.units)]
    if not guests:
        return []
    lines = _head("libvirt")
    lines += _wrapped(
        "In the domain's XML (virsh edit), with the guest shut down. vcpupin stays as it is, "
        "inside these CPUs. libvirt turns a partition /NAME into systemd's NAME.slice."
    )
    for each in guests:
        name = each.name.removesuffix(".slice")
        cpus = label(each.cpus)
        lines += [
            "",
            f"  <!-- {', '.join(each.units)} -->",
            f"  <vcpu placement='static' cpuset='{cpus}'>...</vcpu>",
            f"  <cputune><emulatorpin cpuset='{cpus}'/></cputune>",
            f"  <resource><partition>/{name}</partition></resource>",
        ]
    return lines


def _kubernetes(plan: Plan) -> list[str]:
    pods = [each for each in plan.partitions if any("kubepods" in unit for unit in each.units)]
    if not pods:
        return []
    lines = _head("Kubernetes")
    lines += _wrapped(
        "The kubelet has no setting for partitions. Its static policy keeps the CPUs of a pod "
        "apart, which every way below needs:"
    )
    lines += [
        "",
        "  cpuManagerPolicy: static",
        "  cpuManagerPolicyOptions:",
        '    full-pcpus-only: "true"',
        '    prefer-align-cpus-by-uncorecache: "true"',
        f'  reservedSystemCPUs: "{label(plan.rest)}"',
        "",
    ]
    lines += _wrapped(
        "CRI-O's annotation cpu-load-balancing.crio.io: disable makes a partition of type "
        "'isolated'. CPUs of such partitions share one root domain: leave it out."
    )
    lines += _wrapped(
        "From Linux 6.7 on, a partition can be made where the pod is, by the node's owner: each "
        "cgroup above it gets its CPUs in cpuset.cpus.exclusive. Do this for each start of a pod:"
    )
    for each in pods:
        cpus = label(each.cpus)
        for unit in each.units:
            lines += ["", f"  cd {plan.place}"]
            path = ""
            for part in unit.strip("/").split("/"):
                path = f"{path}/{part}" if path else part
                lines.append(f"  echo {cpus} > '{path}/cpuset.cpus.exclusive'")
            lines.append(f"  echo root > '{path}/cpuset.cpus.partition'")
    if len(pods) > 1:
        lines.append("")
        lines += _wrapped(
            "A cgroup above several of them gets the CPUs of all of them in one line."
        )
    return lines


def _warnings(plan: Plan) -> list[str]:
    lines = _head("What it costs others")
    for count, cpus in plan.crowd:
        if count:
            lines += _item(
                f"{count} other threads may run on CPUs {label(cpus)} only; a few for each CPU are "
                "the kernel's own and stay. The kernel moves the rest of them to "
                f"CPUs {label(plan.rest)}, unless they are in the partition's cgroup."
            )
    lines += _item("No other task runs on the CPUs of a partition any more, also when they idle.")
    lines += _item(
        "Threads that are pinned, and are in no group, run on the CPUs that are left to them: on "
        f"CPUs {label(plan.rest)} if all of theirs are taken. undo.sh pins them again."
    )
    lines += _item(
        "A service whose CPUAffinity= names CPUs of partitions only does not start while they are "
        "in force (seen on Linux 7.2 and 7.3, not on 6.1). verify.sh and undo.sh name those."
    )
    lines += _item("Tasks inside a partition are balanced among its CPUs: pin what must not move.")
    if plan.left:
        lines += _head("Left as it is")
        for reason in plan.left:
            lines += _item(reason)
    return lines


def readme(plan: Plan, units: set[str], moved: Mapping[str, Partition]) -> str:
    """Return README.txt."""
    lines = _wrapped(
        "A plan of schedshard doctor: cpuset partitions of type root, so that each group of "
        "real-time threads gets a root domain of its own. Nothing was applied."
    )
    lines += _table(plan) + _steps(plan, units) + _moves(plan, moved)
    lines += _libvirt(plan) + _kubernetes(plan) + _warnings(plan)
    return "\n".join(lines) + "\n"
