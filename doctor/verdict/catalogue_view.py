# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows the catalogue on a terminal, and makes JSON data of it."""

from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from common.paths import typed
from common.show.sheet import Sheet
from doctor.known.catalogue import Catalogue, Entry
from doctor.known.kernels import hint, load_kernels

FORMAT = "schedshard-doctor-catalogue/1"


def catalogue_data(catalogue: Catalogue) -> dict[str, Any]:
    """Return the entries as JSON data."""
    kernels = load_kernels()
    return {
        "format": FORMAT,
        "entries": [asdict(entry) for entry in catalogue.entries.values()],
        "kernels": [asdict(line) for line in kernels.lines],
        "kernel_facts": [asdict(fact) for fact in kernels.facts],
        "kernel_signs": [asdict(sign) for sign in kernels.signs],
    }


def catalogue_table(catalogue: Catalogue) -> RenderableType:
    """Return one row per entry."""
    made = Sheet(
        "What doctor knows", "id", "title", "kernels", "fixed by", "verified", rigid=("fixed by",)
    )
    for entry in catalogue.entries.values():
        verified = "yes" if entry.verified else "no"
        made.add_row(entry.id, entry.title, entry.versions, entry.fixed_by, verified)
    made.caption = f"more: {typed('doctor explain ID')}"
    return made


def _distributors(entry: Entry) -> list[tuple[str, str]]:
    """Return what is known about an entry in distributors' kernels, and how to look it up."""
    kernels = load_kernels()
    lines = kernels.lines
    rows = [
        f"{line.name}: {words}" for line in lines if (words := kernels.statement(line, entry.id))
    ]
    if entry.fixed_by:
        follow = ", ".join(line.name for line in lines if line.follows)
        others = ", ".join(line.name for line in lines if not line.follows)
        looks = " or ".join(dict.fromkeys(line.look for line in lines))
        rows.append(f"{follow}: the version of the stable release in the kernel decides")
        rows.append(f"{others}, and versions without such a release: {hint(entry, looks)}")
    return [("kernels of distributors", ". ".join(rows))] if rows else []


def entry_parts(entry: Entry) -> list[RenderableType]:
    """Return everything about an entry as paragraphs."""
    fixed = entry.fix or "not in any version"
    paragraphs = [
        ("what", entry.what),
        ("hurts", entry.hurts),
        ("kernels", entry.versions),
        ("fixed", fixed + (f"; {entry.stable}" if entry.stable else "")),
        *_distributors(entry),
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
