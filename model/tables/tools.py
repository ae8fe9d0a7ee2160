# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables of machine files."""

from __future__ import annotations

from typing import Any

from rich.console import Group as Together
from rich.console import RenderableType
from rich.text import Text

from common.show.sheet import Sheet


def machines_table(rows: list[dict[str, Any]]) -> Sheet:
    """Return the table of machine files."""
    numbers = ("CPUs", "packages", "nodes", "LLCs", "GHz")
    made = Sheet(
        None,
        "machine",
        "kind",
        *numbers,
        "",
        right=numbers,
        rigid=("kind",),
        optional=("packages",),
    )
    for row in rows:
        if "error" in row:
            made.add_row(row["name"], Text("broken", style="red"), "", "", "", "", "", row["error"])
            continue
        counts = [str(row[key]) for key in ("cpus", "packages", "nodes", "llcs")]
        made.add_row(row["name"], row["kind"], *counts, f"{row['clock_ghz']:g}", row["title"])
    return made


def machine_view(described: dict[str, Any]) -> RenderableType:
    """Return a machine file: a summary, then every number with its source."""
    heading = (
        f"{described['title']} ({described['kind']}): {described['packages']} packages, "
        f"{described['nodes']} nodes, {described['llcs']} LLCs, {described['cpus']} CPUs"
    )
    made = Sheet(heading, "key", "value", "source", right=("value",))
    last = ""
    for number in described["numbers"]:
        source = number["source"]
        key = f"{number['key']} ({number['joins']})" if "joins" in number else number["key"]
        limits = f" ({number['low']:g}-{number['high']:g})" if "low" in number else ""
        made.add_row(key, f"{number['value']}{limits}", '"' if source == last else source)
        last = source
    return Together(made, Text(f"{described['file']}, sha256 {described['sha256']}"))
