# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""scripts/kernel_check, with stand-ins that print their names: order, concurrency and failures."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A command prints its name, twice. The one that WAIT names ends only when the one that UNTIL
# names has begun. The one that FAIL names fails, and the one that HANG names never ends.
FAKE = r"""#!/bin/bash
said="$(basename "$0") $* of ${SCHEDSHARD_LINUX:-any}"
[[ $said == *"--any"* ]] && { echo "$NEWEST"; exit; }
is() { [[ -n $1 && $said == *"$1"* ]]; }
echo "begin $said"
echo "$said" >>begun
is "${HANG:-}" && { echo $$ >hangs; exec sleep 600; }
tries=0
while is "${WAIT:-}" && ! grep -q -- "$UNTIL" begun && ((tries++ < 600)); do sleep 0.1; done
((tries < 600)) || exit 9
while is "${FAIL:-}" && [[ -n ${HANG:-} && ! -s hangs ]]; do sleep 0.1; done
is "${FAIL:-}" && { echo "no: $said"; exit 3; }
echo "end $said"
"""
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "kernel_check", tmp_path / "scripts")
    for name in ("schedshard", "scripts/build"):
        (tmp_path / name).write_text(FAKE, encoding="ascii")
        (tmp_path / name).chmod(0o755)

    def call(**variables: str) -> subprocess.CompletedProcess[str]:
        inherited = {key: value for key, value in os.environ.items() if key != "SCHEDSHARD_LINUX"}
        return subprocess.run(
            [tmp_path / "scripts" / "kernel_check"],
            env={**inherited, "OLD": "6.12", "NEWEST": "7.3", **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    return call


def test_output_of_jobs_is_in_order_and_whole(run: Run) -> None:
    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["begin", "end"] * (len(lines) // 2)
    said = [line.partition(" ")[2] for line in lines[::2]]
    assert said == [line.partition(" ")[2] for line in lines[1::2]]
    words = [" ".join(line.split()[1:3]) for line in said]
    assert words == [
        *("build/release of", "kernel build", "kernel test", "kernel test", "kernel plans"),
        *("kernel c2c-validate", "c2c record", "kernel build", "kernel test", "kernel deb"),
        *("kernel fetch", "kernel series"),
    ]
    assert "--test storm-walk --test walk-self of" in said[3]
    assert [line.endswith(" of 6.12") for line in said[1:]] == [False] * 9 + [True] * 2


def test_the_series_before_is_tested_once(run: Run) -> None:
    done = run(NEWEST="6.12")
    assert done.returncode == 0
    assert "series --check" not in done.stdout
    assert "storm-walk of" in done.stdout
    assert done.stdout.count("of 6.12") == 2 * 9


def test_the_tree_of_the_checks_is_used(run: Run, tmp_path: Path) -> None:
    (tmp_path / "build" / "check-gcc").mkdir(parents=True)
    (tmp_path / "build" / "check-gcc" / "build.ninja").touch()
    done = run()
    assert done.stdout.startswith("begin build build/check-gcc of any\n")
    assert "-- build/check-gcc/tests/record/record-known one" in done.stdout


@pytest.mark.parametrize(
    ("job", "beside"), [("broken-store of", "c2c record"), ("series --check", "deb")]
)
def test_jobs_run_beside_guests(run: Run, job: str, beside: str) -> None:
    done = run(WAIT=job, UNTIL=beside)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "command",
    [
        *("build build/release", "build --variant shard of", "--set ci", "multi", "plans"),
        *("c2c-validate", "record --guest", "build --variant broken-store", "--caught", "deb"),
        *("fetch of 6.12", "series --check"),
    ],
)
def test_a_failure_anywhere_ends_the_run_with_its_output(run: Run, command: str) -> None:
    done = run(FAIL=command)
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1].startswith("no: ")
    assert command in done.stdout.splitlines()[-1]


def test_jobs_end_with_the_run(run: Run, tmp_path: Path) -> None:
    done = run(FAIL="--set ci", HANG="build --variant broken-store")
    assert done.returncode == 3
    job = int((tmp_path / "hangs").read_text(encoding="ascii"))
    for _ in range(300):
        try:
            os.kill(job, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the job still runs")
