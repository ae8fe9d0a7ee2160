# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""doctor uses no compiled tool: only tests with the mark `real` or `slow` find any."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _tools(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not any(request.node.get_closest_marker(mark) for mark in ("real", "slow")):
        monkeypatch.setenv("SCHEDSHARD_BUILD", str(tmp_path / "no-tools"))
