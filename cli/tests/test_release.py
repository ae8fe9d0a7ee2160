# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""All places name one version, and the root folder contains what a newcomer looks for."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from common.paths import ROOT
from conftest import Cli

VERSION = (ROOT / "VERSION").read_text().strip()


def test_every_place_has_the_version(cli: Cli) -> None:
    assert cli("--version").out == f"schedshard {VERSION}\n"
    heading = re.search(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    assert heading[1] in (VERSION, "Unreleased")
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    for name in re.findall(r"schedshard[-_](\d[\d.]*)[-_]", (ROOT / "docs/install.md").read_text()):
        assert name == VERSION


def test_a_package_has_a_maintainer(tmp_path: Path) -> None:
    script = tmp_path / "scripts" / "command_deb"
    script.parent.mkdir()
    script.write_text((ROOT / "scripts" / "command_deb").read_text())
    (tmp_path / "VERSION").write_text(VERSION)
    (tmp_path / "dpkg").write_text("#!/bin/sh\necho amd64\n")
    (tmp_path / "dpkg").chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    for email in ("", "someone@localhost"):
        done = subprocess.run(
            ["sh", script], capture_output=True, text=True, cwd=tmp_path,
            env={"PATH": path, "HOME": str(tmp_path), "DEBFULLNAME": "Name", "DEBEMAIL": email},
        )  # fmt: skip
        assert done.returncode == 2
        assert "DEBFULLNAME and DEBEMAIL" in done.stderr
        assert not (tmp_path / "build").exists()
