# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows kernels side by side: the lines that each wake-up takes from other CPUs' caches."""

from collections.abc import Callable

from rich.console import Group, RenderableType

from common.show.sheet import Sheet
from model.results.c2c import Hitm, Kernel, KernelVariant
from model.tables.c2c import c2c_tables


def _ratio(first: float, value: float) -> str:
    if not first:
        return "-"
    return f"{value / first:.2f} x" if value else "0 x"


def side_by_side(report: Kernel) -> Sheet:
    """Return a table with a row per group of objects."""
    variants = report.variants
    partial = " (PARTIAL: the run was cut short)" if report.partial else ""
    rows = []
    for group in dict.fromkeys(g for v in variants for g in v.hitm_a_wake_up):
        cells = []
        for variant in variants:
            hitm = variant.hitm_a_wake_up.get(group, Hitm(hitm_remote=0.0, hitm_local=0.0))
            cells += [f"{hitm.hitm_remote:.3f}", f"{hitm.hitm_local:.3f}"]
        rows.append((group, *cells))
    heads = [title for v in variants for title in (v.name, f"{v.name} local")]
    return Sheet(
        "Modified lines found in another cache, per wake-up: predicted for "
        f"{report.machine.name}; {report.experiment}, {report.guest}{partial}",
        "lines of", *heads, right=heads, rows=rows,
    )  # fmt: skip


def whole(report: Kernel) -> Sheet:
    """Return the model's figures per kernel, and figures that show their quality."""
    variants = report.variants
    first = variants[0].wake_ups_a_virtual_ms
    rows: list[tuple[str, Callable[[KernelVariant], str]]] = []
    if any(variant.operations for variant in variants):
        rows += [
            ("operations", lambda v: f"{v.operations:,}"),
            ("modified lines found in another cache, per operation", _each),
        ]
    rows += [
        ("wake-ups in the window", lambda v: f"{v.wake_ups:,}"),
        ("wake-ups per virtual ms, predicted", lambda v: f"{v.wake_ups_a_virtual_ms:.1f}"),
        ("relative to the first kernel", lambda v: _ratio(first, v.wake_ups_a_virtual_ms)),
        ("messages per virtual ms, predicted", _messages),
        ("virtual ms", lambda v: f"{v.model.virtual_ns / 1e6:.1f}"),
        ("instructions, million", lambda v: f"{v.model.instructions / 1e6:.0f}"),
        (
            "accesses that the model simulated, million",
            lambda v: f"{v.stepping.accesses_reported / 1e6:.1f}",
        ),
        ("waits that timed out", _timeouts),
        ("host seconds of the window", lambda v: f"{v.stepping.window_seconds or 0.0:.1f}"),
    ]
    names = [variant.name for variant in variants]
    return Sheet(
        f"Each kernel; quantum {report.quantum:,} instructions", "", *names, right=names,
        rows=[(title, *map(cell, variants)) for title, cell in rows],
    )  # fmt: skip


def _messages(variant: KernelVariant) -> str:
    """Return hackbench's messages per time, because its wake-ups do not measure its work."""
    sent = sum(function.calls for function in variant.functions if function.name == "messages")
    virtual = variant.model.virtual_ns
    return f"{sent / virtual * 1e6:,.0f}" if sent and virtual else "-"


def _timeouts(variant: KernelVariant) -> str:
    return f"{variant.stepping.timeouts or 0:,} of {variant.stepping.waits or 0:,}"


def _each(variant: KernelVariant) -> str:
    return f"{variant.hitm_total / variant.operations:.3f}" if variant.operations else "-"


def instructions(report: Kernel) -> Sheet:
    """Return calls and instructions per call of the scheduler's hot functions."""
    called = [
        {function.name: function for function in v.functions if function.calls}
        for v in report.variants
    ]
    names = [variant.name for variant in report.variants]
    titles = [title for name in names for title in (f"{name} calls", "instructions", "locked")]
    rows: list[list[str]] = []
    for function in dict.fromkeys(name for of_kernel in called for name in of_kernel):
        cells: list[str] = []
        for of_kernel in called:
            if (counted := of_kernel.get(function)) is None:
                cells += ["-"] * 3
            else:
                calls = counted.calls
                cells += [f"{calls:,}", f"{counted.instructions / calls:,.1f}"]
                cells.append(f"{counted.locked / calls:.2f}")
        rows.append([function.replace("_", " "), *cells])
    title = "Calls in the window; instructions (and locked ones) per call, callees included"
    return Sheet(title, "function", *titles, right=titles, rows=rows)


def c2c_view(report: Kernel) -> RenderableType:
    """Return the view: the kernels side by side, instructions of functions, and cache lines."""
    return Group(side_by_side(report), whole(report), instructions(report), c2c_tables(report))
