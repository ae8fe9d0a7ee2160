# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows results of `run` on a terminal and on a page. KINDS says for each kind what they show."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET
from rich.console import Group, RenderableType
from rich.text import Text

from common.show.format import nanoseconds, percent, signed_percent, significant
from common.show.page import Image, Lead, Section
from common.show.sheet import Cell, Notes, Sheet, flat, judged
from model.results.rows import Bar, Swept
from model.results.run import Bars, Curve, Pairs, Result
from model.run.experiment import Experiment
from model.tables import leads
from model.tables.figures import figure_misses, figure_tables
from model.tables.intervals import input_table, interval_notes, interval_parts
from model.tables.leads import machine_label
from model.tables.primitives import pairs_table, scaling_table, thread_counts

NoteRows = list[tuple[str, str]]
ESTIMATES_SHOWN = 3


def run_tables(result: Result) -> RenderableType:
    """Return what a terminal shows of a result of `run`, with notes on what each word means."""
    heading = Text(result.title, style="bold")
    heading.append(f"\n{_where(result)}", style="not bold")
    return Group(heading, *_parts(result), Notes(_short_notes(result)))


def _parts(result: Result) -> list[RenderableType]:
    return [*KINDS[result.form].tables(result), *interval_parts(result)]


def _short_notes(result: Result) -> NoteRows:
    """Return the notes for the terminal. Many estimates become one note that lists their names."""
    notes = run_notes(result)
    guesses = [text.partition(" = ")[0] for word, text in notes if word == "estimate"]
    if len(guesses) > ESTIMATES_SHOWN:
        first = next(i for i, (word, _) in enumerate(notes) if word == "estimate")
        notes = [note for note in notes if note[0] != "estimate"]
        summary = (
            f"{len(guesses)} inputs: {', '.join(guesses)}; the page of 'report' gives the reasons"
        )
        notes.insert(first, ("estimate", summary))
    return notes


def _where(result: Result) -> str:
    where = f"{result.machine.title}{'' if result.TURNS else f', {result.cpus_words}'}"
    if result.hold_ns:
        where += f", held for {result.hold_ns:g} ns"
    if result.work_ns:
        where += f", {result.work_ns:g} ns of work between operations"
    if result.cap is not None:
        where += f", at most {result.cap} CPUs per shard"
    return where


def run_section(result: Result) -> Section:
    """Return what a page shows of a result of `run`, or of a measurement of the same form."""
    kind = KINDS[result.form]
    section = Section(
        anchor=f"{result.experiment}-{result.machine.name}",
        heading=result.title,
        where=f"{_where(result)} ({'measured' if result.measured else _label(result)})",
        lead=kind.lead(result),
        images=kind.images(result),
        parts=[part for group in _parts(result) for part in flat(group)],
        lacks=[f"Outside the band: {sentence}" for sentence in kind.outside(result)],
    )
    if result.uncertainty is not None and result.uncertainty.inputs:
        section.folded = [input_table(result)]
        section.folded_title = f"{len(result.uncertainty.inputs)} inputs with a range"
    return section


def _label(result: Result) -> str:
    if result.published is not None and result.published.role == "calibration":
        return "the published figures calibrated the model, and are not a test of it"
    return machine_label(result.machine)


def run_sections(results: Sequence[Result]) -> list[Section]:
    """Return the sections of predictions, kinds in their order.

    Bars of one experiment on several machines without published figures share a section.
    """
    sections = []
    others: dict[str, list[Bars]] = {}
    for result in sorted(results, key=lambda entry: KINDS[entry.form].order):
        if isinstance(result, Bars) and result.published is None and result.uncertainty is None:
            others.setdefault(result.experiment, []).append(result)
            continue
        section = run_section(result)
        # The page has the provenance and the errors outside the band elsewhere.
        section.notes = [
            f"{word}: {text}"
            for word, text in run_notes(result)
            if word not in ("provenance", "outside")
        ]
        sections.append(section)
    for same in others.values():
        sections.append(_machines_section(same) if len(same) > 1 else run_section(same[0]))
    return sections


def _verdict(row: Bar) -> Text:
    return judged(
        f"{'' if row.accepted else 'not '}{row.accept}" if row.accept else "", row.accepted
    )


def _bars(result: Bars) -> list[Sheet]:
    published = any(row.published is not None for row in result.variants)
    reads = any(row.cycles_per_read is not None for row in result.variants)
    numbers = ["cycles/op", "ns/op", "predicted"]
    numbers += ["cycles/walk"] if reads else []
    numbers += ["published", "error"] if published else []
    band = ["band"] if published else []
    made = Sheet(
        None, "variant", "", *numbers, *band, right=numbers, optional=("",), code=["variant"]
    )
    for row in result.variants:
        error = None if row.name == result.baseline or row.error is UNSET else row.error
        cells: list[Cell] = [
            row.name, row.title, significant(row.cycles_per_op), significant(row.ns_per_op),
            percent(row.relative) if row.relative is not None else "-",
        ]  # fmt: skip
        if reads:
            walk = row.cycles_per_read
            cells.append(significant(walk) if walk is not None else "")
        if published:
            cells.append(percent(row.published) if row.published is not None else "")
            cells.append(signed_percent(error) if error is not None else "")
            cells.append(_verdict(row))
        made.add_row(*cells)
    return [made]


