# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables of machines and topologies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group as Together
from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from common.show.sheet import Sheet
from model.machines.topo import Group, plan_rows, plan_sentence, ranges, tree

if TYPE_CHECKING:
    from model.results.topo import Topo


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


def plan_table(data: Topo) -> Sheet:
    """Return a row per shard, with its CPUs in order of position."""
    numbers = ("shard", "package", "node", "LLC", "CPUs")
    made = Sheet("Shard plan", *numbers, "CPU numbers in position order", right=numbers)
    for row in plan_rows(data):
        made.add_row(*("?" if cell == "-1" else cell for cell in row))
    return made


def topo_view(data: Topo, shards_shown: int = 64) -> RenderableType:
    """Return the tree of a topology, and its shard plan."""
    root = tree(data)
    drawn = Tree(Text(root.label, style="bold"), guide_style="dim")

    def grow(branch: Tree, group: Group) -> None:
        for child in group.children:
            text = Text(child.label)
            text.append(f"  CPUs {ranges(sorted(child.cpus))}", style="dim")
            grow(branch.add(text), child)

    grow(drawn, root)
    made = plan_table(data)
    hidden = len(made.rows) - shards_shown
    del made.rows[shards_shown:]
    parts: list[RenderableType] = [drawn, Text(""), made]
    if hidden > 0:
        parts.append(Text(f"... and {hidden} more shards: --json has them all"))
    parts.append(Text(plan_sentence(data)))
    return Together(*parts)


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
