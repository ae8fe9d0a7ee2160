# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`schedshard setup --check`, on this machine and on one that has next to nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from common.paths import ROOT
from conftest import Cli

# Programs that every system has.
BASE = ("cat", "dirname", "getconf", "grep", "head", "id", "readlink", "sed", "sh", "tr", "uname")


def check(path: Path) -> tuple[int, list[str]]:
    argv = [str(ROOT / "schedshard"), "setup", "--check"]
    done = subprocess.run(argv, env={"PATH": str(path)}, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def bare(tmp_path: Path, *more: str) -> Path:
    for name in (*BASE, *more):
        found = shutil.which(name)
        assert found is not None, name
        (tmp_path / name).symlink_to(found)
    return tmp_path


def test_a_machine_with_nothing(tmp_path: Path) -> None:
    status, lines = check(bare(tmp_path))
    assert status == 1
    last = lines[-1]
    assert last.startswith("to get what is missing, install (by Debian's names): ")
    for package in ("gcc", "meson", "ninja-build", "libboost-context-dev", "zlib1g-dev"):
        assert package in last.split(), package
    assert not any("the simulator" in line for line in lines if line.startswith("works here"))


def test_apt_names_the_command(tmp_path: Path) -> None:
    for name in ("apt-get", "gcc"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    status, lines = check(bare(tmp_path))
    assert status == 1
    assert "apt-get install --no-install-recommends " in lines[-1]
    # A compiler that finds no header: the packages with the headers are named.
    assert "libhwloc-dev" in lines[-1].split()


def test_an_emulator_without_plugins(tmp_path: Path) -> None:
    path = bare(tmp_path)
    (path / "qemu-x86_64").write_text("#!/bin/sh\necho qemu-x86_64 version 10.0.7\n")
    (path / "qemu-x86_64").chmod(0o755)
    _, lines = check(path)
    (line,) = [line for line in lines if "qemu-x86_64" in line]
    assert "qemu-x86_64 10.0.7 takes no plugins: not for record" in line
    with (path / "qemu-x86_64").open("a") as file:
        file.write("# qemu_plugin_n_vcpus qemu_plugin_num_vcpus\n")
    _, lines = check(path)
    assert any("10.0.7, plugins of interface 2" in line for line in lines)


def test_an_installed_package_without_its_tools(tmp_path: Path) -> None:
    script = ROOT / "cli" / "setup.sh"
    argv = ["sh", str(script), "--check", str(tmp_path / "installed")]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 1
    assert "does not run: install schedshard again" in done.stdout
    (works,) = [line for line in done.stdout.splitlines() if line.startswith("works here")]
    assert works == "works here: doctor"


def test_its_usage(cli: Cli) -> None:
    outcome = cli("setup")
    assert outcome.status == 2
    assert "--check" in outcome.err
