# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`schedshard kernel` as a user types it, and its messages about missing programs."""

from __future__ import annotations

import shutil

import pytest

from cli.entry import run
from common.paths import ROOT
from common.programs import PACKAGE_OF, SERIES, package_of
from kernel.arch import ARM64
from kernel.source import base

VERBS = ("fetch", "build", "boot", "test", "series", "deb", "c2c")

# Of every Debian, or of the group demo.
ALWAYS = {"apt", "binutils", "diffutils", "dpkg", "gcc", "git", "make", "perl", "tar"}


@pytest.mark.parametrize("verb", VERBS)
def test_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kernel", verb, "--help"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"Usage: schedshard kernel {verb} ")
    assert captured.err == ""


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["biuld"], "unknown command of 'schedshard kernel' 'biuld': did you mean 'build'?"),
        (["build", "--variant", "shart"], "unknown kernel variant 'shart': did you mean 'shard'?"),
        (
            ["--linux", "7.33", "build", "--variant", "shard"],
            "unknown series of Linux '7.33': did you mean '7.3'?",
        ),
        (["build"], "Missing option '--variant' (see './schedshard kernel build --help')"),
        (
            ["build", "--variant", "stock", "--config", "lap"],
            "unknown kernel configuration 'lap': did you mean 'lab'?",
        ),
        (
            ["test", "--variant", "stock", "--shape", "holes", "--cpus", "4"],
            "--shape is a whole machine: leave --machine, --cpus and --split-llc out",
        ),
        (
            ["test", "--variant", "stock", "--set", "foreign"],
            "--set foreign compares variants: give two or more, no --seconds, --caught",
        ),
        (["series", "--onto", "/nowhere"], "--onto /nowhere: no such folder"),
        (
            ["deb", "--config", "/nowhere/config"],
            "no configuration file /nowhere/config",
        ),
    ],
)
def test_wrong_use(args: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kernel", *args]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"schedshard: {words}\n"
    assert captured.out == ""


@pytest.mark.parametrize(
    ("option", "program", "group"),
    [("--check", "perl", "series"), ("--check-steps", "bison", "kernel")],
)
def test_series_asks_for_its_tools_first(
    option: str,
    program: str,
    group: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "fetched", lambda layout: None)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == program else name)
    assert run(["kernel", "series", option]) == 2
    wanted = f"schedshard: {program} not found: run 'scripts/bootstrap {group} && "
    assert capsys.readouterr().err.startswith(f"{wanted}./schedshard kernel fetch' (Debian's ")


def test_series_asks_for_its_source(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "fetched", lambda layout: None)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    assert run(["kernel", "series"]) == 2
    wanted = "the kernel source is not there: run './schedshard kernel fetch'"
    assert capsys.readouterr().err == f"schedshard: {wanted}\n"


def test_every_program_comes_with_the_group_of_packages() -> None:
    text = (ROOT / "scripts/packages.txt").read_text(encoding="ascii")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    group = {name for kind, name in lines if kind == "kernel"}
    arm64 = {name for kind, name in lines if kind == "arm64"}
    foreign = {name for kind, name in lines if kind == "foreign"}
    assert not group & (arm64 | foreign)
    assert {name for kind, name in lines if kind == "series"} >= SERIES - ALWAYS
    assert set(PACKAGE_OF.values()) <= group | arm64 | foreign | ALWAYS
    assert {package_of(ARM64.compiler), package_of(f"{ARM64.cross}ld")} <= arm64
