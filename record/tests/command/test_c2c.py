# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verb c2c shows lines in order, with shares and with names from addr2line and DWARF."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

import saved_results
from common.errors import UserError
from common.provenance import sha256_file
from model.lines.dwarf import Layouts, index_of
from model.lines.fields import numbered
from model.results.lines import CacheLine
from model.results.run import Result
from record.lines.report import C2cRequest, Names, c2c, find_names
from record.lines.symbols import Frame, parse_addr2line, resolve

SOURCE = Path(__file__).resolve().parent / "layout.c"


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small program with debug information."""
    path = tmp_path_factory.mktemp("elf") / "layout"
    subprocess.run(["gcc", "-O1", "-g", "-o", path, SOURCE], check=True)
    return path


def address_of(binary: Path, symbol: str) -> int:
    listing = subprocess.run(["nm", binary], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in listing.splitlines() if line.endswith(symbol))


@pytest.mark.parametrize("text", ["", "garbage\n", "0x10\n", "0x10\nf\n", "0x10\nf\nx.c:1\ng\n"])
def test_odd_addr2line_output_is_no_crash(text: str) -> None:
    assert all(isinstance(frames, tuple) for frames in parse_addr2line(text, [16]).values())


def test_addresses_are_those_that_were_asked_for() -> None:
    """Regression: text before the first address raised KeyError; a folder's name was an address."""
    text = (
        "warning: odd section\nx.c:1\n0x10\nf\n/a\n0x3\n/x.c:7 (discriminator 2)\n0x20\n??\n??:0\n"
    )
    frames = parse_addr2line(text, [16, 32])
    assert frames == {16: (Frame("f", "x.c:7", "/a\n0x3\n/x.c"),), 32: (Frame("?", "?"),)}


def test_inlined_functions_are_resolved(binary: Path) -> None:
    start = address_of(binary, " T count")
    by_pc = resolve(binary, range(start, start + 8))
    chains = [[frame.function for frame in frames] for frames in by_pc.values()]
    assert ["add", "count"] in chains
    assert resolve(binary, []) == {}


def test_addr2line_errors_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="No such file"):
        resolve(tmp_path / "none", [1])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="install binutils"):
        resolve(tmp_path / "none", [1])


@pytest.mark.parametrize(
    ("type_name", "offset", "path"),
    [
        ("named", 0, "plain"), ("named", 7, "plain"), ("named", 8, "inner[0].a"),
        ("named", 14, "inner[0].b[1]"), ("named", 20, "inner[1].a"),
        ("named", 18, "inner[0].(padding)"), ("named", 32, "letter"), ("named", 36, "number"),
        ("named", 44, "grid[1][1]"), ("named", 47, "(padding)"), ("named", 48, "[1].plain"),
        ("struct line", 24, "word[3]"), ("struct line", 64 + 8, "[1].word[1]"),
        ("const struct line *", 0, "word[0]"), ("struct open_ended", 0, "head"),
        ("struct open_ended", 8 + 64, "word[8]"), ("struct missing", 0, ""), ("", 0, ""),
    ],
)  # fmt: skip
def test_fields(binary: Path, type_name: str, offset: int, path: str) -> None:
    layouts = Layouts(binary, [type_name])
    assert layouts.field(type_name, offset) == path
    layouts.close()


def test_an_index_of_types_gives_the_same_fields(binary: Path, tmp_path: Path) -> None:
    indexed = tmp_path / "indexed"
    subprocess.run(["gcc", "-O1", "-g", "-gpubnames", "-o", indexed, SOURCE], check=True)
    types = ["named", "line", "open_ended"]
    with indexed.open("rb") as file:
        assert {name for name, _ in index_of(ELFFile(file), types)} == set(types)
    scanned, layouts = Layouts(binary, types), Layouts(indexed, types, indexed=True)
    for name in types:
        fields = [layouts.field(name, offset) for offset in range(200)]
        assert fields == [scanned.field(name, offset) for offset in range(200)]
        assert len(set(fields)) > 2
    assert Layouts(binary, types, indexed=True).field("named", 0)  # without an index


def test_layouts_of_files_without_debug_information(binary: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, binary], check=True)
    layouts = Layouts(stripped, ["named"])
    assert layouts.field("named", 0) == ""
    layouts.close()
    text = tmp_path / "text"
    text.write_text("no ELF")
    with pytest.raises(UserError, match="no readable debug information"):
        Layouts(text, ["named"])
    with pytest.raises(UserError, match="cannot read"):
        Layouts(tmp_path / "none", ["named"])


def access(**changes: Any) -> dict[str, Any]:
    base = {
        "offset": 0, "size": 8, "kind": "rmw", "pc": "0x1001", "records": 10, "hitm_remote": 3,
        "hitm_local": 1, "loads": 10, "stores": 10, "avg_load_cycles": 5.0,
        "max_load_cycles": 9.0, "cpus": 4,
    }  # fmt: skip
    return {**base, **changes}


