# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The catalogue on a terminal and as data."""

from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from schedshard.common.paths import typed
from schedshard.doctor.judge.catalogue import Catalogue, Entry
from schedshard.show.sheet import Sheet

FORMAT = "schedshard-doctor-catalogue/1"


def catalogue_data(catalogue: Catalogue) -> dict[str, Any]:
    """Return the entries as JSON data."""
    return {"format": FORMAT, "entries": [asdict(entry) for entry in catalogue.entries.values()]}


def catalogue_table(catalogue: Catalogue) -> RenderableType:
    """Return one row an entry."""
    made = Sheet(
        "What doctor knows", "id", "title", "kernels", "fixed by", "verified", rigid=("fixed by",)
    )
    for entry in catalogue.entries.values():
        verified = "yes" if entry.verified else "no"
        made.add_row(entry.id, entry.title, entry.versions, entry.fixed_by, verified)
    made.caption = f"{typed('doctor explain ID')} tells more"
    return made


def entry_parts(entry: Entry) -> list[RenderableType]:
    """Return all of one entry as paragraphs."""
    fixed = entry.fix or "not in any version"
    paragraphs = [
        ("what", entry.what),
        ("hurts", entry.hurts),
        ("kernels", entry.versions),
        ("fixed", fixed + (f"; {entry.stable}" if entry.stable else "")),
        ("remedy without a new kernel", entry.remedy),
        ("command", entry.command),
        ("functions", ", ".join(entry.functions)),
        ("data", ", ".join(entry.fields)),
        ("source", "; ".join(entry.source)),
        ("verified" if entry.verified else "not verified", entry.checked),
    ]
    parts: list[RenderableType] = [Text(f"{entry.id}: {entry.title}", style="bold")]
    for name, text in paragraphs:
        parts.append(Text(name, style="bold"))
        parts.append(Padding(Text(text), (0, 0, 0, 2)))
    return parts