def _curve(result: Curve) -> list[Sheet]:
    """Return the table of a few curves side by side, a row per number of threads."""
    columns = ["threads"]
    for variant in result.variants:
        columns.append(f"{variant.name} ns/op")
        columns += ["published", "error"] if variant.compared else []
    made = Sheet(None, *columns, right=columns)
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
        made.add_row(*cells)
    return [made]


def run_notes(result: Result) -> NoteRows:
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
        kind, _, reason = param.source.partition(":")
        if kind in ("calibrated", "estimate"):
            used = f"{name} = {result.params.get(name, 0):,g}"
            notes.append((kind, f"{used}: {reason.strip()}"))
    notes += KINDS[result.form].judged(result)
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
        return f"a parameter was fitted to {' and '.join(chosen)}; all other figures are predicted"
    return "nothing in the model was fitted to the published figures"


_LACKS = "docs/model.md says what the model lacks"


def _bars_judged(result: Bars) -> NoteRows:
    return [
        ("outside", f"{bar.name} is not {bar.accept}: {bar.lacks or _LACKS}")
        for bar in result.variants
        if bar.accepted is False
    ]


def _curve_judged(result: Curve) -> NoteRows:
    """Return the errors of the predicted points, and whether these are inside the band."""
    band = result.published and result.published.accept
    start = band.from_threads if band else 1
    notes = []
    for variant in result.variants:
        if variant.median_error is not None:
            text = f"{variant.name}, from {start} threads on: "
            text += f"median {variant.median_error:.1%}, worst {variant.worst_error:.1%}"
            if band:
                ends = f"(median {band.median:.0%}, worst {band.worst:.0%})"
                text += f", {_holds(variant)} the band {ends}"
            notes.append(("error", text))
    return notes


def _pairs_judged(result: Pairs) -> NoteRows:
    band = result.published and result.published.accept
    notes = []
    for variant in result.variants:
        if variant.median_error is not None:
            text = f"{variant.name}: worst {variant.worst_error:.1%}"
            text += f", {_holds(variant)} the band (each within {band.within:.0%})" if band else ""
            notes.append(("error", text))
    return notes


def _holds(variant: Swept[Any]) -> str:
    return "inside" if variant.accepted else "OUTSIDE"


def _swept_outside(result: Curve | Pairs) -> list[str]:
    return [
        f"'{variant.name}' has a median error of {variant.median_error:.1%} and a worst error of "
        f"{variant.worst_error:.1%}. {_LACKS}."
        for variant in result.variants
        if variant.accepted is False
    ]


# matplotlib is imported only when a page needs its plots.
def _bars_images(result: Bars) -> list[Image]:
    from model.plots.results import bar_image

    return bar_image(result)


def _curve_images(result: Curve) -> list[Image]:
    from model.plots.results import curve_image

    return curve_image(result)


def _pairs_images(result: Pairs) -> list[Image]:
    from model.plots.results import pairs_image

    return pairs_image(result)


class Kind(NamedTuple):
    """What is shown of one kind of result; a page begins with the lowest ``order``.

    ``judged`` are notes about errors, ``outside`` sentences about those outside their band.
    """

    order: int
    tables: Callable[[Any], list[Sheet]]
    judged: Callable[[Any], NoteRows]
    outside: Callable[[Any], list[str]]
    lead: Callable[[Any], Lead]
    images: Callable[[Any], list[Image]]


KINDS = {
    "figures": Kind(
        0, figure_tables, lambda r: [("outside", text) for text in figure_misses(r)],
        figure_misses, leads.figures_lead, _bars_images,
    ),
    "bars": Kind(
        1, _bars, _bars_judged, lambda r: [text for _, text in _bars_judged(r)], leads.bars_lead,
        _bars_images,
    ),
    "curve": Kind(2, _curve, _curve_judged, _swept_outside, leads.curve_lead, _curve_images),
    "curves": Kind(
        2, lambda r: [scaling_table(r)], _curve_judged, _swept_outside, leads.curve_lead,
        _curve_images,
    ),
    "pairs": Kind(
        2, lambda r: [pairs_table(r)], _pairs_judged, _swept_outside, leads.pairs_lead,
        _pairs_images,
    ),
}  # fmt: skip


def experiments_table(rows: Sequence[Experiment]) -> Sheet:
    """Return the table of experiments."""
    made = Sheet(None, "experiment", "", "its machine", "variants", right=("variants",))
    for row in rows:
        made.add_row(row.name, row.title, row.machine, str(len(row.variants)))
    return made


def _summary(result: Bars, names: Iterable[str]) -> list[str]:
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
    names = list(dict.fromkeys(v.name for r in results for v in r.variants))
    numbers = ("CPUs", *names)
    made = Sheet(title, "machine", "CPUs", "label", *names, right=numbers, optional=("CPUs",))
    for result in results:
        label = machine_label(result.machine)
        made.add_row(result.machine.name, str(result.cpus), label, *_summary(result, names))
    return made


def _machines_section(results: Sequence[Bars]) -> Section:
    """Return the section of one experiment on several machines."""
    from model.plots.results import machines_image

    first = results[0]
    title = f"all CPUs at once; '{first.baseline}' in time, the others relative to it"
    return Section(
        anchor=f"{first.experiment}-machines",
        heading=f"{first.title}: other machines",
        where="all figures are predicted; none are published for these machines",
        lead=leads.machines_lead(results),
        images=machines_image(results),
        parts=[comparison_table(title, results)],
    )
