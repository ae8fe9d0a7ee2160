# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows cache lines of an experiment, a kernel or a program, on a terminal and on a page."""

from collections.abc import Callable
from typing import Any

from rich.console import RenderableType

from common.show.format import percent, significant
from common.show.page import Image, Lead, Section
from common.show.sheet import Sheet, flat
from kernel.profile.c2c_view import c2c_view
from kernel.profile.replay_view import replay_view
from model.results.c2c import Kernel, Recorded, Replayed, Report
from model.tables.c2c import c2c_tables
from record.report.picture import LEGEND, picture
from record.report.view import is_folded, record_view, short_headline

_VIEWS: dict[type[Report], Callable[[Any], RenderableType]] = {
    Recorded: record_view,
    Kernel: c2c_view,
    Replayed: replay_view,
}
# The page folds what follows these tables.
_OPEN = 2


def view(report: Report) -> RenderableType:
    """Return what a terminal shows of a report."""
    return _VIEWS.get(type(report), c2c_tables)(report)


def _lead(report: Report) -> Lead:
    """Return the hottest line, and what would help."""
    variant = max(report.variants, key=lambda variant: variant.hitm_total)
    asked = (
        f"{report.experiment}: which cache lines do CPUs take from each other on "
        f"{report.machine.name}?"
    )
    if not variant.lines:
        return Lead(asked, "Predicted: no line worth showing", "none: one run of the model")
    line = variant.lines[0]
    parts, answer = [], []
    if (bounds := line.interval) is not None:
        ends = f"{significant(bounds.low)} to {significant(bounds.high)}"
        parts.append(f"{ends} cycles per load of {line.place}")
    if isinstance(report, Recorded):
        answer.append(short_headline(report))
        parts += [
            f"{percent(gain.interval.low)} to {percent(gain.interval.high)} fewer cycles"
            for advice in report.advice[:1]
            for gain in advice.machines.values()
            if gain.interval is not None
        ]
    else:
        answer.append(
            f"most often that of {line.place}, {line.hitm:,} of {variant.hitm_total:,} times with "
            f"'{variant.name}'"
        )
    interval = f"{'; '.join(parts)}: 90% of the samples" if parts else "none: one run of the model"
    return Lead(asked, f"Predicted: {'; '.join(answer)}", interval)


def _images(report: Report) -> list[Image]:
    if not isinstance(report, Recorded):
        return []
    from model.plots.programs import memory_picture

    images = []
    if (image := picture(report)) is not None and not is_folded(image.line):
        rows = [("now", image.before), *(("edited", row) for row in image.after)]
        images.append(memory_picture(rows, image.fields, f"bytes of {image.line.place}: {LEGEND}"))
    return images


def c2c_section(report: Report) -> Section:
    """Return a page's section on a report: the same as on a terminal, with most tables folded."""
    parts = flat(view(report))
    tables = [index for index, part in enumerate(parts) if isinstance(part, Sheet)]
    end = tables[_OPEN] if len(tables) > _OPEN else len(parts)
    return Section(
        anchor="-".join(["c2c", *report.experiment.split()]),
        heading="The contended cache lines",
        where=f"{report.experiment} on {report.machine.name}, as perf c2c would show it",
        lead=_lead(report),
        images=_images(report),
        parts=parts[:end],
        folded=parts[end:],
        folded_title="each line with its accesses",
        notes=[
            "predicted: HITM is a load or locked operation that found the line modified in another "
            "core's cache; remote, when that core is in another package.",
            *(f"validation: {sentence}" for sentence in report.validation),
        ],
    )
