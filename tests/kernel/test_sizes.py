# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Sizes: pahole's output, the kernel's rounding, and the sums."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_kernel import DATA, fake_program, write

from schedshard.common.errors import UserError
from schedshard.kernel.build.sizes import (
    Row,
    Shards,
    cpumask,
    kmalloc,
    parse_pahole,
    plan_of,
    rows_of,
    sizes,
)
from schedshard.kernel.layout import Layout

XEON = Shards(480, (4, 4))


def test_pahole() -> None:
    text = (DATA / "pahole-stock.txt").read_text(encoding="utf-8")
    assert parse_pahole(text) == {"cpupri": 1624, "root_domain": 1816, "cpudl_item": 16}


@pytest.mark.parametrize(
    ("size", "taken"),
    [(1, 8), (8, 8), (65, 96), (129, 192), (1944, 2048), (8192, 8192), (8193, 12288)],
)
def test_kmalloc(size: int, taken: int) -> None:
    assert kmalloc(size) == taken


def test_mask_off_the_stack() -> None:
    assert [cpumask(cpus) for cpus in (1, 64, 65, 480, 512)] == [8, 8, 16, 64, 64]


def test_plan() -> None:
    shards = [
        {"node": 0, "cpus": [0, 1, 4, 5]},
        {"node": 0, "cpus": [2, 3]},
        {"node": 1, "cpus": [6, 8, 10]},
    ]
    assert plan_of({"nr_cpus": 11, "shards": shards}) == Shards(11, (2, 1))


def test_a_root_domain_of_the_base() -> None:
    structs = {
        "root_domain": 1944,
        "cpupri": 1624,
        "cpudl_item": 16,
    }
    rows = {row.what: row for row in rows_of(structs, XEON)}
    assert rows["struct root_domain"] == Row("struct root_domain", "measured", 1944)
    assert rows["RT levels, allocated"].bytes == 101 * 64 + 2048
    assert rows["RT and deadline overload, allocated"].bytes == 128
    total = 2048 + 101 * 64 + 2048 + 64 + 64 + 128 + 8192 + 64
    assert rows["a root domain in all"] == Row("a root domain in all", "computed", total)


def test_a_root_domain_of_ours() -> None:
    structs = {"root_domain": 384, "cpupri": 64, "cpudl_item": 16}
    rows = {row.what: row.bytes for row in rows_of(structs, XEON)}
    assert rows["RT levels, allocated"] == 8 * 64
    assert rows["a root domain in all"] == 512 + 512 + 4 * 64 + 8192 + 64
    one = {row.what: row.bytes for row in rows_of(structs, Shards(4, (1,)))}
    assert one["RT levels, allocated"] == 64


def test_variants_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout(tmp_path / "project", tmp_path / "work")
    fake_program(tmp_path / "bin", "pahole", f"cat {DATA}/pahole-stock.txt {tmp_path}/item")
    write(
        tmp_path / "item", "struct cpudl_item {\n\t/* size: 16, cachelines: 1, members: 3 */\n};\n"
    )
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    for variant in ("stock", "pad"):
        write(layout.objects(variant, "lab") / "vmlinux", "")
    result = sizes(layout, ["stock", "pad"], "lab", XEON)
    assert result["rows"][0] == {
        "what": "struct root_domain",
        "how": "measured",
        "bytes": {"stock": 1816, "pad": 1816},
    }


def test_variant_that_is_not_built(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "project", tmp_path / "work")
    with pytest.raises(UserError, match="pad is not built: run "):
        sizes(layout, ["pad"], "lab", XEON)


def test_build_without_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout(tmp_path / "project", tmp_path / "work")
    fake_program(tmp_path / "bin", "pahole", "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    write(layout.objects("stock", "lab") / "vmlinux", "")
    with pytest.raises(UserError, match="has no struct root_domain: was it built with DEBUG_INFO"):
        sizes(layout, ["stock"], "lab", XEON)
