# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A directory that behaves like a tree of cgroup v2 with cpusets, for the scripts of a plan.

Stand-ins for mkdir, rmdir and systemctl give new cgroups their files. host_kernel.py plays the
kernel after each change: it accepts or refuses partitions, assigns CPUs, moves threads, and writes
down what no step of a plan may do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from doctor_tree import Machine

FILES = {
    "cpuset.cpus": "",
    "cpuset.cpus.effective": "",
    "cpuset.cpus.exclusive": "",
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
daemon-reload,*)
	# systemd 252 makes the slices of services' drop-ins.
	for slice in $(cat "$units"/*.service.d/*.conf 2>/dev/null | sed -n 's/^Slice=//p'); do
		[ -d "$cgroups/$slice" ] || mkdir "$cgroups/$slice"
	done
	;;
disable,*) sed -n 's/^ExecStop=//p' "$units/$last" >/dev/null ;;
--plain,list-units) sed 's/ .*/ loaded failed failed a service/' "$FAKE/failed" 2>/dev/null || : ;;
show,*) sed -n "s/^$last /ExecMainStatus=/p" "$FAKE/failed" ;;
esac
""",
    "taskset": """
[ "$1,$2" = "-p,-c" ] || exit 2
for task in "$FAKE"/proc/*/task/"$4"; do
	printf '%s' "$3" >"$task/chosen"
	sed -i "s/^\\(Cpus_allowed_list:\\).*/\\1\t$3/" "$task/status"
done
""",
    "wrote": f"""
if [ -e "$FAKE/die" ]; then
	read -r left <"$FAKE/die"
	[ "$left" -gt 0 ] || exit 1
	echo $((left - 1)) >"$FAKE/die"
fi
exec {sys.executable} -I -S -c "
import sys
sys.path.insert(0, sys.argv[1])
sys.argv = sys.argv[1:]
import host_kernel
" '{Path(__file__).parent}' "$FAKE" "$@"
""",
}
# Files of the stand-ins, which no kernel has.
_OURS = ("systemctl.log", "chosen", "first", "free", "harm", "die", "forgets")


@dataclass
class FakeCgroups:
    """The tree of a machine below ``root``, and the tools in ``tools`` that belong to it."""

    root: Path
    tools: Path

    @property
    def cgroups(self) -> Path:
        """Where the cgroups are."""
        return self.root / "sys/fs/cgroup"

    def run(
        self, script: Path, *arguments: str, shell: str = "sh"
    ) -> subprocess.CompletedProcess[str]:
        """Run a script of a plan on the tree."""
        env = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}", "FAKE": str(self.root),
               "SYSTEMCTL": str(self.tools / "systemctl"), "WROTE": str(self.tools / "wrote"),
               "TASKSET": str(self.tools / "taskset"), "PATIENCE": "0"}  # fmt: skip
        argv = [*shell.split(), str(script), *arguments, "-r", str(self.root)]
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)

    def boot(self, name: str) -> None:
        """Give the machine another boot's name."""
        file = self.root / "proc/sys/kernel/random/boot_id"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{name}\n")

    def thread(self, number: int, name: str, cpus: str, cgroup: str = "/", **more: int) -> None:
        """Add a thread, or replace the one with that number.

        ``start``, ``flags`` and ``policy`` are those of stat; ``process`` is its process.
        """
        task = self.root / f"proc/{more.get('process', number)}/task/{number}"
        task.mkdir(parents=True, exist_ok=True)
        start, flags = more.get("start", 1000 + number), more.get("flags", 0x400000)
        fields = [0] * 5 + [flags] + [0] * 12 + [start] + [0] * 18 + [more.get("policy", 0), 0]
        words = " ".join(map(str, fields))
        (task / "stat").write_text(f"{number} ({name}) S {words}\n")
        (task / "cgroup").write_text(f"0::{cgroup}\n")
        (task / "status").write_text(f"Name:\t{name}\nCpus_allowed_list:\t{cpus}\n")
        place = self.cgroups / cgroup.strip("/")
        place.mkdir(parents=True, exist_ok=True)
        (place / "cgroup.procs").touch()
        (task / "chosen").write_text(cpus)
        (task / "first").write_text(cpus)

    @property
    def harm(self) -> str:
        """Return what steps did that no step may do, a line for each; empty if there was none."""
        log = self.root / "harm"
        return log.read_text() if log.is_file() else ""

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
            if path.is_file() and path.name not in _OURS
        }

    def settle(self) -> None:
        """Let the kernel react to a change of the test's own."""
        env = {**os.environ, "FAKE": str(self.root)}
        subprocess.run([self.tools / "wrote", "test"], env=env, check=True)


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
    for task in machine.tasks:
        made.thread(
            task.tid, task.comm, task.allowed, task.cgroup, policy=task.policy,
            process=task.tgid or task.tid,
        )  # fmt: skip
    made.settle()
    (root / "harm").unlink(missing_ok=True)
    return made
