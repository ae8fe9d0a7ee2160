# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Everything exists that the walk of CONTRIBUTING.md names."""

from __future__ import annotations

import re
import subprocess

from common.paths import ROOT

SPAN = re.compile(r"`([^`]+)`")
# Placeholders in paths, such as NAME and STEP.
PATTERN = re.compile(r"\b[A-Z]{2,}\b")


def test_paths_and_functions_of_the_walk_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    walk = text.split("\n## A walk\n", 1)[1].split("\n## ", 1)[0]
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    known = listed.splitlines()
    missing, seen = [], 0
    for row in walk.splitlines():
        spans = SPAN.findall(row.rpartition("| ")[2] if row.count("|") > 3 else row)
        paths = [one for one in spans if re.fullmatch(r"[\w./-]+(/|\.\w+)", one)]
        seen += len(paths)
        for path in paths:
            ends = (f"/{path}", path)
            there = any(name.startswith(path) or name.endswith(ends) for name in known)
            if not there and not PATTERN.search(path):
                missing.append(path)
        files = [ROOT / path for path in paths if (ROOT / path).is_file()]
        texts = [file.read_text(encoding="utf-8") for file in files]
        calls = [call for one in spans for call in re.findall(r"(\w+)\(\)", one)]
        missing += [f"{call}()" for call in calls if not any(f"{call}(" in each for each in texts)]
    assert missing == []
    assert seen > 20


def test_targets_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rules = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^ {4}|`)(?:\./)?make ([a-z-]+)", text, re.MULTILINE))
    assert len(named) > 8
    assert named <= rules
