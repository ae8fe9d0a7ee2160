# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The caches that doctor reads are those of the library's reader, or both refuse the lists."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from common.paths import topo_binary
from doctor.facts.archive import read_directory
from doctor.facts.facts import Facts, read_facts
from doctor_cli import attempt
from doctor_tree import Machine, build, collected

CPU = "sys/devices/system/cpu"


def caches(shared: dict[str, str], name: str = "shared_cpu_list") -> dict[str, str]:
    """The files of a cache of level 3 for CPUs, each with its list or mask."""
    files: dict[str, str] = {}
    for cpus, text in shared.items():
        for cpu in cpus.split():
            place = f"{CPU}/cpu{cpu}/cache/index0"
            files |= {f"{place}/level": "3\n", f"{place}/type": "Unified\n"}
            files[f"{place}/{name}"] = f"{text}\n"
            files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = "0\n"
    return files


def sets(possible: str, present: str, online: str) -> dict[str, str]:
    return {
        f"{CPU}/possible": f"{possible}\n", f"{CPU}/present": f"{present}\n",
        f"{CPU}/online": f"{online}\n",
    }  # fmt: skip


TREES = {
    "plain": sets("0-3", "0-3", "0-3") | caches({"0 1": "0-1", "2 3": "2-3"}),
    "absent": sets("0-7", "0-3", "0-3") | caches({"0 1": "0-1", "2 3": "2-3", "4 5 6 7": "4-7"}),
    "masks": sets("0-3", "0-3", "0-3") | caches({"0 1": "3", "2 3": "0c"}, "shared_cpu_map"),
    "words": sets("0-39", "0-39", "0-39")
    | caches({"0 1": "00,00000003", "33 34": "06,00000000"}, "shared_cpu_map"),
    "packages": sets("0-1", "0-1", "0-1") | caches({"0 1": "0-1"})
    | {f"{CPU}/cpu1/topology/physical_package_id": "1\n"},
    "level 1 only": sets("0-1", "0-1", "0-1") | caches({"0": "0", "1": "1"})
    | {f"{CPU}/cpu{cpu}/cache/index0/level": "1\n" for cpu in (0, 1)},
    "a cache that another CPU lists": sets("0-3", "0-3", "0-3") | caches({"1 2 3": "0-3"})
    | {f"{CPU}/cpu0/topology/physical_package_id": "0\n"},
    "type": sets("0-1", "0-1", "0-1") | caches({"0 1": "0-1"})
    | {f"{CPU}/cpu0/cache/index0/type": "Trace\n"},
    "level": sets("0-1", "0-1", "0-1") | caches({"0 1": "0-1"})
    | {f"{CPU}/cpu0/cache/index0/level": "10\n"},
    "none present": sets("0-1", "2-3", "0-1") | caches({"0 1": "0-1"}),
    "no mask": sets("0-3", "0-3", "0-3") | caches({"0": "x,y"}, "shared_cpu_map"),
    "too many": sets("0-8192", "0-8192", "0-8192"),
}  # fmt: skip
REFUSED = {"no mask", "too many", "type", "level", "none present"}


def theirs_of(done: str, ours: Facts) -> set[frozenset[int]]:
    """The caches that the library's reader found, limited to CPUs that doctor knows."""
    theirs: dict[int, set[int]] = {}
    for cpu in json.loads(done)["cpus"]:
        if cpu.get("possible", True):
            theirs.setdefault(cpu["llc"], set()).add(cpu["cpu"])
    known = {cpu for cpu, held in ours.cpus.items() if held.llc}
    return {frozenset(held) for held in theirs.values() if held <= known}


def tree(tmp_path: Path, name: str) -> Path:
    """The root of a machine with the files of one of TREES."""
    root = build(tmp_path / "root", Machine(cpus=1, files={}))
    for folder in (root / CPU, root / "sys/devices/system/node"):
        subprocess.run(["rm", "-rf", folder], check=True)
    for file, text in TREES[name].items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    return root


@pytest.mark.real
@pytest.mark.parametrize("name", TREES)
def test_both_readers_agree(tmp_path: Path, name: str) -> None:
    root = tree(tmp_path, name)
    lists = collected(tmp_path / "lists", root)
    ours = attempt(lambda: read_facts(read_directory(lists), "host"))
    done = subprocess.run([topo_binary(), "--sysfs", root], capture_output=True, text=True)
    assert (done.returncode != 0) == (name in REFUSED)
    assert isinstance(ours, str) == (name in REFUSED), (done, ours)
    if isinstance(ours, Facts):
        assert theirs_of(done.stdout, ours) == ours.llcs
        if name == "absent":
            assert sorted(ours.cpus) == [0, 1, 2, 3]
