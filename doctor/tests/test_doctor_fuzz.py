# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Anything in /proc, /sys and the lists is read to the end, or refused in one line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.show.terminal import show
from doctor.facts.archive import read_directory, read_tar
from doctor.facts.facts import Facts, read_facts
from doctor.judge.verdict import Verdict, judge
from doctor.plan.plan import make_plan
from doctor.profiles.perf_file import read_profile
from doctor.verdict import batch
from doctor.verdict.data import verdict_data
from doctor.verdict.html import verdict_page
from doctor.verdict.view import verdict_parts
from doctor_cli import attempt
from doctor_tree import Machine, build, collect, collected, listed, packed
from test_doctor_verdict import ROOT, SCHEMA, groups, partitions

LISTS = (
    "cpus", "settings", "cmdline", "config", "mounts", "cgroups", "threads", "reading-1", "places",
    "reading-2",
)  # fmt: skip
NOT_NUL = st.binary(max_size=60).map(lambda raw: raw.replace(b"\0", b"\n"))
FILES = (
    "proc/cpuinfo", "proc/cmdline", "proc/stat", "proc/uptime", "proc/interrupts",
    "proc/self/mountinfo", "proc/sys/kernel/osrelease", "proc/100/task/100/stat",
    "proc/100/task/100/status", "proc/100/task/100/cgroup", "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/isolated", "sys/devices/system/cpu/cpu0/cache/index2/level",
    "sys/devices/system/cpu/cpu1/cache/index2/shared_cpu_list",
    "sys/devices/system/node/node0/cpulist", "sys/fs/cgroup/app1/cpuset.cpus.partition",
    "sys/fs/cgroup/app1/cpuset.cpus", "sys/fs/cgroup/app2/cpuset.mems", "boot/config-6.12.10",
)  # fmt: skip
PROFILE = (Path(__file__).parent / "data" / "c2c-mail.txt").read_bytes()[:6000]
Capture = pytest.CaptureFixture[str]


def leaves_in_every_way(verdict: Verdict, facts: Facts) -> None:
    """Every output accepts the verdict, whatever the input was."""
    jsonschema.Draft202012Validator(SCHEMA).validate(verdict_data(verdict))
    show(verdict_parts(verdict))
    assert batch.nagios(verdict).startswith("SCHEDSHARD ")
    assert batch.prometheus(verdict).endswith("\n")
    assert verdict_page(verdict, make_plan(verdict)).startswith("<!DOCTYPE html>")


@pytest.fixture(scope="module")
def sample() -> dict[str, str]:
    tasks = groups(1_000_000)
    early = Machine(
        cpus=16, tasks=[replace(task, voluntary=0) for task in tasks],
        cgroups=partitions("isolated"), isolated="4-7", cmdline="isolcpus=domain,4-7",
        files={"proc/cpuinfo": "flags\t: hypervisor x\n"},
    )  # fmt: skip
    return listed(early, replace(early, tasks=tasks, uptime=102.0))


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_damaged_lists_are_judged_or_refused(sample: dict[str, str], data: st.DataObject) -> None:
    lists = dict(sample)
    for _ in range(data.draw(st.integers(0, 3))):
        name = data.draw(st.sampled_from(LISTS))
        lines = lists[name].split("\n")
        where = data.draw(st.integers(0, len(lines) - 1))
        kind = data.draw(st.sampled_from(("drop", "double", "cut", "number")))
        if kind == "drop":
            del lines[where]
        elif kind == "double":
            lines.insert(where, lines[where])
        elif kind == "cut":
            lines[where] = lines[where][: data.draw(st.integers(0, 30))]
        else:
            other = str(data.draw(st.integers(-2, 70000)))
            lines[where] = re.sub(r"\d+", other, lines[where], count=1)
        lists[name] = "\n".join(lines)
    facts = attempt(lambda: read_facts(lists, "host"))
    if not isinstance(facts, str):
        leaves_in_every_way(judge("host", facts, []), facts)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_profiles_and_archives_are_read_or_refused(
    sample: dict[str, str], tmp_path: Path, data: st.DataObject
) -> None:
    """Bytes are cut, replaced and doubled."""
    archive = packed({name: text.encode() for name, text in sample.items()})
    whole = data.draw(st.sampled_from([archive, PROFILE]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole)))
        whole = whole[:at] + data.draw(NOT_NUL) + whole[data.draw(st.integers(at, len(whole))) :]
    path = tmp_path / "input"
    path.write_bytes(whole)
    profile = attempt(lambda: read_profile(path))
    if not isinstance(profile, str):
        assert judge("profile only", None, [profile]).sentence.isprintable()
    facts = attempt(lambda: read_facts(read_tar(path), "host"))
    for result in (profile, facts):
        assert not isinstance(result, str) or result.isprintable()


@settings(
    deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(st.sampled_from(FILES), NOT_NUL, min_size=1, max_size=6))
def test_any_files_are_collected(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    base = tmp_path_factory.mktemp("any")
    root = build(
        base / "tree", Machine(cpus=4, llc_cpus=2, node_cpus=2, cgroups={
            ROOT: {"cpuset.cpus.effective": "0-3"},
            f"{ROOT}/app1": {"cpuset.cpus": "2"}, f"{ROOT}/app2": {"cpuset.cpus": "3"},
        }),
    )  # fmt: skip
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    lists = base / "lists"
    lists.mkdir()
    done = collect(root, "-d", lists)
    assert done.returncode == 0, done.stderr
    facts = attempt(lambda: read_facts(read_directory(lists), "host"))
    assert isinstance(facts, str) or judge("host", facts, []).sentence


def test_a_link_in_the_tree_is_not_followed_out(tmp_path: Path) -> None:
    machine = Machine(cpus=4, cgroups={f"{ROOT}/app": {"cpuset.cpus": "1"}})
    root = build(tmp_path / "tree", machine)
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "cpuset.cpus").write_text("hunter2\n")
    (root / "sys/fs/cgroup/out").symlink_to(secret)
    (root / "sys/fs/cgroup/loop").symlink_to(root / "sys/fs/cgroup")
    text = (collected(tmp_path / "lists", root) / "cgroups").read_text()
    assert "hunter2" not in text
    assert "/loop/" not in text
