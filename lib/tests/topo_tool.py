# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the output of schedshard-topo, and its refusals of bad input.

usage: topo_tool.py TOOL MACHINE
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

TOOL = ""
MACHINE = ""


def run(*args: str) -> subprocess.CompletedProcess[str]:
    """Run the tool."""
    return subprocess.run([TOOL, *args], capture_output=True, text=True, check=False)


class Output(unittest.TestCase):
    """Good input gives one JSON object."""

    def topology(self, *args: str) -> dict[str, Any]:
        """Run the tool, which must succeed, and check what holds for every topology."""
        done = run(*args)
        assert (done.returncode, done.stderr) == (0, "")
        data: dict[str, Any] = json.loads(done.stdout)
        numbers = sorted(cpu["cpu"] for cpu in data["cpus"])
        plan = data["plan"]
        in_shards = [cpu for shard in plan["shards"] for cpu in shard["cpus"]]
        assert sorted(in_shards) == numbers
        assert plan["nr_shards"] == len(plan["shards"])
        assert all(0 < len(s["cpus"]) <= plan["cap"] for s in plan["shards"])
        record = {cpu["cpu"]: cpu for cpu in data["cpus"]}
        for shard in plan["shards"]:
            for cpu in shard["cpus"]:
                assert record[cpu]["package"] == shard["package"]
                assert record[cpu]["node"] == shard["node"]
        return data

    def test_machine(self) -> None:
        """A machine has its name beside the records."""
        data = self.topology("--machine", MACHINE)
        assert data["source"] == "machine"
        assert data["machine"]["name"] == Path(MACHINE).stem
        assert data["plan"]["level"] == "llc"

    def test_this_machine(self) -> None:
        """The kernel's files, by either option."""
        for source in (["--sysfs", "/"], ["--live"]):
            data = self.topology(*source)
            assert data["machine"] is None
            assert len(data["cpus"]) > 0

    def test_plan_options(self) -> None:
        """Cap and split reach the plan."""
        plain = self.topology("--machine", MACHINE)["plan"]
        capped = self.topology("--machine", MACHINE, "--cap", "4")["plan"]
        split = self.topology("--machine", MACHINE, "--split-llc", "2")["plan"]
        assert (capped["cap"], split["split_llc"]) == (4, 2)
        assert capped["nr_shards"] > plain["nr_shards"]
        assert split["nr_shards"] == 2 * plain["nr_shards"]

    def test_help(self) -> None:
        """The usage is not an error."""
        done = run("--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("Usage: schedshard-topo")


class Refusal(unittest.TestCase):
    """Bad input gives one line and status 2."""

    def refused(self, words: str, *args: str) -> None:
        """Run the tool, which must print nothing and say @words in one line."""
        done = run(*args)
        assert (done.returncode, done.stdout) == (2, ""), args
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith("schedshard-topo: "), done.stderr
        assert words in done.stderr

    def test_arguments(self) -> None:
        """Options that are unknown, lack a value, or exclude each other."""
        self.refused("give a source")
        self.refused("unrecognized option '--bogus'", "--bogus")
        self.refused("invalid option -- 'x'", "--live", "-xy")
        self.refused("option '--machine' requires an argument", "--machine")
        self.refused("option '--s' is ambiguous", "--s", "1")
        self.refused("option '--live' doesn't allow an argument", "--live=5")
        self.refused("'extra' is not an option", "--live", "extra")
        self.refused("exclude each other", "--live", "--sysfs", "/")
        for value in ("0", "65", "-1", "x", "4x", ""):
            self.refused("--cap is ", "--live", "--cap", value)
        self.refused("--split-llc is ", "--live", "--split-llc", "99999")

    def test_files(self) -> None:
        """Files that are missing or of another kind."""
        with tempfile.TemporaryDirectory() as folder:
            empty = Path(folder) / "empty"
            empty.touch()
            self.refused("No such file", "--machine", f"{folder}/none")
            self.refused("flat form", "--machine", str(empty))
            self.refused("regular file", "--machine", folder)
            self.refused("sys/devices/system", "--sysfs", folder)
            self.refused("is not a directory", "--sysfs", str(empty))

    def test_impossible_plan(self) -> None:
        """A tree that has no plan: one core in two LLCs."""
        with tempfile.TemporaryDirectory() as folder:
            cpus = Path(folder) / "sys/devices/system/cpu"
            for cpu in range(2):
                cache = cpus / f"cpu{cpu}/cache/index3"
                cache.mkdir(parents=True)
                (cache / "level").write_text("3\n")
                (cache / "type").write_text("Unified\n")
                (cache / "shared_cpu_list").write_text(f"{cpu}\n")
                (cpus / f"cpu{cpu}/topology").mkdir()
                (cpus / f"cpu{cpu}/topology/thread_siblings_list").write_text("0-1\n")
            (cpus / "possible").write_text("0-1\n")
            self.refused("no shard plan", "--sysfs", folder)


if __name__ == "__main__":
    TOOL, MACHINE = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
