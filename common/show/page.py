# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes a page of questions and answers, followed by sections with plots and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from common.show.sheet import Sheet


@dataclass(frozen=True)
class Image:
    """A plot: its title, and its data as a URL."""

    title: str
    url: str


@dataclass
class Box:
    """A part of a machine with parts or CPUs inside."""

    label: str
    parts: list[Box] = field(default_factory=list)
    cpus: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Boxes:
    """A machine. ``colours`` has a step from 0 to 5 of one colour for each CPU."""

    title: str
    parts: Sequence[Box]
    colours: Mapping[int, int]


@dataclass(frozen=True)
class Lead:
    """The beginning of a page: a question, its answer, and the answer's interval, "" for none."""

    asked: str
    answer: str
    interval: str


@dataclass
class Section:
    """One section of a page: tables and texts. Readers open folded tables and the notes."""

    anchor: str
    heading: str
    where: str
    lead: Lead | None = None
    images: list[Image] = field(default_factory=list)
    machine: Boxes | None = None
    parts: list[Sheet | str] = field(default_factory=list)
    folded: list[Sheet | str] = field(default_factory=list)
    folded_title: str = ""
    lacks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def rendered(
    title: str, leads: Sequence[Lead], sections: Sequence[Section], shown: int = 6, **values: Any
) -> str:
    """Return a page as text, which shows the first ``shown`` leads and folds the others.

    The page loads nothing, not even from a network. If ``provenance`` is given, it comes last.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # late: tables do not need it

    environment = Environment(
        loader=PackageLoader("common.show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    values = {"provenance": None, "leads": leads[:shown], "more_leads": leads[shown:], **values}
    template = environment.get_template("page.html.j2")
    return template.render(title=title, sections=sections, **values).lstrip()
