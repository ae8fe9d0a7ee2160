#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests how schedshard-explore refuses bad usage, obeys limits, and prints its result as text.

Usage: explore_usage.py EXPLORER
"""

from __future__ import annotations

import json
import subprocess
import sys

BAD = [
    (["litmus-rase"], "no case is called 'litmus-rase'; the nearest name is 'litmus-race'"),
    (["sumary-set-serch"], "the nearest name is 'summary-set-search'"),
    ([], "give a case"),
    (["litmus-race", "litmus-elect"], "only one case"),
    (["litmus-race", "--cpus", "3"], "case 'litmus-race' is for 2 to 2 CPUs"),
    (["summary-set-search", "--cpus", "0"], "'0': give a whole number from 1"),
    (["summary-set-search", "--cpus", "two"], "'two': give a whole number"),
    (["summary-set-search", "--cpus"], "option '--cpus' requires an argument"),
    (["litmus-race", "--model", "arm"], "'arm' is not one of 'tso', 'sc', 'posted', 'weak'"),
    (["litmus-race", "--search", "random"], "'random' is not one of 'states', 'brute'"),
    (["litmus-race", "--preemptions", "-1"], "'-1': give a whole number"),
    (["litmus-race", "--executions", "0"], "'0': give a whole number from 1"),
    (["litmus-race", "--verbose"], "unrecognized option '--verbose'"),
]


def run(explorer: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run the explorer."""
    return subprocess.run([explorer, *args], capture_output=True, text=True, check=False)


def check_bad(explorer: str) -> None:
    """Bad usage prints nothing on stdout and one line on stderr, with status 2."""
    for args, message in BAD:
        done = run(explorer, *args)
        assert done.returncode == 2, f"{args}: exit status {done.returncode}"
        assert done.stdout == "", args
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.endswith("\n"), done.stderr
        assert done.stderr.startswith("schedshard-explore: "), done.stderr
        assert message in done.stderr, f"{args}: {done.stderr}"


def check_limit(explorer: str) -> None:
    """A search that was stopped says so."""
    args = ("summary-set-search", "--cpus", "4", "--executions", "100")
    for search in ("states", "brute"):
        report = json.loads(run(explorer, *args, "--search", search).stdout)
        assert report["complete"] is False, search
        assert report["executions"] == 100, search
    text = run(explorer, *args, "--text").stdout
    assert "search not complete" in text, text


def check_bound_counts(explorer: str) -> None:
    """A larger bound on preemptions gives more executions, until it allows all."""
    case = ("weak-iriw-onces", "--model", "tso", "--search", "brute")
    counts = []
    for bound in range(7):
        done = run(explorer, *case, "--preemptions", str(bound))
        report = json.loads(done.stdout)
        assert report["preemption_bound"] == bound
        assert report["complete"] is True
        counts.append(report["executions"])
    unbounded = json.loads(run(explorer, *case).stdout)
    assert counts == sorted(counts)
    assert 1 < counts[0] < counts[1] < counts[-1] == unbounded["executions"], counts


def check_text(explorer: str) -> None:
    """The text agrees with the JSON."""
    report = json.loads(run(explorer, "planted-count-mask").stdout)
    done = run(explorer, "planted-count-mask", "--text")
    assert done.returncode == 1
    assert f"{report['executions']} executions" in done.stdout
    assert report["violation"]["message"] in done.stdout
    lines = done.stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("step"))
    rows = lines[head + 1 :]
    assert len(rows) == len(report["violation"]["schedule"])
    for row, step in zip(rows, report["violation"]["schedule"], strict=True):
        assert row.split()[:2] == [str(step["step"]), str(step["cpu"])], row
        assert step["object"] in row, row
        assert step["function"] in row, row


def main() -> None:
    """Check everything."""
    explorer = sys.argv[1]
    check_bad(explorer)
    check_limit(explorer)
    check_bound_counts(explorer)
    check_text(explorer)
    done = run(explorer, "--help")
    assert done.returncode == 0
    assert "--preemptions" in done.stdout


main()
