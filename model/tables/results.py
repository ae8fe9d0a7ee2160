# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables of results for the terminal, as rich renderables. Nothing is printed here."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET
from rich.console import Group as Together
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from common.show.format import nanoseconds, percent, signed_percent, significant
from common.show.sheet import Sheet
from model.machines.topo import Group, plan_rows, plan_sentence, ranges, tree
from model.results.c2c import Line, Report, Variant
from model.results.rows import Bar, Swept
from model.results.run import Bars, Curve, Figures, Pairs, Result
from model.results.saved import Machine
from model.results.topo import Topo
from model.run.experiment import Experiment
from model.tables.figures import figure_misses, figure_tables
from model.tables.intervals import interval_notes, interval_view
from model.tables.primitives import pairs_table, scaling_table, thread_counts

Notes = list[tuple[str, str]]
ESTIMATES_SHOWN = 3


def machine_label(machine: Machine) -> str:
    """Return "predicted", with the machine's kind if its numbers were not measured."""
    return "predicted" if machine.kind == "measured" else f"predicted, {machine.kind} machine"


def run_tables(result: Result) -> RenderableType:
    """Return the tables of a result of `run`, with notes on what each word means."""
    parts = [_heading(result), FORMS[result.form].body(result)]
    if result.uncertainty is not None:
        parts.append(interval_view(result))
    return Together(*parts, notes_view(_short_notes(result)))


def _short_notes(result: Result) -> Notes:
    """Return the notes for the terminal. Many estimates become one note that lists their names."""
    notes = run_notes(result)
    guesses = [said.partition(" = ")[0] for word, said in notes if word == "estimate"]
    if len(guesses) > ESTIMATES_SHOWN:
        first = next(i for i, (word, _) in enumerate(notes) if word == "estimate")
        notes = [note for note in notes if note[0] != "estimate"]
        said = (
            f"{len(guesses)} inputs: {', '.join(guesses)}; the page of 'report' gives the reasons"
        )
        notes.insert(first, ("estimate", said))
    return notes


