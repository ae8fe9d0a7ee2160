# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`schedshard kernel` names the programs and sources that are missing before it works."""

from __future__ import annotations

import shutil

import pytest

from cli.entry import run
from common.paths import ROOT
from common.programs import PACKAGE_OF, SERIES, package_of
from kernel.arch import ARM64
from kernel.source import base

# Of every Debian, or of the group demo.
ALWAYS = {"apt", "binutils", "diffutils", "dpkg", "gcc", "git", "make", "perl", "tar"}


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
    assert not group & arm64
    assert {name for kind, name in lines if kind == "series"} >= SERIES - ALWAYS
    assert set(PACKAGE_OF.values()) <= group | arm64 | ALWAYS
    assert {package_of(ARM64.compiler), package_of(f"{ARM64.cross}ld")} <= arm64
