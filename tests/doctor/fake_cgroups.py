# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A directory that behaves like a tree of cgroup v2 with cpusets, for the scripts of a plan.

Stand-ins for mkdir, rmdir and systemctl give new cgroups their files. ``settle`` is the kernel: it
accepts or refuses partitions, and assigns CPUs to each cgroup.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from doctor_tree import Machine
from schedshard.doctor.facts.values import cpu_list
from schedshard.machines.topo import ranges

FILES = {
    "cpuset.cpus": "",
    "cpuset.cpus.effective": "",
    "cpuset.cpus.partition": "member",
    "cpuset.mems": "",
    "cpuset.mems.effective": "0-1",
    "cgroup.procs": "",
}
_MAKE = "".join(f"printf '%s\\n' '{value}' >\"$1/{name}\"\n" for name, value in FILES.items())
_TOOLS = {
    "mkdir": f"""
real=/bin/mkdir
$real "$@" || exit
for last; do :; done
files() {{
{_MAKE}}}
case $last in */sys/fs/cgroup/*) files "$last" ;; esac
""",
    "rmdir": """
for last; do :; done
case $last in
*/sys/fs/cgroup/*) [ ! -s "$last/cgroup.procs" ] || [ -z "$(cat "$last/cgroup.procs")" ] || exit 1
	rm -r -- "$last" ;;
*) exec /bin/rmdir "$@" ;;
esac
""",
    "systemctl": """
printf '%s\\n' "$*" >>"$FAKE/systemctl.log"
units=$FAKE/etc/systemd/system
cgroups=$FAKE/sys/fs/cgroup
for last; do :; done
case $1,$last in
start,*.slice)
	[ -d "$cgroups/$last" ] || mkdir "$cgroups/$last"
	sed -n 's/^AllowedCPUs=//p' "$units/$last" >"$cgroups/$last/cpuset.cpus"
	sed -n 's/^AllowedMemoryNodes=//p' "$units/$last" >"$cgroups/$last/cpuset.mems"
	;;
stop,*.slice) rm -r -- "$cgroups/$last" ;;
disable,*) sed -n 's/^ExecStop=//p' "$units/$last" >/dev/null ;;
--plain,list-units) sed 's/ .*/ loaded failed failed a service/' "$FAKE/failed" 2>/dev/null || : ;;
show,*) sed -n "s/^$last /ExecMainStatus=/p" "$FAKE/failed" ;;
esac
""",
    "taskset": """
[ "$1,$2" = "-p,-c" ] || exit 2
printf 'Cpus_allowed_list:\\t%s\\n' "$3" >"$FAKE/proc/$4/task/$4/status"
""",
}


@dataclass
class FakeCgroups:
    """The tree of a machine below ``root``, and the tools in ``tools`` that belong to it."""

    root: Path
    tools: Path

    @property
    def cgroups(self) -> Path:
        """Where the cgroups are."""
        return self.root / "sys/fs/cgroup"

    def run(self, script: Path, shell: str = "sh") -> subprocess.CompletedProcess[str]:
        """Run a script of a plan on the tree."""
        env = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}", "FAKE": str(self.root),
               "SYSTEMCTL": str(self.tools / "systemctl"),
               "TASKSET": str(self.tools / "taskset")}  # fmt: skip
        argv = [*shell.split(), str(script), "-r", str(self.root)]
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)

    def boot(self, name: str) -> None:
        """Give the machine another boot's name."""
        file = self.root / "proc/sys/kernel/random/boot_id"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{name}\n")

    def thread(self, number: int, name: str, cpus: str, cgroup: str = "/", **more: int) -> None:
        """Let a process run, or give it other CPUs. ``start`` and ``flags`` are those of stat."""
        task = self.root / f"proc/{number}/task/{number}"
        task.mkdir(parents=True, exist_ok=True)
        start, flags = more.get("start", 1000 + number), more.get("flags", 0x400000)
        fields = [0] * 5 + [flags] + [0] * 12 + [start, 0, 0]
        words = " ".join(map(str, fields))
        (task / "stat").write_text(f"{number} ({name}) S {words}\n")
        (task / "cgroup").write_text(f"0::{cgroup}\n")
        (task / "status").write_text(f"Name:\t{name}\nCpus_allowed_list:\t{cpus}\n")

    def cpus_of(self, number: int) -> str:
        """Return the CPUs that a process may use."""
        status = self.root / f"proc/{number}/task/{number}/status"
        return status.read_text().rpartition("\t")[2].strip()

    def read(self, path: str) -> str:
        """Return the contents of a file below the cgroups."""
        return (self.cgroups / path).read_text().strip()

    def everything(self) -> dict[str, str]:
        """Return all files with their contents, except for the log of the stand-in."""
        return {
            str(path.relative_to(self.root)): path.read_text()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and path.name != "systemctl.log"
        }

    def settle(self, online: str = "0-15") -> None:
        """Accept or refuse the partitions below the root cgroup, and give out the CPUs."""
        free = cpu_list(online)
        found = [path for path in self.cgroups.iterdir() if (path / "cpuset.cpus").is_file()]
        children = {path: cpu_list((path / "cpuset.cpus").read_text()) for path in found}
        owned = {}
        for path, cpus in children.items():
            kind = (path / "cpuset.cpus.partition").read_text().split(" ")[0].strip()
            if kind == "member":
                continue
            shared = any(cpus & other for each, other in children.items() if each != path)
            why = (
                "cpuset.cpus and cpuset.cpus.exclusive are empty" if not cpus
                else "Cpu list in cpuset.cpus not exclusive" if shared
                else "Parent unable to distribute cpu downstream" if not free - cpus else ""
            )  # fmt: skip
            state = f"{kind} invalid ({why})" if why else kind
            (path / "cpuset.cpus.partition").write_text(f"{state}\n")
            if not why:
                owned[path] = cpus
                free -= cpus
        for path, cpus in children.items():
            given = owned.get(path, (cpus & free) or free)
            (path / "cpuset.cpus.effective").write_text(f"{ranges(sorted(given))}\n")
            mems = (path / "cpuset.mems").read_text().strip() or "0-1"
            (path / "cpuset.mems.effective").write_text(f"{mems}\n")
        (self.cgroups / "cpuset.cpus.effective").write_text(f"{ranges(sorted(free))}\n")


def fake_cgroups(root: Path, machine: Machine) -> FakeCgroups:
    """Write the cgroups of a machine, its boot options, and the stand-ins."""
    tools = root.parent / f"{root.name}-tools"
    tools.mkdir()
    for name, text in _TOOLS.items():
        (tools / name).write_text(f"#!/bin/sh{text}")
        (tools / name).chmod(0o755)
    made = FakeCgroups(root, tools)
    made.cgroups.mkdir(parents=True)
    (root / "etc/systemd/system").mkdir(parents=True)
    (root / "proc").mkdir()
    (root / "proc/cmdline").write_text(f"{machine.cmdline}\n")
    (made.cgroups / "cgroup.subtree_control").write_text("cpu cpuset memory\n")
    for path, files in (machine.cgroups or {}).items():
        place = root / path.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        for name, value in ({} if place == made.cgroups else FILES).items():
            (place / name).write_text(f"{value}\n")
        for name, value in files.items():
            (place / name).write_text(f"{value}\n")
    made.settle()
    return made
