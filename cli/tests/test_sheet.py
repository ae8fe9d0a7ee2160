# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables on wide and narrow terminals."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from common.show.sheet import Sheet


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
