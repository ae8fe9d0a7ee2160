# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The fields on the lines of objects."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from conftest import DATA
from record.lines.dwarf import Layouts
from record.lines.fields import numbered


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> Layouts:
    """Debug information of a small program."""
    path = tmp_path_factory.mktemp("elf") / "layout"
    subprocess.run(["gcc", "-O1", "-g", "-o", path, DATA / "layout.c"], check=True)
    return Layouts(path, ["named", "line", "open_ended"])


def access(offset: int, cycles: float, **more: Any) -> dict[str, Any]:
    return {
        "offset": offset, "size": 8, "kind": "load", "pc": "0x1", "records": 10, "loads": 10,
        "stores": 0, "hitm_remote": 1, "hitm_local": 2, "avg_load_cycles": cycles,
        "max_load_cycles": 2 * cycles, "cpus": 2, **more,
    }  # fmt: skip


COSTS = {
    "home": 0, "loads": 10, "stores": 1, "records": 11, "avg_load_cycles": 1.0,
    "max_load_cycles": 1.0, "hitm_remote": 0, "hitm_local": 0,
}  # fmt: skip


def test_fields_of_a_line_are_named_and_added_up(layouts: Layouts) -> None:
    raw = {
        "object": "n", "type": "named", "line": 0, **COSTS,
        "accesses": [access(0, 10.0), access(8, 50.0), access(8, 100.0, loads=30), access(36, 1.0)],
    }  # fmt: skip
    (seen,) = numbered([raw], layouts)
    assert (seen.line, seen.offset) == (1, 0)
    assert [field.field for field in seen.fields] == ["inner[0].a", "plain", "number"]
    hot = seen.fields[0]
    assert hot.avg_load_cycles == pytest.approx((10 * 50 + 30 * 100) / 40)
    assert (hot.loads, hot.records, hot.max_load_cycles) == (40, 20, 200.0)


def test_a_second_line_of_an_array_of_structures(layouts: Layouts) -> None:
    raw = {"object": "n", "type": "named", "line": 1, **COSTS, "accesses": [access(16, 10.0)]}
    (seen,) = numbered([raw], layouts)
    assert seen.fields[0].field == "[1].letter"  # byte 80; an element takes 48
    (unknown,) = numbered([{**raw, "type": None}], layouts)
    assert unknown.fields[0].field == "0x10"
