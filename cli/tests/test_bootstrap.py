# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""scripts/bootstrap on hosts that are not this one: its programs are fakes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from common.paths import ROOT

TOOLS = [
    "bash",
    "cat",
    "comm",
    "dirname",
    "env",
    "grep",
    "id",
    "mapfile",
    "printf",
    "sed",
    "sort",
    "tr",
]


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A folder of programs: only what the script itself needs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        if found is not None:
            (programs / name).symlink_to(found)
    return programs


def fake(host: Path, name: str, body: str = "") -> None:
    """Add a program that records each call and then runs ``body``."""
    path = host / name
    path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{host}/calls"\n{body}\n', encoding="ascii")
    path.chmod(0o755)


def calls(host: Path) -> list[str]:
    path = host / "calls"
    return path.read_text(encoding="ascii").splitlines() if path.exists() else []


def bootstrap(host: Path, *groups: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "scripts/bootstrap"), *groups],
        env={"PATH": str(host)},
        capture_output=True,
        text=True,
        check=False,
    )


def debian(host: Path, *, user: int, candidates: str) -> None:
    """Make a Debian host with nothing installed, whose archive contains ``candidates``."""
    fake(host, "dpkg-query")
    fake(host, "apt-get")
    # Commas enclose each name, so that the prefix of a name does not match it.
    fake(
        host,
        "apt-cache",
        f'case ",{candidates}," in *",$2,"*) echo "  Candidate: 1" ;; '
        '*) echo "  Candidate: (none)" ;; esac',
    )
    (host / "id").unlink()
    fake(host, "id", f"echo {user}")


@pytest.mark.parametrize("has_sudo", [True, False])
def test_a_user_without_rights_is_told_once_what_root_must_do(host: Path, has_sudo: bool) -> None:
    debian(host, user=1000, candidates="python3,python3-venv")
    if has_sudo:
        fake(host, "sudo", "exit 1")
    done = bootstrap(host, "doctor")
    assert done.returncode == 2
    assert done.stderr == (
        "bootstrap: as root: apt-get install --no-install-recommends python3 python3-venv\n"
    )
    assert [call for call in calls(host) if call.startswith("sudo")] == ["sudo -v"] * has_sudo
    assert not any(call.startswith("apt-get") for call in calls(host))
