# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows operations that were measured on this host, on a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from common.show.format import significant
from common.show.sheet import Notes
from model.results.run import Curve, Host, Pairs
from model.tables.results import KINDS


def live_tables(result: Curve | Pairs) -> RenderableType:
    """Return the tables of a measurement on this host."""
    heading = Text(f"{result.title}, on real CPUs", style="bold")
    heading.append(f"\n{_where(result)}", style="not bold")
    return Group(heading, *KINDS[result.form].tables(result), Notes(live_notes(result)))


def _where(result: Curve | Pairs) -> str:
    where = result.machine.title
    if not result.TURNS:
        where += f", {result.cpus_words}, placement {result.placement}"
    if result.hold_ns:
        where += f", held for {result.hold_ns:g} ns"
    return where


def live_notes(result: Curve | Pairs) -> list[tuple[str, str]]:
    """Return notes on the meaning of "measured" here, and on how far to trust the numbers."""
    points = [point for variant in result.variants for point in variant.points]
    turns = sum(point.rounds or 0 for point in points) / len(points)
    (low, high), _ = max(
        ((p.spread, p.ns_per_op) for p in points),
        key=lambda row: (row[0][1] - row[0][0]) / row[1],
    )
    notes = [("measured", f"on {host_words(result.host or Host())}")]
    notes.append(
        (
            "spread",
            f"median of {turns:.0f} measurements per point; the point that varies most has "
            f"{significant(low)} to {significant(high)} ns (10th to 90th percentile)",
        )
    )
    bad = sum(1 for point in points if point.all_disturbed)
    if bad:
        notes.append(
            (
                "disturbed",
                f"{bad} of {counted(len(points))}: other programs ran almost all the time",
            )
        )
    if result.left_out:
        notes.append(
            ("left out", f"{counted(result.left_out)}: time was up; give a longer --limit")
        )
    return notes


def counted(count: int) -> str:
    """Return a number of points in words."""
    return "1 point" if count == 1 else f"{count:,} points"


def host_words(host: Host) -> str:
    """Return the facts about a host in words."""
    facts = f"{host.cpu}, Linux {host.kernel}, {host.arch}"
    return f"{facts}, a virtual machine" if host.virtual else facts
