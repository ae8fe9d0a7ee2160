#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Bounds of the sharded structures' instructions, beside the plain bitmap.

Counts are exact and the same in every run, so the comparison has no tolerance.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import unittest
from typing import Any, ClassVar

ONE_SHARD = "one-shard-64"
BIG = "epyc-256"
SKIPPED = 77


class Instructions(unittest.TestCase):
    """Ratios of one run of schedshard-bench --instructions."""

    binary: ClassVar[str]
    rows: ClassVar[list[dict[str, Any]]]

    @classmethod
    def setUpClass(cls) -> None:
        """Count once for all tests."""
        run = subprocess.run(
            [cls.binary, "--instructions"], check=True, capture_output=True, text=True
        )
        cls.rows = json.loads(run.stdout)["rows"]

    def count(self, plan: str, op: str, variant: str, density: str | None = None) -> float:
        """Return the instructions of an operation."""
        key = (plan, op, variant, density)
        found = [
            row["instructions"]
            for row in self.rows
            if row["group"] != "contended"
            and (row["plan"], row["op"], row["variant"], row["density"]) == key
        ]
        assert len(found) == 1, f"rows for {key}"
        assert isinstance(found[0], float)
        return found[0]

    def test_every_row_is_counted(self) -> None:
        """Uncontended rows have a count, contended ones and times are null."""
        for row in self.rows:
            counted = row["group"] != "contended"
            assert (row["instructions"] is not None) == counted, row
            assert row["ns"] is None, row

    def test_counts_are_exact(self) -> None:
        """The empty loop takes four instructions per turn, and a few before and after it."""
        for plan, turns in ((ONE_SHARD, 64), (BIG, 256)):
            total = self.count(plan, "empty", "loop") * turns
            assert abs(total - round(total)) < 0.01, total
            assert 4 * turns < total < 4 * turns + 16, total

    def test_set_and_clear(self) -> None:
        """The sharded bitmap sets and clears with at most 1.2 x the plain bitmap's.

        It extracts address and position from one word, which takes instructions but saves a load.
        """
        for plan in (ONE_SHARD, BIG):
            plain = self.count(plan, "set+clear", "plain")
            ratio = self.count(plan, "set+clear", "sbm") / plain
            assert ratio <= 1.2, ratio

    def test_iteration(self) -> None:
        """A walk of a full or sparse set of one shard takes at most 1.3 x the plain bitmap's."""
        for density in ("1/16", "1/2", "full"):
            plain = self.count(ONE_SHARD, "iterate", "plain", density)
            ratio = self.count(ONE_SHARD, "iterate", "sbm", density) / plain
            assert ratio <= 1.3, (density, ratio)

    def test_empty_set_with_summary(self) -> None:
        """With a summary an empty set of 16 shards costs as much as one of a single shard."""
        one = self.count(ONE_SHARD, "iterate", "sbm-summary", "empty")
        assert self.count(BIG, "iterate", "sbm-summary", "empty") <= one + 4


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        print("valgrind is not installed", file=sys.stderr)
        sys.exit(SKIPPED)
    Instructions.binary = sys.argv.pop(1)
    unittest.main(verbosity=2)
