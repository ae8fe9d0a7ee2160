# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stages of scripts/check.py: those that run beside another one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from common.paths import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
from runner import Command, Count, Stage, count_junit, run_stages


def passes(_: Path) -> Count:
    return Count(passed=2)


def stage(name: str, script: str, report: Path, beside: Stage | None = None) -> Stage:
    shell = Command(["sh", "-c", f"{script}; echo >{report}"])
    return Stage(name, "build", [shell], [(report, passes)], beside)


def test_the_last_lines_name_each_test_that_failed_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "junit.xml"
    xml = (
        '<testsuites><testsuite tests="3" failures="1" errors="1" skipped="0">'
        '<testcase classname="a" name="good"/>'
        '<testcase classname="a" name="wrong"><failure message="1 == 2&#10; more"/></testcase>'
        '<testcase classname="a" name="broken"><error message="no fixture"/></testcase>'
        "</testsuite></testsuites>"
    )
    command = Command(["sh", "-c", f"printf %s '{xml}' >{report}; exit 1"])
    tests = Stage("tests", "build", [command], [(report, count_junit)])
    later = stage("later", ":", tmp_path / "later.xml")
    assert run_stages([tests, later], tmp_path) == 1
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "failed stages: tests",
        "failed: a::wrong: 1 == 2 more",
        "failed: a::broken: no fixture",
        "3 passed, 2 failed",
    ]