def notes_view(notes: Notes) -> Table:
    """Return notes as a grid: each word, with its sentence wrapped beside it."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for word, said in notes:
        made.add_row(word, said)
    return made


def _heading(result: Result) -> Text:
    text = Text(result.title, style="bold")
    where = f"\n{result.machine.title}{'' if result.TURNS else f', {result.cpus_words}'}"
    if result.hold_ns:
        where += f", held for {result.hold_ns:g} ns"
    if result.work_ns:
        where += f", {result.work_ns:g} ns of work between operations"
    if result.cap is not None:
        where += f", at most {result.cap} CPUs per shard"
    return text.append(where, style="not bold")


def _verdict(row: Bar) -> Text:
    if row.accept is None:
        return Text("")
    if row.accepted:
        return Text(row.accept, style="green")
    return Text(f"not {row.accept}", style="bold red")


def _bars(result: Bars) -> Sheet:
    columns, rows = bar_cells(result)
    numbers = columns[2:-1] if "band" in columns else columns[2:]
    made = Sheet(None, *columns, right=numbers, optional=("",))
    for row, cells in zip(result.variants, rows, strict=True):
        made.add_row(*cells, *([_verdict(row)] if "band" in columns else []))
    return made


def bar_cells(result: Bars) -> tuple[list[str], list[list[str]]]:
    """Return columns and cells of bars, without the cells of the last column, the band."""
    published = any(row.published is not None for row in result.variants)
    reads = any(row.cycles_per_read is not None for row in result.variants)
    columns = ["variant", "", "cycles/op", "ns/op", "predicted"]
    columns += ["cycles/walk"] if reads else []
    columns += ["published", "error", "band"] if published else []
    made = []
    for row in result.variants:
        error = None if row.name == result.baseline or row.error is UNSET else row.error
        cells = [
            row.name, row.title, significant(row.cycles_per_op), significant(row.ns_per_op),
            percent(row.relative) if row.relative is not None else "-",
        ]  # fmt: skip
        if reads:
            walk = row.cycles_per_read
            cells.append(significant(walk) if walk is not None else "")
        if published:
            cells.append(percent(row.published) if row.published is not None else "")
            cells.append(signed_percent(error) if error is not None else "")
        made.append(cells)
    return columns, made


def _curve(result: Curve) -> Sheet:
    columns, rows = curve_cells(result, "ns/op")
    made = Sheet(None, *columns, right=columns)
    for row in rows:
        made.add_row(*row)
    return made


def curve_cells(result: Curve, unit: str) -> tuple[list[str], list[list[str]]]:
    """Return columns and cells of a few curves side by side, a row per number of threads."""
    columns = ["threads"]
    for variant in result.variants:
        columns.append(f"{variant.name} {unit}")
        columns += ["published", "error"] if variant.compared else []
    rows = []
    for count in thread_counts(result):
        cells = [str(count)]
        for variant in result.variants:
            point = next((p for p in variant.points if p.threads == count), None)
            cells.append(significant(point.ns_per_op) if point is not None else "")
            if variant.compared:
                figure = point.published if point is not None else None
                error = point.error if point is not None else None
                cells.append(significant(figure) if figure is not None else "")
                cells.append(signed_percent(error) if error is not None else "")
        rows.append(cells)
    return columns, rows


def run_notes(result: Result) -> Notes:
    """Return the notes of a result: labels, errors, sources, and what is outside its band."""
    machine = result.machine
    notes = [("predicted", f"simulated on machine file '{machine.name}' ({machine.kind})")]
    published = result.published
    if published is not None:
        notes.append(("published", published.source))
        notes.append(
            ("calibration", "the model's constants were fitted to these figures")
            if published.role == "calibration"
            else ("prediction", _fitted(result))
        )
    for error in result.model_error:
        about = f"{', '.join(error.variants)}: " if len(result.model_error) > 1 else ""
        notes.append(("validation", about + error.said))
    if result.uncertainty is not None:
        notes += interval_notes(result)
    for name, param in result.param_sources.items():
        kind, _, said = param.source.partition(":")
        if kind in ("calibrated", "estimate"):
            used = f"{name} = {result.params.get(name, 0):,g}"
            notes.append((kind, f"{used}: {said.strip()}"))
    notes += FORMS[result.form].judged(result)
    provenance = result.provenance
    notes.append(
        (
            "provenance",
            f"seed {provenance.seed}, machine file sha256 {provenance.machine_sha256[:12]}, "
            f"schedshard {provenance.version} commit {provenance.commit[:12]}; "
            f"{result.simulator.events:,} memory events in "
            f"{result.simulator.seconds:.1f} CPU seconds",
        )
    )
    return notes


def _fitted(result: Result) -> str:
    """Return a sentence on which figures were calibrated on published ones, if any."""
    chosen = [
        f"{metric.title} of '{variant.name}'"
        for variant in result.variants
        for row in variant.rows()
        for metric in result.metrics or ()
        if metric.name in (row.calibrated or ())
    ]
    if chosen:
        return f"only {' and '.join(chosen)} was used to choose a parameter; the rest is predicted"
    return "nothing in the model was fitted to the published figures"


def _bars_judged(result: Bars) -> Notes:
    why = "docs/model.md says what the model lacks"
    return [
        ("outside", f"{bar.name} is not {bar.accept}: {bar.lacks or why}")
        for bar in result.variants
        if bar.accepted is False
    ]


def _curve_judged(result: Curve) -> Notes:
    """Return the errors of the predicted points, and whether these are inside the band."""
    band = result.published and result.published.accept
    start = band.from_threads if band else 1
    notes = []
    for each in result.variants:
        if each.median_error is not None:
            said = f"{each.name}, from {start} threads on: "
            said += f"median {each.median_error:.1%}, worst {each.worst_error:.1%}"
            if band:
                ends = f"(median {band.median:.0%}, worst {band.worst:.0%})"
                said += f", {_holds(each)} the band {ends}"
            notes.append(("error", said))
    return notes


def _pairs_judged(result: Pairs) -> Notes:
    band = result.published and result.published.accept
    notes = []
    for each in result.variants:
        if each.median_error is not None:
            said = f"{each.name}: worst {each.worst_error:.1%}"
            said += f", {_holds(each)} the band (each within {band.within:.0%})" if band else ""
            notes.append(("error", said))
    return notes


def _holds(variant: Swept[Any]) -> str:
    return "inside" if variant.accepted else "OUTSIDE"


def _figures_judged(result: Figures) -> Notes:
    return [("outside", said) for said in figure_misses(result)]


class Form(NamedTuple):
    """What the terminal shows of one kind of result: its table, and how it was judged."""

    body: Callable[[Any], RenderableType]
    judged: Callable[[Any], Notes]


FORMS = {
    "bars": Form(_bars, _bars_judged),
    "curve": Form(_curve, _curve_judged),
    "curves": Form(scaling_table, _curve_judged),
    "pairs": Form(pairs_table, _pairs_judged),
    "figures": Form(figure_tables, _figures_judged),
}


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


def experiments_table(rows: Sequence[Experiment]) -> Sheet:
    """Return the table of experiments."""
    made = Sheet(None, "experiment", "", "its machine", "variants", right=("variants",))
    for row in rows:
        made.add_row(row.name, row.title, row.machine, str(len(row.variants)))
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
    rows = plan_rows(data)
    numbers = ("shard", "package", "node", "LLC", "CPUs")
    made = Sheet("Shard plan", *numbers, "CPU numbers in position order", right=numbers)
    for row in rows[:shards_shown]:
        made.add_row(*("?" if cell == "-1" else cell for cell in row))
    parts: list[RenderableType] = [drawn, Text(""), made]
    if len(rows) > shards_shown:
        parts.append(Text(f"... and {len(rows) - shards_shown} more shards: --json has them all"))
    parts.append(Text(plan_sentence(data)))
    return Together(*parts)


ACCESSES_SHOWN = 12


def c2c_tables(report: Report) -> RenderableType:
    """Return the tables of a report of stage c2c: lines, then the accesses of each."""
    parts: list[RenderableType] = []
    for variant in report.variants:
        parts.append(_c2c_lines(report, variant))
        for number, line in enumerate(variant.lines):
            parts.append(_c2c_accesses(number, line))
    if not report.names_resolved:
        parts.append(
            Text("no symbols: another simulator made this result, run the experiment again")
        )
    return Together(*parts)


def _c2c_lines(report: Report, variant: Variant) -> Sheet:
    numbers = (
        "#", "home", "HITM", "rmt HITM", "lcl HITM", "records", "loads", "stores", "load cycles",
        "max",
    )  # fmt: skip
    title = (
        f"Shared cache lines of '{variant.name}', {variant.cpus} CPUs of {report.machine.name} "
        f"({len(variant.lines)} of {variant.lines_total} lines, {variant.hitm_total:,} HITM)"
    )
    columns = (numbers[0], "object", *numbers[1:])
    made = Sheet(title, *columns, right=numbers, rigid=columns, optional=("loads", "stores"))
    for index, line in enumerate(variant.lines):
        counts = (line.hitm_remote, line.hitm_local, line.records, line.loads, line.stores)
        made.add_row(
            str(index),
            line.place,
            str(line.home),
            f"{line.hitm_share:.2%}",
            *(f"{count:,}" for count in counts),
            significant(line.avg_load_cycles),
            significant(line.max_load_cycles),
        )
    return made


def _c2c_accesses(number: int, line: Line) -> Sheet:
    numbers = ("rmt HITM", "lcl HITM", "store", "offset", "load cycles", "records", "CPUs")
    made = Sheet(
        f"line {number}: {line.place}, {line.type or 'no type'}",
        *numbers[:4], "field", "kind", *numbers[4:], "symbol", "source", right=numbers,
        rigid=("kind", "source"), optional=("kind", "source", "records", "CPUs"),
    )  # fmt: skip
    for access in line.accesses[:ACCESSES_SHOWN]:
        made.add_row(
            f"{access.hitm_remote_share:.2%}",
            f"{access.hitm_local_share:.2%}",
            f"{access.store_share:.2%}",
            f"{access.offset:#x}",
            access.field or "-",
            f"{access.kind} {access.size}",
            significant(access.avg_load_cycles),
            f"{access.records:,}",
            str(access.cpus),
            access.symbol,
            access.source,
        )
    hidden = len(line.accesses) - ACCESSES_SHOWN
    if hidden > 0:
        made.caption = f"and {hidden} more accesses: --json has them all"
    return made


def summary_cells(result: Bars, names: Iterable[str]) -> list[str]:
    """Return one machine's cells: the baseline's cost, and other variants relative to it."""
    by_name = {variant.name: variant for variant in result.variants}
    cells = []
    for name in names:
        variant = by_name.get(name)
        if variant is None:
            cells.append("")
        elif name == result.baseline or variant.relative is None:
            cells.append(nanoseconds(variant.ns_per_op))
        else:
            cells.append(percent(variant.relative))
    return cells


def comparison_table(title: str, results: Sequence[Bars]) -> Sheet:
    """Return a row per machine: the baseline in time, other variants relative to it."""
    names = [variant.name for variant in results[0].variants]
    numbers = ("CPUs", *names)
    made = Sheet(title, "machine", "CPUs", "label", *names, right=numbers, optional=("CPUs",))
    for result in results:
        label = machine_label(result.machine)
        made.add_row(result.machine.name, str(result.cpus), label, *summary_cells(result, names))
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
