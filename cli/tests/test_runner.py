# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stages of scripts/check.py: those that run beside another one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from common.paths import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import configure
from runner import Command, Count, Stage, count_junit, run_stages

import check


def passes(_: Path) -> Count:
    return Count(passed=2)


def stage(name: str, script: str, report: Path, beside: Stage | None = None) -> Stage:
    shell = Command(["sh", "-c", f"{script}; echo >{report}"])
    return Stage(name, "build", [shell], [(report, passes)], beside)


def test_a_stage_beside_another_runs_at_the_same_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fifo = tmp_path / "fifo"
    # Each waits for the other.
    os.mkfifo(fifo)
    other = stage("other", f"nice; read met <{fifo}", tmp_path / "other.xml")
    first = stage("first", f"echo met >{fifo}", tmp_path / "first.xml", other)
    assert run_stages([first], tmp_path) == 0
    assert capsys.readouterr().out.endswith("4 passed, 0 failed\n")
    assert "19\n" in (tmp_path / "other.log").read_text(encoding="utf-8")


def test_a_build_tree_is_removed_only_by_a_stage_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meson = tmp_path / "bin" / "meson"
    meson.parent.mkdir()
    meson.write_text('#!/bin/sh\nmkdir "$2" && echo "$3" >"$2/build.ninja"\n')
    meson.chmod(0o755)
    monkeypatch.setenv("PATH", f"{meson.parent}:/usr/bin:/bin")
    tree = tmp_path / "tree"
    ninja = tree / "build.ninja"

    def configured(option: str) -> str:
        command = check.setup(tree, [option], {})
        before = ninja.read_text() if ninja.exists() else None
        words = command.argv[command.argv.index(check.CONFIGURE) + 1 :]
        assert (ninja.read_text() if ninja.exists() else None) == before
        assert configure.main(Path(words[0]), words[1], list(words[2:])) == 0
        return ninja.read_text()

    assert configured("-Da=1") == "-Da=1\n"
    (tree / "object").touch()
    assert configured("-Da=1") == "-Da=1\n"
    assert (tree / "object").exists()
    assert configured("-Da=2") == "-Da=2\n"
    assert not (tree / "object").exists()


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
