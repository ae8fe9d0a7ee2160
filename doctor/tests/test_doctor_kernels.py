# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests signs of fixes, the meaning of versions, and remedies for kernels of distributors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from doctor.collector.script import script_text
from doctor.facts.archive import read_directory
from doctor.facts.facts import Facts, read_facts
from doctor.known.catalogue import load_catalogue
from doctor.known.kernels import line_of, load_kernels, state_of
from doctor.known.offers import has_partitions, offer
from doctor_tree import Machine, build, collect, collected, tar
from test_doctor_verdict import groups, judged

ENTRIES = load_catalogue().entries
DEBIAN = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-12)"
# A line of /proc/kallsyms and the names of BTF that every kernel has.
SYMBOLS = "ffffffff81000000 T _text\nffffffff81f00000 T schedule\n"
TYPES = "\x9f\x01\x00task_struct\x00int\x00"
Capture = pytest.CaptureFixture[str]


def host(directory: Path, release: str, build_text: str = "#1 SMP", **files: str) -> Facts:
    """The facts of a machine whose kernel has these files, '_' standing for '/'."""
    more = {name.replace("__", "/"): text for name, text in files.items()}
    machine = Machine(
        cpus=1, llc_cpus=1, node_cpus=1, release=release,
        files={"proc/sys/kernel/version": f"{build_text}\n", **more},
    )  # fmt: skip
    tree = build(directory / "tree", machine)
    return read_facts(read_directory(collected(directory / "lists", tree)), "host")


def test_the_collector_looks_for_all_signs() -> None:
    script = script_text()
    for where, name in (("kallsyms", "symbols"), ("btf", "types")):
        match = re.search(rf"^{name}='([^']*)'$", script, re.MULTILINE)
        assert match is not None
        wanted = {
            name for sign in load_kernels().signs if sign.where == where for name in sign.names
        }
        _, *asked = match[1].split("|")
        assert sorted(wanted) == asked


def test_each_key_means_something() -> None:
    kernels = load_kernels()
    ids = {line.id for line in kernels.lines}
    assert len(ids) == len(kernels.lines)
    for fact in kernels.facts:
        assert fact.line in ids
        assert fact.entry in ENTRIES
        assert fact.source
    for sign in kernels.signs:
        assert sign.entry in ENTRIES
        assert sign.where in ("kallsyms", "btf", "settings")
        assert sign.means in ("fix", "line")


@pytest.mark.parametrize(
    ("release", "build_text", "line"),
    [
        ("4.18.0-553.el8_10.x86_64", "#1 SMP", "rhel8"),
        ("4.18.0-372.9.1.rt7.166.el8.x86_64", "#1 SMP PREEMPT_RT", "rhel8"),
        ("5.14.0-427.59.1.el9_4.x86_64+rt", "#1 SMP PREEMPT_RT", "rhel9"),
        ("6.12.0-55.el10_0.aarch64", "#1 SMP", "rhel10"),
        ("5.14.21-150500.55.83-default", "#1 SMP", "sles15"),
        ("6.12.0-160000.5-default", "#1 SMP", "sles16"),
        ("6.8.12-4-pve", "#1 SMP PREEMPT_DYNAMIC PMX 6.8.12-4", "proxmox"),
        ("6.8.0-60-generic", "#63-Ubuntu SMP", "ubuntu"),
        ("6.1.0-50-amd64", DEBIAN, "debian"),
        ("5.15.0-300.161.13.el9uek.x86_64", "#2 SMP", None),
        ("6.12.43", "#1 SMP", None),
    ],
)
def test_lines(tmp_path: Path, release: str, build_text: str, line: str | None) -> None:
    kernel_line = line_of(host(tmp_path, release, build_text))
    assert (kernel_line.id if kernel_line is not None else None) == line


@pytest.mark.parametrize(
    ("name", "release", "has", "fixed"),
    [
        ("balance-running", "6.18.9", True, False),
        ("balance-running", "6.18.10", True, True),
        ("balance-running", "6.17.13", True, False),
        ("balance-running", "6.19.0", True, True),
        ("scx-idle", "6.11.9", False, False),
        ("scx-idle", "6.12.0", True, False),
        ("rd-shared", "7.3.0", True, False),
        ("rt-push-ipi", "4.14.3", False, False),
        ("rt-push-ipi", "4.15.0", True, False),
        ("rt-push-ipi", "7.3.4", True, True),
        # A backport may have it.
        ("tg-load-avg", "5.14.0-427.el9_4.x86_64", True, None),
        ("tg-load-avg", "5.14.21-150500.55.83-default", True, None),
        ("cache-scan", "6.12.0-55.el10_0.x86_64", None, False),
        ("tg-load-avg", "6.12.0-55.el10_0.x86_64", True, True),
        ("rt-push-ipi", "6.8.12-4-pve", True, None),
        ("rt-push-ipi", "6.8.0-60-generic", True, None),
    ],
)
def test_by_version(
    tmp_path: Path, name: str, release: str, has: bool | None, fixed: bool | None
) -> None:
    state = state_of(ENTRIES[name], host(tmp_path, release))
    assert (state.has, state.fixed) == (has, fixed)
    if fixed is None:
        assert f"look for commit {ENTRIES[name].fixed_by} (" in state.why


