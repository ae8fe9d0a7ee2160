# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Everything exists that the walk of CONTRIBUTING.md and the tables of DESIGN.md name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pages
import pytest

from common.paths import ROOT

CODE = re.compile(r"\.(c|h|cc|hh|inc|py|cocci)$|^kernel/changelog/")
SPAN = re.compile(r"`([^`]+)`")
CALL = re.compile(r"(\w+)\(\)")
FILE = re.compile(r"[\w.-]+\.(?:c|h|cc|hh|py|toml|md)")
# Placeholders in paths, such as NAME and STEP.
PATTERN = re.compile(r"\b[A-Z]{2,}\b")


def section(page: str, title: str) -> str:
    """Return the text below a heading."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


@cache
def code() -> dict[str, str]:
    """Return the source files by name."""
    names = [name for name in pages.tracked() if CODE.search(name) and (ROOT / name).is_file()]
    return {name: (ROOT / name).read_text(encoding="utf-8", errors="replace") for name in names}


def defined(name: str, text: str) -> bool:
    """Tell whether a source file defines or declares a function of C or Python."""
    return bool(re.search(rf"^(?:def |[a-z][\w \t*]*?\b|[a-z]\w*\s+\**){name}\(", text, re.M))


def walk() -> Iterator[tuple[str, list[str], list[str]]]:
    """Return each row of the walk: its question, the paths and the functions of its answer."""
    for line in section("CONTRIBUTING.md", "A walk").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[1].strip("-") and cells[0] != "where is":
            spans = SPAN.findall(cells[1])
            yield (
                cells[0],
                [one for one in spans if re.fullmatch(r"[\w./-]+(/|\.\w+)", one)],
                [call for one in spans for call in CALL.findall(one)],
            )


def test_the_walk_has_rows_with_paths() -> None:
    rows = list(walk())
    assert len(rows) > 20
    assert all(paths for _, paths, _ in rows)
    assert sum(len(functions) for _, _, functions in rows) >= 6


@pytest.mark.parametrize(("question", "paths", "functions"), list(walk()), ids=lambda value: None)
def test_an_answer_of_the_walk_is_true(
    question: str, paths: list[str], functions: list[str]
) -> None:
    """Each path exists, and a file of the row defines or declares each function."""
    known = pages.tracked()
    for path in paths:
        if PATTERN.search(path):
            continue
        beside = [name for name in known if "/" not in path and name.endswith(f"/{path}")]
        inside = [name for name in known if path.endswith("/") and name.startswith(path)]
        assert path in known or beside or inside, (question, path)
    texts = [text for name, text in code().items() if name in paths]
    for name in functions:
        assert any(defined(name, text) for text in texts), (question, name)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "DESIGN.md"])
def test_functions_and_files_of_a_page_are_in_the_tree(page: str) -> None:
    """Functions of Linux count if a semantic patch, a patch or a comment here names them."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"(?ms)^```.*?^```", "", text)
    files = {Path(name).name for name in pages.tracked()}
    everything = "\n".join(code().values())
    gone = []
    for span in SPAN.findall(text):
        if FILE.fullmatch(span) and not PATTERN.search(span) and span not in files:
            gone.append(span)
        gone += [f"{name}()" for name in CALL.findall(span) if f"{name}(" not in everything]
    assert gone == []


def test_targets_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rules = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^ {4}|`)make ([a-z-]+)", text, re.MULTILINE))
    assert len(named) > 8
    assert named <= rules
