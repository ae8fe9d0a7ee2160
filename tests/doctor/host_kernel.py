# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plays the kernel on a tree of fake_cgroups, after each change that a plan's script makes.

It gives out CPUs, moves processes, and adds to ROOT/harm each fault of the step.

    python3 host_kernel.py ROOT FILE [NUMBER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from host_model import Cgroup, Host, Task, expand, harm, listed


def text(path: Path) -> str:
    """Return a file's first line, empty if there is none."""
    return path.read_text().strip() if path.is_file() else ""


def _cgroups(root: Path) -> dict[str, Cgroup]:
    place = root / "sys/fs/cgroup"
    found = {}
    for file in place.rglob("cpuset.cpus"):
        path = file.parent
        if path == place:
            continue
        found[f"/{path.relative_to(place)}"] = Cgroup(
            expand(text(file)),
            expand(text(path / "cpuset.cpus.exclusive")),
            text(path / "cpuset.cpus.partition").partition(" ")[0] or "member",
        )
    return found


def _tasks(root: Path) -> dict[int, Task]:
    found = {}
    for task in (root / "proc").glob("[0-9]*/task/[0-9]*"):
        fields = text(task / "stat").rpartition(") ")[2].split()
        chosen = text(task / "chosen") or text(task / "status").rpartition("\t")[2]
        (task / "chosen").write_text(chosen)
        cgroup = text(task / "cgroup").partition("::")[2]
        found[int(task.name)] = Task(
            int(task.parent.parent.name), fields[38] in ("1", "2"), expand(chosen), cgroup
        )
    return found


def load(root: Path, online: str) -> Host:
    """Read the tree."""
    return Host(expand(online), _cgroups(root), _tasks(root))


def store(root: Path, host: Host) -> None:
    """Write what the kernel decides."""
    place = root / "sys/fs/cgroup"
    for path, each in host.cgroups.items():
        state = f"{each.kind} invalid ({each.why})" if each.why else each.kind
        here = place / path[1:]
        (here / "cpuset.cpus.partition").write_text(f"{state}\n")
        (here / "cpuset.cpus.effective").write_text(f"{listed(host.effective(path))}\n")
        mems = text(here / "cpuset.mems") or "0-1"
        (here / "cpuset.mems.effective").write_text(f"{mems}\n")
        inside = {task.process for task in host.tasks.values() if task.cgroup.startswith(path)}
        (here / "cgroup.procs").write_text("".join(f"{each}\n" for each in sorted(inside)))
    for file in place.rglob("cgroup.procs"):
        if not (file.parent / "cpuset.cpus.partition").is_file():
            file.write_text("")
    (place / "cpuset.cpus.effective").write_text(f"{listed(host.rest)}\n")
    for number, task in host.tasks.items():
        status = root / f"proc/{task.process}/task/{number}/status"
        head = status.read_text().rpartition("\t")[0]
        status.write_text(f"{head}\t{listed(host.allowed(number))}\n")


def _restart(root: Path, service: str) -> None:
    """Start a service again: in the slice of its drop-in, or in system.slice."""
    drop_in = root / f"etc/systemd/system/{service}.d/50-schedshard.conf"
    slice_ = drop_in.read_text().partition("Slice=")[2].strip() if drop_in.is_file() else ""
    for file in (root / "proc").glob("[0-9]*/task/[0-9]*/cgroup"):
        if file.read_text().strip().endswith(f"/{service}"):
            file.write_text(f"0::/{slice_ or 'system.slice'}/{service}\n")
            # The restarted service chooses its CPUs again.
            if (first := file.with_name("first")).is_file():
                file.with_name("chosen").write_text(first.read_text())


def main() -> None:
    """React to a change."""
    root, file = Path(sys.argv[1]), sys.argv[2]
    if file.endswith(".service"):
        _restart(root, file)
    if len(sys.argv) > 3 and file.endswith("cgroup.procs"):
        cgroup = "/" + str(Path(file).parent.relative_to(root / "sys/fs/cgroup")).strip(".")
        for task in (root / f"proc/{sys.argv[3]}/task").glob("[0-9]*"):
            (task / "cgroup").write_text(f"0::{cgroup}\n")
            # Linux before 6.2 forgets which CPUs a thread chose.
            (task / "chosen").write_text("0-15")
    forgets = (root / "forgets").exists() and file.endswith("cpuset.cpus.partition")
    if forgets:
        # Linux before 6.2 does so for all threads outside of the partition.
        for task in (root / "proc").glob("[0-9]*/task/[0-9]*"):
            (task / "chosen").write_text("0-15")
    host = load(root, "0-15")
    host.settle()
    store(root, host)
    groups = {
        number: expand(text(root / f"proc/{task.process}/task/{number}/first"))
        for number, task in host.tasks.items() if task.real_time
    }  # fmt: skip
    lost = harm(host, groups, expand(text(root / "free")))
    if lost and not forgets and not file.endswith("cgroup.procs"):
        with (root / "harm").open("a") as log:
            log.write("".join(f"{file}: {line}\n" for line in lost))


main()
