# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Texts on settings that a plan leaves to libvirt, Kubernetes, OpenShift and Proxmox."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from doctor.facts.load import proxmox_id
from doctor.plan.groups import Partition, Wanted
from doctor.plan.names import in_comment, quoted
from doctor.plan.plan import Plan
from model.machines.topo import label

WIDTH = 92
_ENTERPRISE = re.compile(r"\.el[0-9]")


def wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    """Return a paragraph as lines of at most WIDTH characters."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def item(text: str) -> list[str]:
    """Return an item of a list as lines."""
    return wrapped(text, "- ", "  ")


def head(title: str) -> list[str]:
    """Return a title as lines: an empty one, the title, and its underline."""
    return ["", title, "-" * len(title)]


def _guest(plan: Plan, each: Partition) -> list[str]:
    cpus, spare = label(each.cpus), label(each.wanted.spare)
    name = each.name.removesuffix(".slice")
    emulator = f"<cputune><emulatorpin cpuset='{spare}'/></cputune>" if spare else ""
    return [
        "",
        f"  <!-- {', '.join(in_comment(unit) for unit in each.units)} -->",
        f"  <vcpu placement='static' cpuset='{cpus}'>...</vcpu>",
        *([f"  {emulator}"] if emulator else []),
        f"  <resource><partition>/{name}</partition></resource>",
    ]


def libvirt(plan: Plan) -> list[str]:
    """Return the changes to the XML of libvirt's guests."""
    guests = [
        each for each in plan.partitions if each.wanted.kind == "guest" and each.found is None
    ]
    if not guests or plan.version == 1:
        return []
    lines = head("libvirt")
    lines += wrapped(
        "Change the domain's XML (virsh edit) while the guest is shut down. vcpupin stays as it "
        "is, on the guest's own CPUs. emulatorpin names a CPU on which no FIFO virtual CPU runs, "
        "because the emulator's threads could not run beside one. Put each iothreadpin there as "
        "well. libvirt turns a partition /NAME into systemd's NAME.slice."
    )
    for each in guests:
        lines += _guest(plan, each)
    return lines


def proxmox(plan: Plan) -> list[str]:
    """Return what Proxmox VE can do for its guests."""
    if not plan.proxmox:
        return []
    lines = head("Proxmox")
    lines += wrapped(
        "Proxmox VE makes the cgroups of its guests itself, at each start. It has no setting for "
        "partitions, and a partition made by hand is gone at the next start. It can only keep "
        "guests apart by affinity, each inside one last-level cache. That gives no separate root "
        "domains. As root on the node, effective at the guest's next start:"
    )
    for each in plan.proxmox:
        cpus = label(each.group.cpus)
        for unit in each.units:
            number = proxmox_id(unit)
            if unit.startswith("/lxc/"):
                lines += ["", f"  # in /etc/pve/lxc/{number}.conf"]
                lines.append(f"  lxc.cgroup2.cpuset.cpus: {cpus}")
            else:
                lines += ["", f"  qm set {number} --affinity {cpus}"]
    lines.append("")
    return lines + wrapped(
        "The emulator's threads of such a guest share these CPUs: do not give its virtual CPUs a "
        "real-time policy on all of them."
    )


def _all(pods: Iterable[Wanted]) -> frozenset[int]:
    return frozenset[int]().union(*(each.cpus for each in pods))


def _openshift(plan: Plan, isolated: frozenset[int]) -> list[str]:
    return [
        "  apiVersion: performance.openshift.io/v2",
        "  kind: PerformanceProfile",
        "  metadata:",
        "    name: schedshard",
        "  spec:",
        "    cpu:",
        f'      reserved: "{label(plan.reserved)}"',
        f'      isolated: "{label(isolated)}"',
        "    numa:",
        "      topologyPolicy: single-numa-node",
        "    realTimeKernel:",
        "      enabled: true",
        "    nodeSelector:",
        '      node-role.kubernetes.io/worker-rt: ""',
    ]


def _exclusive(plan: Plan) -> list[str]:
    """Return shell commands that make pods' cgroups partitions.

    They first write one list with the CPUs of all groups to each cgroup above the pods.
    """
    lists: dict[str, frozenset[int]] = {}
    for each in plan.pods:
        for unit in each.units:
            path = ""
            for part in unit.strip("/").split("/"):
                path = f"{path}/{part}"
                lists[path] = lists.get(path, frozenset()) | each.cpus
    lines = ["", f"  cd {quoted(plan.place)}"]
    for path in sorted(lists, key=lambda path: (path.count("/"), path)):
        file = quoted(f"{path[1:]}/cpuset.cpus.exclusive")
        lines.append(f"  echo {label(lists[path])} > {file}")
    for each in plan.pods:
        for unit in each.units if len(each.units) == 1 else ():
            lines.append(f"  echo root > {quoted(unit[1:] + '/cpuset.cpus.partition')}")
    return lines


def kubernetes(plan: Plan) -> list[str]:
    """Return the settings of a Kubernetes node: the kubelet's, and the pods' partitions."""
    if not plan.pods:
        return []
    crio = any("crio-" in unit for each in plan.pods for unit in each.units)
    taken = _all(plan.pods)
    isolated = (plan.rest | taken | _all(each.wanted for each in plan.partitions)) - plan.reserved
    lines = head("Kubernetes")
    lines += wrapped(
        f"The real-time pods' CPUs as one list: {label(taken)}. The kubelet has no setting for "
        "partitions. Its static policy keeps the CPUs of a pod apart, which partitions need. The "
        f"system keeps CPUs {label(plan.reserved)}: a larger set would be lost for pods."
    )
    if crio and _ENTERPRISE.search(plan.release):
        lines += ["", *wrapped(
            "On OpenShift the Node Tuning Operator writes these settings, and reboots the node. "
            "Change the PerformanceProfile, not the node. Both lists together are all CPUs:"
        ), "", *_openshift(plan, isolated)]  # fmt: skip
    else:
        lines += [
            "",
            "  cpuManagerPolicy: static",
            "  cpuManagerPolicyOptions:",
            '    full-pcpus-only: "true"',
            f'  reservedSystemCPUs: "{label(plan.reserved)}"',
        ]
    lines += ["", *wrapped(
        "The kubelet refuses a changed policy or set while its state file exists. For one node "
        "after the other (NODE is its name):"
    ), "",
        "  kubectl drain NODE --ignore-daemonsets",
        "  systemctl stop kubelet",
        "  rm /var/lib/kubelet/cpu_manager_state",
        "  systemctl start kubelet",
        "  kubectl uncordon NODE", "",
    ]  # fmt: skip
    if crio:
        lines += wrapped(
            "CRI-O's annotation cpu-load-balancing.crio.io: disable makes partitions of type "
            "'isolated'. CPUs of all such partitions share one root domain, and CRI-O has no "
            "setting for type 'root'."
        )
    if not plan.exclusive:
        return lines + wrapped(
            "This kernel shows no cpuset.cpus.exclusive (new in Linux 6.7): a pod's cgroup cannot "
            "become a partition below cgroups that are not partitions."
        )
    ours = ""
    if any(each.wanted.kind == "pod" for each in plan.partitions):
        ours = "apply.sh does this for pods whose cgroup has exactly their CPUs. "
    lines += wrapped(
        "The node's owner can make a pod's cgroup a partition while the pod runs. The cgroups "
        f"above get one list with the CPUs of all groups. {ours}The kubelet makes new cgroups at "
        "each start of a pod, so that this has to be repeated:"
    )
    return lines + _exclusive(plan)
