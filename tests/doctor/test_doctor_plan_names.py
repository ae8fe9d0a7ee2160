# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Hostile names: no line of a plan's files runs any part of one.

Each name field of a host gets text that would leave a mark if a shell ran it. Each line of each
file is run on its own, and each field of it; the scripts run as a whole. The shell has no program
but stand-ins that print.
"""

from __future__ import annotations

import os
import subprocess
import xml.dom.minidom
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import UserError
from doctor.facts.cpusets import Cpuset, Cpusets
from doctor.facts.facts import Facts, Thread
from doctor.plan.files import plan_files
from doctor.plan.names import in_comment, plain, shown
from host_model import expand
from test_doctor_plan_steps import host_of, planned

pytestmark = pytest.mark.long  # scripts run on a tree like a host's

# MARK stands for a file; a shell that runs any of it makes the file.
HOSTILE = (
    "';>MARK;'",
    '";>MARK;"',
    "$(>MARK)",
    "`>MARK`",
    "x\n>MARK",
    "x;>MARK #",
    "| >MARK",
    "&& >MARK",
    "%n$$(>MARK)%%",
    "--> <x a='b'>&amp; <!-- ;>MARK",
    "'\"$IFS>MARK",
    "-e\\n>MARK",
    "\\';>MARK;\\'",
    "a b\t>MARK",
    "*?[>MARK]{a,b}~",
    ": \"x\" >MARK\n- 'y'",
)
# Where a name may stand, and what it begins with on a host.
FIELDS = {
    "service": "/system.slice/{}.service",
    "scope": "/machine.slice/machine-qemu\\x2d{}.scope",
    "pod": "/kubepods.slice/pod{}.slice/crio-1.scope",
    "pods": "/kubepods{}.slice/pod1.slice/crio-1.scope",
    "proxmox": "/qemu.slice/100{}.scope",
    "container": "/system.slice/docker-{}.scope",
    "top": "/{}",
    "user": "/user.slice/{}",
}
STANDINS = (
    "sh", "systemctl", "echo", "cd", "kubectl", "rm", "qm", "pct", "cat", "sed", "awk", "taskset",
    "virsh", "systemd-run", "CPUs", "apply.sh", "-",
)  # fmt: skip


def threads(cgroup: str, comm: str = "rt") -> list[Thread]:
    return [
        Thread(100 + n * 10, 100 + n * 10, comm, 1, 50, False, min(expand(cpus)), expand(cpus),
               cgroup if n == 0 else "/system.slice/plain@1.service", 20_000)
        for n, cpus in enumerate(("8-11", "12-15"))
    ]  # fmt: skip


def run_every_line(folder: Path, files: dict[str, str]) -> None:
    """Run each line with stand-ins for all programs."""
    tools = folder / "tools"
    tools.mkdir()
    for name in STANDINS:
        (tools / name).write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
        (tools / name).chmod(0o755)
    env = {"PATH": str(tools), "HOME": str(folder)}
    inside = folder / "here"
    inside.mkdir()
    lines = []
    for name, text in files.items():
        if name.endswith(".sh"):
            continue  # the same for every host
        for line in text.split("\n"):
            lines.append(line)
            lines += line.split("\t")
            lines.append(line.partition("=")[2])  # as systemd hands it to a shell
    scripts = folder / "lines"
    scripts.mkdir()
    for number, line in enumerate(dict.fromkeys(lines)):
        (scripts / str(number)).write_text(f"{line}\n", encoding="utf-8")
    subprocess.run(
        ["/bin/sh", "-c", 'for line in "$1"/*; do (. "$line"); done', "sh", str(scripts)], env=env,
        cwd=inside, stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
    )  # fmt: skip


def files_of(facts: Facts) -> dict[str, str]:
    """Return the files of a plan and the groups left out, or the error that refuses it."""
    try:
        plan = planned(facts)
    except UserError as error:
        return {"refusal": str(error)}
    return plan_files(plan) | {"left": "\n".join(plan.left)}


def with_mark(text: str, mark: Path) -> str:
    return text.replace("MARK", str(mark))


@pytest.mark.parametrize("field", FIELDS)
def test_names_of_cgroups(tmp_path: Path, field: str) -> None:
    mark = tmp_path / "mark"
    systemd = "" if field in ("pod", "proxmox", "top") else "252"
    files: dict[str, str] = {}
    for number, text in enumerate(HOSTILE):
        cgroup = FIELDS[field].format(with_mark(text, mark))
        sets = {
            cgroup: Cpuset(cgroup, expand("8-11"), expand("8-11"), frozenset(), partitions=True),
            f"/{text}": Cpuset(f"/{text}", expand("0-9"), expand("0-9"), partitions=True),
        }
        for kind, held in (("member", {}), ("sets", sets)):
            made = files_of(host_of(threads(cgroup), held, systemd))
            files |= {f"{number}-{kind}-{name}": body for name, body in made.items()}
    assert any("README.txt" in name for name in files)
    run_every_line(tmp_path, files)
    assert not mark.exists()


def test_other_names(tmp_path: Path) -> None:
    """Names of threads, places of mounts, releases, boot options, and settings."""
    mark = tmp_path / "mark"
    files: dict[str, str] = {}
    for number, raw in enumerate(HOSTILE):
        text = with_mark(raw, mark)
        plain_host = host_of(threads("/system.slice/a.service"), {}, "252")
        roaming = replace(plain_host.threads[0], tid=7, tgid=7, comm=text, cgroup="/", allowed=None)
        hosts = {
            "comm": host_of(threads("/system.slice/a.service", text), {}, "252"),
            "roams": replace(plain_host, threads=(roaming, *plain_host.threads)),
            "off": replace(
                plain_host, threads=(roaming, *plain_host.threads),
                settings={**plain_host.settings, "proc/sys/kernel/sched_rt_runtime_us": "-1"},
            ),
            "place": replace(
                plain_host, cpusets=Cpusets(2, f"/sys/{text}", False, plain_host.cpusets.sets)
            ),
            "release": replace(plain_host, release=f"4.18.0{text}", version=(4, 18, 0)),
            "boot": replace(
                plain_host, isolated=expand("8-15"), cmdline=(f"isolcpus=8-15,{text}",)
            ),
            "ticks": replace(plain_host, cmdline=(f"nohz_full={text}", f"rcu_nocbs=1,{text}")),
            "systemd": replace(
                plain_host, settings={**plain_host.settings, "systemd/version": f"252{text}"}
            ),
        }  # fmt: skip
        for kind, facts in hosts.items():
            made = files_of(facts)
            files |= {f"{number}-{kind}-{name}": body for name, body in made.items()}
    run_every_line(tmp_path, files)
    assert not mark.exists()
    # Check of the test itself: the same text leaves a mark if it is not quoted.
    (tmp_path / "teeth").mkdir()
    run_every_line(tmp_path / "teeth", {"x": f"echo {with_mark(HOSTILE[2], mark)}"})
    assert mark.exists()


@settings(deadline=None)
@given(st.text(max_size=30))
def test_shown_names_are_plain(name: str) -> None:
    escaped = shown(name)
    assert escaped == "" or plain(escaped) or ".." in escaped or "." in escaped.split("/")
    assert "--" not in in_comment(name)
    xml.dom.minidom.parseString(f"<a><!-- {in_comment(name)} --></a>")
    if plain(name):
        assert escaped == name


def test_scripts_run_with_a_hostile_thread_beside_them(tmp_path: Path) -> None:
    """verify.sh and --dry-run print names, and run none."""
    mark = tmp_path / "mark"
    for number, raw in enumerate(HOSTILE):
        made = files_of(host_of(threads("/system.slice/a.service", with_mark(raw, mark)), {}, ""))
        folder = tmp_path / f"plan{number}"
        for name, text in made.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        root = tmp_path / f"root{number}"
        task = root / "proc/7/task/7"
        task.mkdir(parents=True)
        comm = with_mark(raw, mark).replace("\n", "?")
        (task / "stat").write_text(f"7 ({comm}) S {'0 ' * 37}1 0\n")
        (task / "status").write_text("Cpus_allowed_list:\t8-11\n")
        (task / "cgroup").write_text(f"0::/{comm}\n")
        (root / "sys/fs/cgroup").mkdir(parents=True)
        for script in ("apply.sh", "verify.sh", "undo.sh"):
            subprocess.run(
                ["sh", str(folder / script), "-r", str(root)], capture_output=True, cwd=tmp_path,
                env={**os.environ, "TASKSET": "true", "PATIENCE": "0"}, timeout=60,
            )  # fmt: skip
    assert not mark.exists()


def test_a_very_long_name_is_cut_in_prose() -> None:
    assert shown("/a.slice") == "/a.slice"
    for name in ("/a" * 5000, "\u20ac" * 5000):
        assert len(shown(name)) == 515
        assert shown(name).endswith("...")