def line(accesses: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    total = {key: sum(a[key] for a in accesses) for key in ("records", "hitm_remote", "hitm_local")}
    base = {
        "object": "mask", "type": "struct line", "line": 1, "home": 0, "loads": 1, "stores": 1,
        "avg_load_cycles": 5.0, "max_load_cycles": 9.0, "accesses": accesses,
    }  # fmt: skip
    entry = {**base, **total, **changes}
    return {**entry, "offset": 64 * (entry["line"] - 1)}


def result(lines: list[dict[str, Any]]) -> Result:
    return saved_results.result([saved_results.bar("a"), saved_results.bar("b", lines=lines)])


@pytest.mark.parametrize(
    ("sweep", "place", "cpus", "number"),
    [
        ("threads", lambda n: {"threads": n}, 8, 8),
        ("pairs", lambda n: {"from": 0, "to": n, "class": "core"}, 2, 4),
    ],
    ids=["curve", "pairs"],
)
def test_the_point_with_most_threads(
    sweep: str, place: Callable[[int], dict[str, Any]], cpus: int, number: int
) -> None:
    """Regression: the last point was taken. For pairs, which all have two CPUs, that is right."""
    points = [
        {**place(n), "ns_per_op": 1.0, "lines": [line([access()], line=n)]} for n in (2, 8, 4)
    ]
    measured = saved_results.result([saved_results.swept("b", *points)], sweep=sweep)
    (variant,) = c2c(C2cRequest(measured), Names({}, None)).variants
    assert (variant.cpus, [row.line for row in variant.lines]) == (cpus, [number])


def test_shares_and_order() -> None:
    cold = line([access(hitm_remote=1, hitm_local=0)], line=2)
    hot = line([access(hitm_remote=3, stores=0), access(hitm_remote=9, offset=8, stores=30)])
    report = c2c(C2cRequest(result([cold, hot])), Names({}, None)).to_data()
    (variant,) = report["variants"]
    assert variant["name"] == "b"  # the baseline
    assert [entry["line"] for entry in variant["lines"]] == [1, 2]
    assert variant["hitm_total"] == 15
    assert variant["lines"][0]["hitm_share"] == pytest.approx(14 / 15)
    first, second = variant["lines"][0]["accesses"]
    assert (first["offset"], second["offset"]) == (8, 0)
    assert first["hitm_remote_share"] == pytest.approx(0.75)
    assert first["store_share"] == 1.0
    assert first["symbol"] == "0x1001"


def test_a_limit_of_lines_and_lines_without_hitm() -> None:
    idle = access(hitm_remote=0, hitm_local=0, stores=0)
    report = c2c(
        C2cRequest(result([line([idle], line=n) for n in range(9)]), lines=2), Names({}, None)
    ).to_data()
    (variant,) = report["variants"]
    assert [row["hitm_share"] for row in variant["lines"]] == [0.0, 0.0]
    assert variant["lines_total"] == 9


def test_the_port_layer_is_left_out_of_symbols() -> None:
    chain = (Frame("port_or64", "port/x.h:1"), Frame("sbm_set", "core/sbm.h:2"))
    names = Names({0x1000: chain}, None)
    report = c2c(C2cRequest(result([line([access()])])), names).to_data()
    entry = report["variants"][0]["lines"][0]["accesses"][0]
    assert entry["symbol"] == "sbm_set"
    assert entry["source"] == "core/sbm.h:2"
    assert [frame["function"] for frame in entry["frames"]] == ["port_or64", "sbm_set"]


def test_names_only_from_the_binary_that_made_the_result(
    binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("record.lines.report.sim_binary", lambda: binary)
    pc = hex(address_of(binary, " T count") + 2)
    data = result([line([access(pc=pc, offset=16)], line=2)])
    assert find_names(C2cRequest(data)).layouts is None
    data.provenance.simulator_sha256 = sha256_file(binary)
    names = find_names(C2cRequest(data))
    report = c2c(C2cRequest(data), names).to_data()
    assert report["names_resolved"]
    entry = report["variants"][0]["lines"][0]["accesses"][0]
    assert entry["symbol"].endswith("count")
    assert entry["field"] == "[1].word[2]"


def fields_of(binary: Path, raw: dict[str, Any]) -> CacheLine:
    """The one line of these accesses, with the fields of its type."""
    layouts = Layouts(binary, ["named"])
    (named,) = numbered([raw], layouts)
    layouts.close()
    return named


def test_fields_of_a_line_are_named_and_added_up(binary: Path) -> None:
    slow, more = access(offset=8, avg_load_cycles=50.0), access(offset=8, avg_load_cycles=100.0)
    accesses = [access(), slow, {**more, "loads": 30, "max_load_cycles": 200.0}, access(offset=36)]
    raw = {**line(accesses), "type": "named", "line": 0}
    named = fields_of(binary, raw)
    assert (named.line, named.offset) == (1, 0)
    assert [field.field for field in named.fields] == ["inner[0].a", "plain", "number"]
    hot = named.fields[0]
    assert hot.avg_load_cycles == pytest.approx((10 * 50 + 30 * 100) / 40)
    assert (hot.loads, hot.records, hot.max_load_cycles) == (40, 20, 200.0)


@pytest.mark.parametrize(("of", "field"), [("named", "[1].letter"), (None, "0x10")])
def test_a_second_line_of_an_array_of_structures(binary: Path, of: str | None, field: str) -> None:
    """Byte 80; an element takes 48."""
    raw = {**line([access(offset=16)]), "type": of}
    assert [f.field for f in fields_of(binary, raw).fields] == [field]
