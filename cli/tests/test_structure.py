# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What pyproject.toml says agrees with the locks and with DESIGN.md's picture of the rooms."""

from __future__ import annotations

import re
import tomllib

import trim_locks

from common.paths import ROOT


def test_the_package_needs_what_the_environment_has() -> None:
    """A wheel that lacks a requirement installs, but its command does not start."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def asked(name: str) -> list[str]:
        lines = (ROOT / "cli" / f"{name}.in").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line and not line.startswith(("#", "-"))]

    assert project["dependencies"] == asked("requirements")
    assert project["optional-dependencies"]["sweep"] == asked("requirements-sweep")


def test_the_picture_of_the_rooms_is_what_imports_are_held_against() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "rooms")
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    picture = text.partition("## Rooms")[2].partition("```")[2].partition("```")[0]
    drawn = re.findall(r"^ (\w+)/", picture, re.MULTILINE)
    assert drawn[: len(layers)] == layers
    for room in drawn:
        assert (ROOT / room / "README.md").is_file(), room


def test_a_lock_leaves_out_what_the_lock_before_it_pins() -> None:
    """If this fails after pip-compile, run python3 scripts/trim_locks.py."""
    for path, text in trim_locks.locks(ROOT / "cli").items():
        assert path.read_text(encoding="utf-8") == text, path.name
    before = "a==1 \\\n    --hash=sha256:0\n    # via b\n"
    after = before.replace("via b", "via d") + before.replace("a==", "c==")
    known: set[str] = set()
    assert trim_locks.trimmed(f"# by\n{before}", "", known) == f"# by\n{before}"
    cut = f"# by\n-r b.lock\n{before.replace('a==', 'c==')}"
    assert trim_locks.trimmed(f"# by\n{after}", "b.lock", known) == cut
