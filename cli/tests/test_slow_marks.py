# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Each mark `slow` of the tests in Python says why the test is slow."""

from __future__ import annotations

import re

from common.paths import ROOT


def test_every_slow_mark_has_a_reason() -> None:
    found = [
        path
        for path in ROOT.glob("*/tests/**/*.py")
        if re.search(r"pytest\.mark\.slow(?!\(reason=\")", path.read_text(encoding="utf-8"))
    ]
    assert [path for path in found if path.name != "test_slow_marks.py"] == []
