# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows the library and its alternatives on a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from common.show.format import significant
from common.show.sheet import Sheet
from model.live.library import Library, LibraryMachine
from model.live.library_rows import Told
from model.live.view import host_words
from model.results.run import Host
from model.tables.results import notes_view


def library_tables(result: Library) -> RenderableType:
    """Return a table per machine, then notes that explain the words."""
    parts: list[RenderableType] = []
    for machine in result.machines:
        parts += [Text(f"{machine.title}, {machine.cpus} CPUs", style="bold")]
        parts.append(_table(machine))
        parts.append(notes_view(_reasons(machine)))
    host = f"on {host_words(Host(**result.host))}"
    notes = []
    if result.samples is None:
        notes.append(("measured", f"{host}; ranges: 10th to 90th percentile of the turns"))
    else:
        notes.append(("predicted", f"rows of two threads and more; {_ranges(result.samples)}"))
        notes.append(("measured", f"rows of one thread, with the machine's shards, {host}"))
    notes.append(
        (
            "target",
            "never worse than 1.1 times the best peer, and on all of 200 CPUs or more 1.5 times "
            "better at claim and put; '?': the range contains the target",
        )
    )
    return Group(*parts, notes_view(notes))


def _ranges(samples: int) -> str:
    return f"ranges: 90% of {samples} samples, ratios within a sample" if samples else "no ranges"


def _table(machine: LibraryMachine) -> Sheet:
    columns = ("operation", "threads", "ours", "range", "best peer", "its", "its / ours", "", "met")
    made = Sheet(None, *columns, right=("threads", "ours", "its", "its / ours"))
    for row in machine.rows:
        ours, peer = row.figures[row.ours], row.figures[row.best_peer]
        title = row.row + (f", {row.work_ns:g} ns of work" if row.work_ns else "")
        made.add_row(
            title,
            "" if row.threads is None else f"{row.threads}",
            f"{significant(ours.value)} {row.unit}",
            _range(ours),
            row.best_peer,
            significant(peer.value),
            significant(row.ratio.value),
            _range(row.ratio),
            ("yes" if row.met else "no") + ("" if row.sure else "?"),
        )
    return made


def _range(figure: Told) -> str:
    if figure.low == figure.high:
        return ""
    return f"{significant(figure.low)}-{significant(figure.high)}"


def _reasons(machine: LibraryMachine) -> list[tuple[str, str]]:
    """Return each reason for a missed target, with the rows that it explains."""
    found: dict[str, list[str]] = {}
    for row in machine.rows:
        if row.why:
            found.setdefault(row.why, [])
            if row.row not in found[row.why]:
                found[row.why].append(row.row)
    return [("not met", f"{'; '.join(rows)}: {why}") for why, rows in found.items()]
