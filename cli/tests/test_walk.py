# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The targets that CONTRIBUTING.md names."""

from __future__ import annotations

import re

from common.paths import ROOT

# Placeholders in paths, such as NAME and STEP.


def test_targets_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rules = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^ {4}|`)(?:\./)?make ([a-z-]+)", text, re.MULTILINE))
    assert len(named) > 8
    assert named <= rules
