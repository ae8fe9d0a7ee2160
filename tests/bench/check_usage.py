#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""schedshard-bench as a program: the form of its output, its errors, and runs without valgrind."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

ROW_KEYS = {
    "group", "op", "variant", "reference", "plan", "density", "ns", "ratio", "ratio_low",
    "ratio_high", "instructions", "instructions_ratio", "bytes",
}  # fmt: skip
HOST_KEYS = {"cpu", "arch", "kernel", "online_cpus", "contended_cpus", "compiler"}


def command_of(pid: str) -> str:
    """Return a process's arguments; nothing once it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    return ""


def waited(holds: Callable[[], bool]) -> None:
    """Wait until something holds, at most ten seconds."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Usage(unittest.TestCase):
    """Runs of the program, with nothing in its search path: no valgrind."""

    binary: ClassVar[str]

    def run_in(
        self, directory: str, *args: str, before: Callable[[], object] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run with programs and temporary files of one directory; call ``before`` in the child."""
        return subprocess.run(
            [self.binary, *args],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": directory, "TMPDIR": directory},
            preexec_fn=before,
        )

    def run_bench(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run without valgrind in reach; nothing may be left in the temporary directory."""
        with tempfile.TemporaryDirectory() as directory:
            run = self.run_in(directory, *args)
            assert not list(Path(directory).iterdir())
        return run

    def test_unknown_option(self) -> None:
        """A misspelt option is one line and status 2."""
        run = self.run_bench("--shrt")
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr == "schedshard-bench: unrecognized option '--shrt'\n"

    def test_instructions_without_valgrind(self) -> None:
        """Without valgrind a request for counts alone ends in one line that names it."""
        run = self.run_bench("--instructions")
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr.count("\n") == 1
        assert "valgrind is not installed" in run.stderr

    def test_valgrinds_own_messages(self) -> None:
        """Regression: one that cannot run had no message, one that ends with 127 lost its own."""
        for mode, told in ((0o644, "valgrind: Permission denied"), (0o755, "no such tool")):
            with tempfile.TemporaryDirectory() as directory:
                odd = Path(directory) / "valgrind"
                odd.write_text("#!/bin/sh\necho no such tool >&2\nexit 127\n", encoding="utf-8")
                odd.chmod(mode)
                run = self.run_in(directory, "--instructions")
            assert (run.returncode, run.stdout) == (2, "")
            failed = "schedshard-bench: no instruction counts: valgrind failed, see above"
            assert run.stderr == f"{told}\n{failed}\n", run.stderr

    def test_waiting_for_valgrind(self) -> None:
        """Regression: where children leave no status, there was no message at all."""
        ignore = functools.partial(signal.signal, signal.SIGCHLD, signal.SIG_IGN)
        with tempfile.TemporaryDirectory() as directory:
            run = self.run_in(directory, "--instructions", before=ignore)
        assert run.returncode == 2
        assert run.stderr == "schedshard-bench: cannot wait for valgrind: No child processes\n"

    def test_valgrind_ends_with_its_caller(self) -> None:
        """Regression: who ends the command kills the program, and valgrind went on alone."""
        with tempfile.TemporaryDirectory() as directory:
            slow = Path(directory) / "valgrind"
            slow.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
            slow.chmod(0o755)
            run = subprocess.Popen(
                [self.binary, "--instructions"],
                env={
                    **os.environ,
                    "PATH": f"{directory}:{os.environ['PATH']}",
                    "TMPDIR": directory,
                },
            )
            children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
            waited(lambda: command_of(children.read_text().strip()).startswith("sleep"))
            child = int(children.read_text())
            run.kill()
            run.wait()
            try:
                waited(lambda: not command_of(str(child)))
            except AssertionError:
                os.kill(child, signal.SIGKILL)
                raise

    def test_short_without_valgrind(self) -> None:
        """Times come without counts, every row complete, ratios within their spread."""
        run = self.run_bench("--short")
        assert run.returncode == 0, run.stderr
        result = json.loads(run.stdout)
        assert set(result["host"]) == HOST_KEYS
        alone = result["host"]["contended_cpus"] is None
        references = set()
        for row in result["rows"]:
            assert set(row) == ROW_KEYS
            assert row["instructions"] is None
            if row["group"] == "contended" and alone:
                assert row["ns"] is None
                continue
            assert row["ns"] > 0
            assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"], row
            if row["variant"] == row["reference"]:
                assert row["ratio"] == 1
                references.add((row["group"], row["op"], row["plan"], row["density"]))
        for row in result["rows"]:
            if row["ns"] is not None:
                key = (row["group"], row["op"], row["plan"], row["density"])
                assert key in references

    def test_a_machine_file(self) -> None:
        """A machine file replaces the built-in plans; objects have a size."""
        file = Path(__file__).resolve().parents[2] / "machines/graviton3-64.toml"
        run = self.run_bench("--short", "--machine", str(file))
        assert run.returncode == 0, run.stderr
        rows = json.loads(run.stdout)["rows"]
        assert {row["op"] for row in rows} == {"create", "set+clear", "iterate"}
        assert all(row["ns"] > 0 for row in rows)
        bytes_of = {row["variant"]: row["bytes"] for row in rows if row["op"] == "create"}
        # 64 CPUs without SMT: a pool has a line per two CPUs, a set of words one per CPU.
        assert bytes_of["plain"] == 128
        assert bytes_of["claim-pool"] > 32 * 64
        assert bytes_of["claim-words"] > 64 * 64
        assert bytes_of["hwloc"] is None
        assert all(row["bytes"] is None for row in rows if row["op"] != "create")

    def test_no_such_machine_file(self) -> None:
        """A machine file that is missing is refused in one line with status 2."""
        run = self.run_bench("--machine")
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr == "schedshard-bench: option '--machine' requires an argument\n"
        run = self.run_bench("--machine", "nowhere.toml")
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr.startswith("schedshard-bench: nowhere.toml: ")
        assert run.stderr.count("\n") == 1

    def test_a_machine_has_no_instructions(self) -> None:
        """--instructions and --machine together are refused."""
        run = self.run_bench("--instructions", "--machine", "nowhere.toml")
        assert (run.returncode, run.stdout) == (2, "")
        assert "not both" in run.stderr

    def test_one_cpu(self) -> None:
        """With one allowed CPU nothing is contended, and contended_cpus is null."""
        allowed = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {min(allowed)})
            run = self.run_bench("--short")
        finally:
            os.sched_setaffinity(0, allowed)
        assert run.returncode == 0, run.stderr
        result = json.loads(run.stdout)
        assert result["host"]["contended_cpus"] is None
        contended = [row for row in result["rows"] if row["group"] == "contended"]
        assert contended
        assert all(row["ns"] is None and row["ratio"] is None for row in contended)


if __name__ == "__main__":
    Usage.binary = sys.argv.pop(1)
    unittest.main(verbosity=2)
