# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Kernels side by side: what each of their wake-ups takes from other CPUs' caches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType

from schedshard.sheet import Sheet
from schedshard.tables import c2c_tables


def _ratio(first: float, value: float) -> str:
    if not first:
        return "-"
    return f"{value / first:.2f} x" if value else "0 x"


def side_by_side(report: Mapping[str, Any]) -> Sheet:
    """A row a group of objects, then what the model says of the whole."""
    variants = report["variants"]
    names = [variant["name"] for variant in variants]
    titles = [title for name in names for title in (name, f"{name} local")]
    made = Sheet(
        "Modified lines found in another cache, a wake-up: predicted for "
        f"{report['machine']['name']}; {report['experiment']}, {report['guest']}"
        + (" (PARTIAL: the run was cut short)" if report["partial"] else ""),
        "lines of", *titles, right=titles,
    )  # fmt: skip
    groups = list(dict.fromkeys(g for v in variants for g in v["hitm_a_wake_up"]))
    for group in groups:
        cells = []
        for variant in variants:
            found = variant["hitm_a_wake_up"].get(group, {"hitm_remote": 0.0, "hitm_local": 0.0})
            cells += [f"{found['hitm_remote']:.3f}", f"{found['hitm_local']:.3f}"]
        made.add_row(group, *cells)
    return made


def whole(report: Mapping[str, Any]) -> Sheet:
    """What the model says of each kernel as a whole, and how far it is to be trusted."""
    variants = report["variants"]
    names = [variant["name"] for variant in variants]
    made = Sheet(
        f"Each kernel; quantum {report['quantum']:,} instructions, the guest's clock at 1/"
        f"{report['slow']} of its speed",
        "", *names, right=names,
    )  # fmt: skip
    first = variants[0]["wake_ups_a_virtual_ms"]
    rows: list[tuple[str, list[str]]] = []
    if any(v["operations"] for v in variants):
        rows += [
            ("operations", [f"{v['operations']:,}" for v in variants]),
            ("modified lines found elsewhere, an operation", [_each(v) for v in variants]),
        ]
    rows += [
        ("wake-ups in the window", [f"{v['wake_ups']:,}" for v in variants]),
        ("wake-ups a virtual ms, predicted",
         [f"{v['wake_ups_a_virtual_ms']:.1f}" for v in variants]),
        ("against the first", [_ratio(first, v["wake_ups_a_virtual_ms"]) for v in variants]),
        ("virtual ms", [f"{v['model']['virtual_ns'] / 1e6:.1f}" for v in variants]),
        ("instructions, million",
         [f"{v['model']['instructions'] / 1e6:.0f}" for v in variants]),
        ("accesses told to the model, million",
         [f"{v['stepping']['accesses_reported'] / 1e6:.1f}" for v in variants]),
        ("waits that timed out",
         [_share(v["stepping"]["timeouts"], v["stepping"]["waits"]) for v in variants]),
        ("host seconds of the window",
         [f"{v['stepping']['window_seconds']:.1f}" for v in variants]),
    ]  # fmt: skip
    for title, cells in rows:
        made.add_row(title, *cells)
    return made


def _each(variant: Mapping[str, Any]) -> str:
    return f"{variant['hitm_total'] / variant['operations']:.3f}" if variant["operations"] else "-"


def _share(part: int, all_of_it: int) -> str:
    return f"{part:,} of {all_of_it:,}"


def c2c_view(report: dict[str, Any]) -> RenderableType:
    """Everything on the terminal: side by side first, then the lines of each kernel."""
    return Group(side_by_side(report), whole(report), c2c_tables(report))
