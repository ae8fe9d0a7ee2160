#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the form of schedshard-live's output, its errors and --limit, but no times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from typing import Any, ClassVar

QUICK = ("--repeats", "1", "--limit", "30")
VALUES = {"ns_per_op", "low", "high", "rounds", "disturbed", "all_disturbed"}


class Live(unittest.TestCase):
    """Runs of the program on the CPUs that this process may use."""

    binary: ClassVar[str]
    cpus: ClassVar[list[int]]

    def run_live(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run the program to its end."""
        return subprocess.run([self.binary, *args], capture_output=True, text=True, check=False)

    def result(self, *args: str) -> Any:
        """Run the program, which must succeed, and return its output."""
        run = self.run_live(*args)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    def refused(self, *args: str, status: int = 2) -> str:
        """Run the program, which must refuse, and return its one line of error."""
        run = self.run_live(*args)
        assert (run.returncode, run.stdout) == (status, ""), run
        assert run.stderr.count("\n") == 1, run.stderr
        assert run.stderr.startswith("schedshard-live: ")
        return run.stderr

    def listed(self) -> Any:
        """Operations by experiment."""
        return self.result("--list")

    def test_every_primitive(self) -> None:
        """Each primitive has a point for each number of threads; the tool checks its result."""
        cpus = self.cpus[:2]
        counts = list(range(1, len(cpus) + 1))
        data = self.result(
            "primitives", "--cpus", ",".join(map(str, reversed(cpus))), *QUICK,
            "--threads", ",".join(map(str, counts)),
        )  # fmt: skip
        names = [entry["name"] for entry in self.listed()["primitives"]]
        assert [variant["name"] for variant in data["variants"]] == names
        assert data["left_out"] == 0
        for variant in data["variants"]:
            assert [point["threads"] for point in variant["points"]] == counts
            for point in variant["points"]:
                assert set(point) == VALUES | {"threads", "min", "max"}
                assert 0 < point["min"] <= point["ns_per_op"] <= point["max"], point
                assert point["low"] <= point["ns_per_op"] <= point["high"], point
                assert 1 <= point["rounds"] <= 4

    def test_every_way_to_take_turns(self) -> None:
        """Both directions of a pair are separate points."""
        if len(self.cpus) < 2:
            self.skipTest("ping-pong needs two CPUs")
        a, b = self.cpus[:2]
        data = self.result("ping-pong", "--pairs", f"{a}:{b},{b}:{a}", *QUICK)
        names = [entry["name"] for entry in self.listed()["ping-pong"]]
        assert [variant["name"] for variant in data["variants"]] == names
        for variant in data["variants"]:
            assert [(p["from"], p["to"]) for p in variant["points"]] == [(a, b), (b, a)]
            for point in variant["points"]:
                assert set(point) == VALUES | {"from", "to"}
                assert 0 < point["low"] <= point["ns_per_op"] <= point["high"], point

    def test_hold_time_is_inside(self) -> None:
        """Operations that hold a lock spin meanwhile, which the tool checks; --hold omits others.

        The host decides how long a spin takes, but a hundred times the hold time has more spins.
        """
        hold = ("primitives", "--cpus", str(self.cpus[0]), *QUICK, "--hold")
        data = self.result(*hold, "2000")
        having = [entry["name"] for entry in self.listed()["primitives"] if entry["holds"]]
        assert [variant["name"] for variant in data["variants"]] == having
        (longer,) = self.result(*hold, "200000", "--op", having[0])["variants"]
        for variant in data["variants"]:
            spins = variant["points"][0]["hold_spins"]
            assert 1 <= spins < longer["points"][0]["hold_spins"] / 10, (variant, longer)

    def test_objects_in_turn_and_work_between(self) -> None:
        """The tool checks the result of each object; work between operations takes its time.

        Work takes less than half only on a CPU that doubles its clock after the tool counted spins.
        """
        single = ("primitives", "--cpus", str(self.cpus[0]), "--op", "atomic-inc", *QUICK)
        (variant,) = self.result(*single, "--lines", "5", "--work", "100000")["variants"]
        assert variant["points"][0]["ns_per_op"] > 50000, variant

    def test_a_home_that_there_is(self) -> None:
        """Every host has node 0; a node that does not exist is named in a refusal."""
        if len(self.cpus) < 2:
            self.skipTest("ping-pong needs two CPUs")
        pair = ("ping-pong", "--pairs", f"{self.cpus[0]}:{self.cpus[1]}", "--op", "cas", *QUICK)
        assert self.result(*pair, "--home", "0")["variants"][0]["points"]
        assert "no NUMA node 5000" in self.refused(*pair, "--home", "5000")

    def test_progress_rises_to_its_end(self) -> None:
        """Lines 'progress DONE TOTAL', and nothing else on stderr."""
        run = self.run_live("primitives", "--cpus", str(self.cpus[0]), "--progress", *QUICK)
        lines = [line.split() for line in run.stderr.splitlines()]
        assert all(line[0] == "progress" and line[2] == "100" for line in lines)
        done = [int(line[1]) for line in lines]
        assert done == sorted(set(done))
        assert done[-1] == 100

    def test_what_the_limit_cuts_is_counted(self) -> None:
        """A thousand rounds of all operations do not fit into a second, so fewer are run."""
        data = self.result(
            "primitives", "--cpus", str(self.cpus[0]), "--repeats", "1000", "--limit", "1"
        )
        points = [point for variant in data["variants"] for point in variant["points"]]
        assert len(points) + data["left_out"] == len(self.listed()["primitives"])
        assert points
        assert all(point["rounds"] < 1000 for point in points)

    def test_one_operation(self) -> None:
        """Whole names are compared: rwlock-read does not select rwlock-glibc-read."""
        data = self.result(
            "primitives", "--cpus", str(self.cpus[0]), "--op", "rwlock-read,refcount", *QUICK
        )
        assert [variant["name"] for variant in data["variants"]] == ["refcount", "rwlock-read"]

    def test_wrong_input(self) -> None:
        """Wrong input is refused in one line that quotes it."""
        cpu = str(self.cpus[0])
        for args, words in (
            ((), "give 'primitives' or 'ping-pong'"),
            (("primitive",), "give 'primitives' or 'ping-pong'"),
            (("primitives",), "takes --cpus"),
            (("primitives", "--cpus", "x"), "'x'"),
            (("primitives", "--cpus", "0,"), "''"),
            (("primitives", "--cpus", "-1"), "'-1'"),
            (("primitives", "--cpus", f"{cpu},{cpu}"), "twice"),
            (("primitives", "--cpus", cpu, "--threads", "2"), "--cpus names 1 CPUs"),
            (("primitives", "--cpus", cpu, "--threads", "0"), "'0'"),
            (("primitives", "--cpus", cpu, "--op", "nope"), "'nope'"),
            (("primitives", "--cpus", cpu, "--op", "atomic"), "'atomic'"),
            (("primitives", "--cpus", cpu, "--op", "atomic-inc", "--hold", "9"), "no hold time"),
            (("primitives", "--cpus", cpu, "--pairs", "0:1"), "no --pairs"),
            (("primitives", "--cpus", cpu, "--limit", "0"), "--limit"),
            (("primitives", "--cpus", cpu, "--repeats", "1e3"), "--repeats"),
            (("primitives", "--cpus", cpu, "more"), "'more'"),
            (("primitives", "--cpus", "4000000"), "no CPU 4000000"),
            (("ping-pong", "--pairs", "0"), "A:B"),
            (("ping-pong", "--pairs", "0:0"), "twice in one pair"),
            (("ping-pong", "--pairs", "0:1", "--hold", "3"), "no --cpus, --threads, --hold"),
            (("ping-pong", "--pairs", "0:1", "--lines", "2"), "--work or --lines"),
            (("ping-pong", "--pairs", "0:1", "--home", "x"), "'x'"),
            (("primitives", "--cpus", cpu, "--home", "0"), "--pairs or --home"),
            (("primitives", "--cpus", cpu, "--lines", "0"), "--lines"),
            (("primitives", "--cpus", cpu, "--lines", "65"), "--lines"),
            (("primitives", "--cpus", cpu, "--work", "-1"), "--work"),
            (("ping-pong", "--cpus", "0,1"), "takes --pairs"),
        ):
            with self.subTest(args=args):
                assert words in self.refused(*args)

    def test_a_cpu_that_it_may_not_use(self) -> None:
        """A CPU outside of the affinity with which the tool was started is refused."""
        if len(self.cpus) < 2:
            self.skipTest("one CPU: it is always allowed")
        a, b = self.cpus[:2]
        try:
            os.sched_setaffinity(0, {a})
            message = self.refused("primitives", "--cpus", str(b), "--op", "refcount", *QUICK)
        finally:
            os.sched_setaffinity(0, self.cpus)
        assert f"CPU {b} is offline, or this process may not use it" in message


if __name__ == "__main__":
    Live.binary = sys.argv.pop(1)
    Live.cpus = sorted(os.sched_getaffinity(0))
    unittest.main(verbosity=2)
