# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows the table of sizes on a terminal."""

from typing import Any

from rich.table import Table


def sizes_table(result: dict[str, Any]) -> Table:
    """Return the table, with a column of bytes per variant."""
    title = f"Bytes with {result['cpus']} possible CPUs, {result['shards']} shards"
    table = Table(title=title, title_justify="left")
    table.add_column("")
    table.add_column("how")
    rows = result["rows"]
    for variant in rows[0]["bytes"]:
        table.add_column(variant, justify="right")
    for row in rows:
        table.add_row(row["what"], row["how"], *(f"{size:,}" for size in row["bytes"].values()))
    return table
