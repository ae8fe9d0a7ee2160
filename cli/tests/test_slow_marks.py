# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Each mark `slow` of the tests in Python says why the test is slow.

It reads the sources: `make quick` deselects slow tests, and some folders run elsewhere.
"""

from __future__ import annotations

import ast

import pytest

from common.paths import ROOT


def gives_a_reason(call: ast.Call) -> bool:
    """Return whether a mark has reason="...", with words in it."""
    values = [each.value for each in call.keywords if each.arg == "reason"]
    return any(isinstance(value, ast.Constant) and value.value for value in values)


def without_a_reason(source: str) -> list[int]:
    """Return the lines of marks `slow` that have no reason."""
    nodes = list(ast.walk(ast.parse(source)))
    right = [node.func for node in nodes if isinstance(node, ast.Call) and gives_a_reason(node)]
    return [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Attribute)
        and ast.unparse(node) == "pytest.mark.slow"
        and node not in right
    ]


def test_every_slow_mark_has_a_reason() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(ROOT.glob("*/tests/**/*.py"))
        for line in without_a_reason(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("mark", "lines"),
    [
        ("pytest.mark.slow(reason='predictions')", []),
        ("pytest.mark.slow", [1]),
        ("pytest.mark.slow()", [1]),
        ("pytest.mark.slow('predictions')", [1]),
        ("pytest.mark.slow(reason='')", [1]),
        ("pytest.mark.skip(reason='predictions')", []),
    ],
)
def test_a_mark_without_a_reason_is_found(mark: str, lines: list[int]) -> None:
    assert without_a_reason(f"@{mark}\ndef test_it() -> None: ...\n") == lines
    assert without_a_reason(f"pytestmark = [{mark}]\n") == lines