@pytest.mark.parametrize(
    ("release", "files", "fixed"),
    [
        ("6.1.0-50-amd64", {"proc__sys__kernel__version": f"{DEBIAN}\n"}, True),
        ("6.6.0-1-generic", {"proc__version_signature": "Ubuntu 6.6.0-1.1-x 6.6.127\n"}, False),
        ("6.6.0-1-generic", {"proc__version_signature": "Ubuntu 6.6.0-1.1-x 6.6.128\n"}, True),
        ("6.6.0-1-generic", {}, None),
        ("6.6.128-4-pve", {}, True),
    ],
)  # fmt: skip
def test_the_stable_release_that_a_kernel_is_made_of(
    tmp_path: Path, release: str, files: dict[str, str], fixed: bool | None
) -> None:
    assert state_of(ENTRIES["rt-push-ipi"], host(tmp_path, release, **files)).fixed is fixed


def test_what_a_kernel_shows_counts_more_than_its_version(tmp_path: Path) -> None:
    types = {"sys__kernel__btf__vmlinux": f"{TYPES}last_update_tg_load_avg\x00"}
    symbols = {"proc__kallsyms": f"{SYMBOLS}ffffffff81000000 t task_cache_work\n"}
    rhel = host(tmp_path / "a", "5.14.0-570.el9_6.x86_64", **types, **symbols)
    state = state_of(ENTRIES["tg-load-avg"], rhel)
    assert state.fixed is True
    assert state.why == (
        "the kernel has the fix, commit 1528c661c24b: its types have last_update_tg_load_avg"
    )
    assert state_of(ENTRIES["cache-scan"], rhel).has is True
    assert state_of(ENTRIES["mm-cid"], rhel).has is False
    assert state_of(ENTRIES["rt-push-ipi"], rhel).has is False
    bare = host(tmp_path / "b", "6.12.43", sys__kernel__btf__vmlinux=TYPES)
    assert state_of(ENTRIES["tg-load-avg"], bare).fixed is False
    # A module's symbol does not count, nor does a name that only contains the one looked for.
    near = host(
        tmp_path / "c", "5.14.0-570.el9_6.x86_64",
        proc__kallsyms=f"{SYMBOLS}0 t task_cache_work\t[m]\n0 t my_task_mm_cid_work\n",
        sys__kernel__btf__vmlinux=f"{TYPES}last_update_tg_load_avg_x\x00",
    )  # fmt: skip
    assert state_of(ENTRIES["cache-scan"], near).has is False
    assert state_of(ENTRIES["mm-cid"], near).has is False
    assert state_of(ENTRIES["tg-load-avg"], near).fixed is False


def test_a_finding_says_what_the_kernel_has(capsys: Capture, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("    20.00%  a  [kernel]  [k] update_cfs_group\n")
    for name, types, level, words in (
        ("unknown", None, "medium", "look for commit 1528c661c24b (rpm -q --changelog"),
        ("fixed", f"{TYPES}last_update_tg_load_avg\x00", "low", "the cause may be another one"),
        ("open", TYPES, "medium", "does not have the fix"),
    ):
        files = {} if types is None else {"sys/kernel/btf/vmlinux": types}
        machine = Machine(tasks=groups(500), release="5.14.0-570.el9_6.x86_64", files=files)
        host = tmp_path / f"{name}.tar"
        assert collect(build(tmp_path / name, machine), "-o", host).returncode == 0
        outcome = judged(capsys, host, "--perf", report)
        [finding] = outcome.json["findings"]
        assert (finding["id"], finding["severity"]) == ("tg-load-avg", level)
        assert words in finding["evidence"][-1]["value"]


def test_nothing_is_offered_that_the_kernel_lacks(capsys: Capture, tmp_path: Path) -> None:
    """A kernel of RHEL 8 with cgroup v2 and no cgroup below the root."""
    machine = Machine(tasks=groups(4_000_000), release="4.18.0-553.el8_10.x86_64")
    outcome = judged(capsys, tar(tmp_path, machine))
    [finding] = outcome.json["findings"]
    assert "a backport may have them" in finding["remedy"]
    assert finding["command"] == "ls /sys/fs/cgroup/*/cpuset.cpus.partition"
    for name, symbol, has in (("a", "", False), ("b", "0 t sched_partition_write\n", True)):
        facts = host(tmp_path / name, "4.18.0-553.el8_10.x86_64", proc__kallsyms=SYMBOLS + symbol)
        assert has_partitions(facts) is has
        remedy, command = offer(ENTRIES["cpudl"], facts)
        assert ("--plan" in command) is has
        assert ("no cpuset partitions" in remedy) is not has
        assert offer(ENTRIES["rt-push-ipi"], facts)[1].endswith("/sys/kernel/debug/sched_features")
        assert "no affinity scopes" in offer(ENTRIES["workqueue-pool"], facts)[0]
