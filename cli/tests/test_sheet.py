# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables on wide and narrow terminals."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from common.show.sheet import Sheet
from conftest import Cli


def drawn(sheet: Sheet, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), highlight=False)
    with console.capture() as captured:
        console.print(sheet)
    return captured.get()


def sheet() -> Sheet:
    made = Sheet("T", "name", "what it is", "n", right=("n",), optional=("what it is",))
    made.add_row("a", "the first one", "1,000")
    return made


def test_optional_columns_give_way() -> None:
    assert "the first one" in drawn(sheet(), 120)
    narrow = drawn(sheet(), 80)
    assert "the first one" not in narrow
    assert "what it is" not in narrow
    assert "1,000" in narrow


def test_rows_have_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="2 cells in a table of 3"):
        sheet().add_row("a", "b")


@pytest.mark.parametrize("verb", [("run", "cpumask-yield"), ("machines",)])
def test_every_row_fits_80_columns(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    monkeypatch.setattr("cli.commands.options._PLAIN_WIDTH", 80)
    outcome = cli(*verb)
    assert outcome.status == 0
    assert all(len(line) <= 80 for line in outcome.out.splitlines())
    word = {"run": "sbm-summary", "machines": "hypothetical"}[verb[0]]
    assert word in outcome.out


def test_optional_columns_give_way_to_what_others_need() -> None:
    made = Sheet(
        "T", "name", "stack", "where", right=("name",), rigid=("where",), optional=("where",)
    )
    made.add_row("1", "function", "a-path-of-thirty-characters.c:1" * 3)
    assert "function" in drawn(made, 140)
    assert "a-path" in drawn(made, 140)
    # At this width the optional column still fits, then a longer name takes its place.
    squeezed = drawn(made, 116)
    assert "function" in squeezed
    assert "a-path" in squeezed
    made.add_row("2", "a_function_with_a_name_of_40_characters_", "x")
    squeezed = drawn(made, 116)
    assert "a_function_with_a_name_of_40_characters_" in squeezed
    assert "a-path" not in squeezed
