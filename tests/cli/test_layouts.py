# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Types taken apart, fields of lines, and the pictures of objects line by line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from conftest import DATA, Cli
from model.layout_picture import colour, heat, legend, pictures
from model.results.lines import CacheLine, Field, Layout
from record.lines.dwarf import Layouts
from record.lines.fields import layout_tables, numbered
from test_report import assert_self_contained


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> Layouts:
    """Debug information of a small program."""
    path = tmp_path_factory.mktemp("elf") / "layout"
    subprocess.run(["gcc", "-O1", "-g", "-o", path, DATA / "layout.c"], check=True)
    return Layouts(path, ["named", "line", "open_ended"])


def test_leaves_of_a_structure(layouts: Layouts) -> None:
    leaves = [(leaf.path, leaf.offset, leaf.size) for leaf in layouts.leaves("named")]
    assert leaves == [
        ("plain", 0, 8),
        ("inner[0].a", 8, 4),
        ("inner[0].b", 12, 6),
        ("inner[1].a", 20, 4),
        ("inner[1].b", 24, 6),
        ("number", 32, 8),  # the union's largest member
        ("grid", 40, 6),
    ]
    assert layouts.size("named") == 48
    assert [(x.path, x.size) for x in layouts.leaves("struct open_ended")] == [
        ("head", 8), ("word", 0),
    ]  # fmt: skip
    assert layouts.leaves("struct missing") == []
    assert layouts.size("struct missing") is None


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


def line(number: int, cycles: float, **more: Any) -> CacheLine:
    used = {"field": "f", "offset": 8, "size": 8, "loads": 10, "stores": 1}
    return convert(
        {
            "object": "o", "type": "struct big", "line": number, "offset": 64 * (number - 1),
            "address": hex(0x1000 + 64 * (number - 1)), **COSTS, "avg_load_cycles": cycles,
            "accesses": [], "fields": [{**used, "avg_load_cycles": cycles}], **more,
        },
        CacheLine,
    )  # fmt: skip


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


def test_layouts_go_into_the_result_once(layouts: Layouts) -> None:
    seen = [line(1, 1.0, type="named"), line(2, 1.0, type="named"), line(1, 1.0, type="struct no")]
    tables = layout_tables(seen, layouts)
    assert list(tables) == ["named"]
    assert tables["named"].size == 48
    assert tables["named"].fields[1] == Field(field="inner[0].a", offset=8, size=4)
    assert layout_tables(seen, None) == {}


BIG = Layout(
    size=640,
    fields=[
        Field(field="head", offset=0, size=4),
        Field(field="body", offset=16, size=100),
        *(Field(field=f"v[{i}]", offset=128 + 8 * i, size=8) for i in range(64)),
    ],
)


def test_picture_of_a_structure() -> None:
    (picture,) = pictures([line(1, 20_000.0), line(8, 15.0)], {"struct big": BIG})
    assert picture.title == "o: struct big, 640 bytes, 10 lines"
    assert [row.label for row in picture.rows] == [
        "line 1", "lines 2-7", "line 8", "line 9", "line 10",
    ]  # fmt: skip
    first, folded, eighth, *_ = picture.rows
    assert (first.cycles, eighth.cycles) == ("20,000", "15.0")
    assert first.light
    assert not eighth.light
    assert folded.said == "v[0] ... v[39]"
    assert [(box.name, box.offset, box.size) for box in first.boxes] == [
        ("head", 0, 4), ("", 4, 12), ("body", 16, 48),
    ]  # fmt: skip
    for row in picture.rows:
        if row.boxes:
            assert sum(box.size for box in row.boxes) == 64
    assert "12 bytes free" in first.boxes[1].hint


def test_a_used_field_says_how_often_and_how_slow() -> None:
    entry = {"field": "v[0]", "offset": 0, "size": 8, "loads": 4, "stores": 2}
    hot = line(3, 50.0, fields=[{**entry, "avg_load_cycles": 50.0}])
    (picture,) = pictures([hot], {"struct big": BIG})
    row = next(row for row in picture.rows if row.label == "line 3")
    assert [box.used for box in row.boxes] == [True] + [False] * 7
    assert row.boxes[0].hint == (
        "v[0]: offset 0x0 of the line, 8 bytes; 4 loads of 50.0 cycles, 2 stores"
    )


def test_of_equal_objects_the_hottest_is_drawn_and_of_small_ones_the_hottest_lines() -> None:
    small = Layout(size=64, fields=[Field(field="word", offset=0, size=64)])
    lines = [
        line(1, 10.0),
        line(1, 99.0, address="0x9000"),
        *(line(n, float(n), object="mask", type="struct m") for n in range(1, 10)),
    ]
    big, masks = pictures(lines, {"struct big": BIG, "struct m": small})
    assert big.rows[0].cycles == "99.0"
    assert masks.title == "mask: struct m, the 6 slowest of its 9 lines"
    assert [row.label for row in masks.rows] == [f"line {n}" for n in (9, 8, 7, 6, 5, 4)]
    assert masks.rows[0].boxes[0].name == "[8].word"


def test_a_line_that_is_only_stored_to() -> None:
    (picture,) = pictures([line(1, 0.0, loads=0)], {"struct big": BIG})
    assert picture.rows[0].cycles == "stores only"


def test_colours_grow_with_cycles() -> None:
    values = [heat(cycles) for cycles in (0, 10, 100, 1_000, 10_000, 60_000, 1e9)]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0.0, 1.0)
    assert colour(0.0) == "#ffffff"
    assert len({shade for shade, _, _ in legend()}) == len(legend())


def test_page_with_layouts(cli: Cli, figures: Path, tmp_path: Path) -> None:
    path, page = tmp_path / "r.json", tmp_path / "p.html"
    assert cli("run", "figures", "--out", path).status == 0
    data = json.loads(path.read_text())
    fields = [
        {"field": "a<b", "offset": 0, "size": 8},
        {"field": "c", "offset": 64, "size": 64},
    ]
    data["layouts"] = {"struct fake_line": {"size": 128, "fields": fields}}
    path.write_text(json.dumps(data))
    assert cli("report", path, "--out", page).status == 0
    assert_self_contained(page)
    text = page.read_text()
    assert text.count("mask: struct fake_line, 128 bytes, 2 lines") == 3
    assert ">a&lt;b<" in text
    assert "cycles per load:" in text
