# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""systemd's files of a plan. A step of apply.sh installs each of them."""

from __future__ import annotations

from doctor.plan.groups import Partition
from doctor.plan.names import in_unit
from doctor.plan.plan import Plan
from doctor.plan.steps import DROP_IN, by_setting, late_units
from model.machines.topo import label


def _slice(partition: Partition) -> str:
    cpus = label(partition.cpus)
    lines = ["[Unit]", f"Description=CPUs {cpus}, for a group of real-time threads", "", "[Slice]",
             f"AllowedCPUs={cpus}"]  # fmt: skip
    if partition.mems:
        lines.append(f"AllowedMemoryNodes={label(partition.mems)}")
    return "\n".join(lines) + "\n"


def _oneshot(plan: Plan, each: Partition) -> str:
    """Return a service that makes one partition at boot; systemd before 261 cannot."""
    file = in_unit(f"{plan.place}{each.path}/cpuset.cpus.partition")
    before = each.found.partition if each.found is not None else "member"
    lines = ["[Unit]", f"Description=CPUs {label(each.cpus)} as a cpuset partition of type root"]
    if each.path.endswith(".slice"):
        lines += [f"Requires={each.name}", f"After={each.name}"]
    return "\n".join([
        *lines, "", "[Service]", "Type=oneshot", "RemainAfterExit=yes",
        f"ExecStart=/bin/sh -c \"echo root >'{file}' && read -r state <'{file}' "
        '&& test \\"$$state\\" = root"',
        f"ExecStop=/bin/sh -c \"echo {before} >'{file}'\"",
        "", "[Install]", "WantedBy=multi-user.target",
    ]) + "\n"  # fmt: skip


def units_of(plan: Plan) -> dict[str, str]:
    """Return systemd's files by their path below /etc/systemd/system."""
    if plan.systemd is None:
        return {}
    units = {each.name: _slice(each) for each in plan.partitions if each.found is None}
    for unit, partition in by_setting(plan).items():
        service = unit.rpartition("/")[2]
        units[f"{service}.d/{DROP_IN}"] = f"[Service]\nSlice={partition.name}\n"
    for name, each in late_units(plan).items():
        if name.endswith(".service"):
            units[name] = _oneshot(plan, each)
        else:
            cpus = f"AllowedCPUs={label(each.listed)}\n" if each.found is not None else ""
            units[name] = f"[Slice]\n{cpus}CPUSetPartition=root\n"
    return units
