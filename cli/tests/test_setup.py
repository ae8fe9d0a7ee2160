# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests `schedshard setup --check` here, and on a machine that lacks nearly everything."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from common.paths import ROOT
from conftest import Cli

# Programs that every Debian has.
BASE = (
    "bash", "cat", "comm", "cut", "dirname", "getconf", "grep", "id", "readlink", "sed", "sh",
    "sha256sum", "sort", "uname",
)  # fmt: skip


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder of programs in which dpkg-query knows no package."""
    for name in BASE:
        path = shutil.which(name)
        assert path is not None, name
        (tmp_path / name).symlink_to(path)
    for name in ("apt-get", "dpkg-query", "apt-cache"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def check(path: Path) -> tuple[int, dict[str, str]]:
    """Return the status, and what is said of each product."""
    argv = [str(ROOT / "schedshard"), "setup", "--check"]
    done = subprocess.run(argv, env={"PATH": str(path)}, capture_output=True, text=True)
    assert done.stderr == ""
    products = [line.split(maxsplit=1) for line in done.stdout.splitlines()[1:]]
    return done.returncode, dict(products)


def test_a_machine_with_nothing(bare: Path) -> None:
    status, products = check(bare)
    assert status == 1
    for name, command in (
        ("doctor", "./make doctor"),
        ("library", "./make install-lib"),
        ("run", "./make build"),
        ("record", "./make build"),
        ("series", "./make series"),
        ("kernel", "./make kernel"),
        ("tests", "./make check"),
    ):
        assert products[name].startswith("lacks "), name
        assert f": {command}" in products[name], name
    assert "python3 python3-venv" in products["doctor"]
    assert "packages (ca-certificates, g++, gcc, ...)" in products["run"]


def test_a_package_that_is_there_is_not_missing(bare: Path) -> None:
    text = "#!/bin/sh\nprintf 'installed %s\\n' python3 python3-venv\n"
    (bare / "dpkg-query").write_text(text, encoding="ascii")
    _, products = check(bare)
    assert "python3" not in products["doctor"]
    assert "packages" in products["run"]


def test_another_distribution_is_not_said_to_lack_packages(bare: Path) -> None:
    (bare / "dpkg-query").unlink()
    _, products = check(bare)
    assert products["library"] == "works, if its packages are installed (docs/install.md)"
    assert "packages (" not in products["run"]


@pytest.mark.parametrize("loads", [False, True])
def test_only_an_emulator_that_loads_plugins_counts(bare: Path, loads: bool) -> None:
    option = "-plugin" if loads else "-cpu"
    (bare / "qemu-x86_64").write_text(f"#!/bin/sh\necho '{option} x'\n", encoding="ascii")
    (bare / "qemu-x86_64").chmod(0o755)
    _, products = check(bare)
    ours = (ROOT / "build" / "emulator" / "qemu-x86_64").exists()
    assert ("emulator" in products["record"]) is not (loads or ours)


def test_an_installed_package_without_its_tools(tmp_path: Path) -> None:
    script = ROOT / "cli" / "setup.sh"
    argv = ["sh", str(script), "--check", str(tmp_path / "installed")]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 1
    assert "run        lacks compiled programs: install schedshard again" in done.stdout
    assert "doctor     works" in done.stdout


def test_its_usage(cli: Cli) -> None:
    outcome = cli("setup")
    assert outcome.status == 2
    assert "--check" in outcome.err
    argv = [str(ROOT / "schedshard"), "setup", "--check", "record"]  # record/ is a folder, too
    done = subprocess.run(argv, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ")


@pytest.mark.parametrize("has_sudo", [True, False])
def test_a_user_without_rights_is_told_once_what_root_must_do(bare: Path, has_sudo: bool) -> None:
    """Nothing is installed: sudo is only asked whether this user may use it."""
    calls = bare / "calls"
    called = f'echo "$0 $*" >>{calls}; exit 1'
    for name, body in (("id", "echo 1000"), ("apt-get", called), ("sudo", called)):
        (bare / name).unlink(missing_ok=True)
        if name != "sudo" or has_sudo:
            (bare / name).write_text(f"#!/bin/sh\n{body}\n", encoding="ascii")
            (bare / name).chmod(0o755)
    argv = [str(ROOT / "scripts" / "bootstrap"), "doctor"]
    done = subprocess.run(argv, env={"PATH": str(bare)}, capture_output=True, text=True)
    wanted = "as root: apt-get install --no-install-recommends python3 python3-venv"
    assert (done.returncode, done.stderr) == (2, f"bootstrap: {wanted}\n")
    asked = calls.read_text().splitlines() if calls.exists() else []
    assert asked == [f"{bare}/sudo -v"] * has_sudo
