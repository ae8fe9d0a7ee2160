# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The topology that doctor reads is the one of the library's reader, or both refuse it."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from common.paths import topo_binary
from doctor.facts.archive import read_directory, read_tar
from doctor.facts.facts import Facts, read_facts
from doctor.judge.verdict import judge
from doctor_cli import assert_refused, attempt, call
from doctor_tree import Machine, build, collect

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
    "packages, one unknown": sets("0-3", "0-3", "0-3") | caches({"0 1": "0-1", "2 3": "2-3"})
    | {f"{CPU}/cpu1/topology/physical_package_id": "-1\n"},
    "level 1 only": sets("0-1", "0-1", "0-1") | caches({"0": "0", "1": "1"})
    | {f"{CPU}/cpu{cpu}/cache/index0/level": "1\n" for cpu in (0, 1)},
    "a cache that another CPU lists": sets("0-3", "0-3", "0-3") | caches({"1 2 3": "0-3"})
    | {f"{CPU}/cpu0/topology/physical_package_id": "0\n"},
    "nodes by link": sets("0-3", "0-3", "0-3") | caches({"0 1": "0-1", "2 3": "2-3"})
    | {"sys/devices/system/node/node0/cpulist": "0-1\n",
       **{f"{CPU}/cpu{cpu}/node1/online": "1\n" for cpu in (2, 3)}},
    "node not possible": sets("0-3", "0-3", "0-3") | caches({"0 1": "0-1"})
    | {"sys/devices/system/node/node0/cpulist": "0-4\n"},
    "two nodes": sets("0-3", "0-3", "0-3") | caches({"0 1": "0-1"})
    | {"sys/devices/system/node/node0/cpulist": "0-1\n",
       "sys/devices/system/node/node1/cpulist": "1-3\n"},
    "cache not possible": sets("0-3", "0-3", "0-3") | caches({"0 1": "0-1,9"}),
    "two caches": sets("0-3", "0-3", "0-3") | caches({"0": "0,2", "1": "1-2"}),
    "core in two caches": sets("0-3", "0-3", "0-3") | caches({"0 1": "0-1", "2 3": "2-3"})
    | {f"{CPU}/cpu{cpu}/topology/thread_siblings_list": "1-2\n" for cpu in (1, 2)},
    "cycle": sets("0-3", "0-3", "0-3")
    | {f"{CPU}/cpu{cpu}/topology/physical_package_id": f"{package}\n"
       for cpu, package in enumerate((0, 0, 1, 1))}
    | {"sys/devices/system/node/node0/cpulist": "0-2\n",
       "sys/devices/system/node/node1/cpulist": "3\n"},
    "type": sets("0-1", "0-1", "0-1") | caches({"0 1": "0-1"})
    | {f"{CPU}/cpu0/cache/index0/type": "Trace\n"},
    "level": sets("0-1", "0-1", "0-1") | caches({"0 1": "0-1"})
    | {f"{CPU}/cpu0/cache/index0/level": "10\n"},
    "empty mask": sets("0-1", "0-1", "0-1") | caches({"0 1": "00"}, "shared_cpu_map"),
    "none present": sets("0-1", "2-3", "0-1") | caches({"0 1": "0-1"}),
    "contradiction": sets("0-3", "0-3", "0-3") | caches({"0": "0-1", "1": "0-2", "2 3": "2-3"}),
    "not itself": sets("0-3", "0-3", "0-3") | caches({"0": "1-2"}),
    "no mask": sets("0-3", "0-3", "0-3") | caches({"0": "x,y"}, "shared_cpu_map"),
    "too many": sets("0-8192", "0-8192", "0-8192"),
}  # fmt: skip
REFUSED = {
    "contradiction", "not itself", "no mask", "too many", "node not possible", "two nodes",
    "cache not possible", "two caches", "core in two caches", "cycle", "type", "level",
    "empty mask", "none present",
}  # fmt: skip
# No plan of shards fits these: doctor judges an archive all the same, and says so.
UNPLANNED = {"core in two caches", "cycle"}
# The collector keeps no links of CPUs to nodes; a capture has them.
LINKS = "nodes by link"


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
    (tmp_path / "lists").mkdir()
    assert collect(root, "-d", tmp_path / "lists").returncode == 0
    ours = attempt(lambda: read_facts(read_directory(tmp_path / "lists"), "host"))
    done = subprocess.run([topo_binary(), "--sysfs", root], capture_output=True, text=True)
    assert (done.returncode != 0) == (name in REFUSED)
    assert isinstance(ours, str) == (name in REFUSED - UNPLANNED), (done, ours)
    if name in UNPLANNED:
        assert isinstance(ours, Facts)
        assert "no shard plan" in done.stderr
        assert ours.unplanned
        assert "topo and sbm_create() refuse this machine" in " ".join(judge("", ours, []).notes)
    elif isinstance(ours, Facts):
        assert not ours.unplanned
        assert theirs_of(done.stdout, ours) == ours.llcs
        if name == "absent":
            assert sorted(ours.cpus) == [0, 1, 2, 3]


@pytest.mark.real
@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("folder", ["", "machine/", "./"])
def test_a_capture_in_a_tar_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, folder: str
) -> None:
    """Doctor and topo take a tar file of /sys, or both refuse it in one line."""
    root = tree(tmp_path, name)
    packed = tmp_path / "capture.tgz"
    with tarfile.open(packed, "w:gz") as tar:
        tar.add(root / "sys", f"{folder}sys")
    done = subprocess.run([topo_binary(), "--sysfs", root], capture_output=True, text=True)
    judged = call(capsys, "doctor", packed)
    shown = call(capsys, "topo", "--sysfs", packed, "--json")
    if name in REFUSED:
        assert_refused(judged, str(packed))
        assert_refused(shown, str(packed))
        return
    assert judged.status == 3
    assert "no threads and no cgroups" in " ".join(judged.out.split())
    assert shown.json["cpus"] == json.loads(done.stdout)["cpus"]
    facts = read_facts(read_tar(packed), "capture")
    assert theirs_of(done.stdout, facts) == facts.llcs
    if name == LINKS:
        assert {cpu.node for cpu in facts.cpus.values()} == {0, 1}


def packed_files(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return path


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({f"{CPU}/online": b"0-1\n" * 10_000}, "too long for a file of sysfs"),
        ({f"sys/{'x' * 40_000}": b"", f"{CPU}/online": b"0\n"}, "not a whole tar file"),
        ({"proc/version": b"Linux\n"}, f"no file of {CPU}"),
        ({f"{CPU}/online": b"0-1\n", f"{CPU}/possible": b"\xff"}, "not a list of CPUs"),
    ],
)
def test_hostile_captures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, bytes], word: str
) -> None:
    packed = packed_files(tmp_path / "capture.tgz", files)
    assert_refused(call(capsys, "doctor", packed), word)


def test_a_plugin_cannot_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = packed_files(tmp_path / "capture.tgz", {f"{CPU}/online": b"0-1\n"})
    said = call(capsys, "doctor", packed, "--batch", "nagios")
    assert said.status == 3
    assert "UNKNOWN" in said.out
