# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads and checks kernel/series.toml (kernel/BUILD.md): the steps of the series, the variants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from common.errors import UserError, check_names
from common.output import read_toml
from kernel.layout import Layout
from kernel.source.base import load_bases
from kernel.source.table import Series, Table, inside

# Names of other trees: the untouched source, and two for checks of the series. A variant's packages
# are made in VARIANT-deb.
_RESERVED = ("base", "am", "steps")
# Fields of Step that contain changes, of a step or of a variant.
_CHANGES = ("copy", "overlay", "remove", "append", "edits", "replace")


@dataclass(frozen=True)
class Edit:
    """One semantic patch on one file, and how many places it must change.

    ``tidy`` contains pairs: a text as spatch writes it, which must occur once, and Linux's form of
    it.
    """

    cocci: str
    file: str
    sites: int
    tidy: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Append:
    """Lines to append to a file of the base, such as a Makefile or Kconfig file."""

    file: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Replace:
    """A text to replace in a file of the project, and how often it must occur."""

    file: str
    text: str
    by: str
    sites: int


@dataclass(frozen=True)
class Step:
    """One patch of the series, or the changes that a variant makes on its own."""

    name: str
    changelog: str = ""
    copy: tuple[tuple[str, str], ...] = ()
    overlay: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    append: tuple[Append, ...] = ()
    edits: tuple[Edit, ...] = ()
    replace: tuple[Replace, ...] = ()
    test: bool = False  # only for tests, after the series
    part: str = ""


@dataclass(frozen=True)
class Variant:
    """A build under one name: some steps, its own changes, its own configuration."""

    name: str
    steps: tuple[str, ...]
    own: Step
    config: tuple[str, ...]
    order: tuple[Step, ...] = ()  # of a send: its steps, in its order
    cover: str = ""


@dataclass(frozen=True)
class Recipe:
    """The whole content of series.toml."""

    steps: tuple[Step, ...]
    variants: tuple[Variant, ...]
    most_lines: tuple[tuple[str, int], ...] = ()
    cover: str = ""

    def variant(self, name: str) -> Variant:
        """Return the variant with a name."""
        by_name = {variant.name: variant for variant in self.variants}
        check_names("kernel variant", [name], by_name)
        return by_name[name]

    def steps_of(self, variant: Variant) -> tuple[Step, ...]:
        """Return the steps that make a variant, in order."""
        if variant.order:
            return variant.order
        chosen = tuple(step for step in self.steps if step.name in variant.steps)
        changed = any(getattr(variant.own, name) for name in _CHANGES)
        return (*chosen, variant.own) if changed else chosen


def _edits(tables: Sequence[Table], linux: Series) -> tuple[Edit, ...]:
    edits = []
    for table in tables:
        cocci, file = table.text("cocci"), table.text("file")
        table.where = f"{table.where} {cocci}"
        wanted, sites, tidy = table.is_for(linux), table.count("sites"), table.words("tidy")
        table.end()
        if wanted:
            edits.append(Edit(inside(cocci, table.where), inside(file, table.where), sites, tidy))
    return tuple(edits)


def _append(tables: Sequence[Table], linux: Series) -> tuple[Append, ...]:
    appends = []
    for table in tables:
        file, lines = inside(table.text("file"), table.where), table.texts("lines")
        wanted = table.is_for(linux)
        table.end()
        if not lines or any("\n" in line for line in lines):
            raise UserError(f"{table.where}: 'lines' for {file} must be single lines, one at least")
        if wanted:
            appends.append(Append(file, lines))
    return tuple(appends)


def _changes(table: Table, name: str, changelog: str, edit_key: str, linux: Series) -> Step:
    step = Step(
        name, changelog, table.pairs("copy"), table.paths("overlay"),
        table.paths("remove"), _append(table.tables("append"), linux),
        _edits(table.tables(edit_key), linux),
        tuple(_replace(entry) for entry in table.tables("replace")),
    )  # fmt: skip
    for more in table.tables("on"):
        if "linux" not in more.data:
            raise UserError(f"{more.where}: 'linux' must be given, as text")
        wanted = more.is_for(linux)
        extra = _changes(more, name, changelog, edit_key, linux)
        more.end()
        if wanted:
            step = _joined(step, extra)
    return step


def _replace(table: Table) -> Replace:
    file = inside(table.text("file"), table.where)
    replacement = Replace(file, table.text("text"), table.text("by"), table.count("sites"))
    table.end()
    return replacement


def _joined(step: Step, extra: Step) -> Step:
    both = {name: getattr(step, name) + getattr(extra, name) for name in _CHANGES}
    return replace(step, **both)


def _step(table: Table, linux: Series) -> Step | None:
    """Return a step, or None if it is for another series of Linux."""
    name = _name(table)
    wanted = table.is_for(linux)
    test, part = table.flag("test"), table.text("part", "")
    step = _changes(table, name, inside(table.text("changelog"), table.where), "edit", linux)
    step = replace(step, test=test, part=part)
    table.end()
    return step if wanted else None


def _name(table: Table) -> str:
    name = table.text("name")
    table.where = f"{table.where} {name}"
    if not all(char.isalnum() or char in "-_." for char in name) or name.startswith((".", "-")):
        raise UserError(f"{table.where}: a name has letters, digits, '-', '_' and '.' only")
    return name


def _variant(table: Table, all_steps: Sequence[Step], linux: Series) -> Variant:
    known = [step.name for step in all_steps]
    name = _name(table)
    if name in _RESERVED or name.endswith("-deb"):
        raise UserError(f"{table.where}: this name belongs to a tree of the command itself")
    whole = table.data.get("steps")
    if whole in ("all", "series"):
        del table.data["steps"]
        steps = tuple(step.name for step in all_steps if whole == "all" or not step.test)
    else:
        steps, last = table.texts("steps"), table.text("up_to", "")
        check_names(f"step of variant '{name}'", (*steps, last) if last else steps, known)
        if last:
            steps = (*known[: known.index(last) + 1], *steps)
    config = table.texts("config")
    own = _changes(table, f"variant {name}", "", "edits", linux)
    table.end()
    return Variant(name, steps, own, config)


def _send(table: Table, all_steps: Sequence[Step], linux: Series) -> Variant | None:
    """Return the variant ``send-NAME``: steps of the series, and steps that only this variant has.

    Return None if the send is for another series of Linux.
    """
    name, wanted = _name(table), table.is_for(linux)
    own = (_step(entry, linux) for entry in table.tables("step"))
    known = {step.name: step for step in (*all_steps, *own) if step is not None}
    names, cover = table.texts("steps"), table.text("cover", "")
    config = table.texts("config")
    table.end()
    if not wanted:
        return None
    check_names(f"step of send '{name}'", names, known)
    _no_duplicates(names, f"{table.where}: steps")
    if cover:
        inside(cover, table.where)
    order = tuple(replace(known[step], part="", test=False) for step in names)
    return Variant(f"send-{name}", names, Step(""), config, order, cover)


def _no_duplicates(names: Sequence[str], where: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{where}: '{name}' appears twice")


def load_recipe(layout: Layout) -> Recipe:
    """Return the content of kernel/series.toml, for the layout's series of Linux."""
    default, bases = load_bases(layout)
    linux = Series(layout.linux or default, tuple(bases))
    path = layout.inputs / "series.toml"
    shown = layout.shown(path)
    top = Table(read_toml(path), shown)
    if (schema := top.data.pop("schema", None)) != 1:
        raise UserError(f"{shown}: schema is {schema}, must be 1")
    all_steps = [_step(table, linux) for table in top.tables("step")]
    steps = tuple(step for step in all_steps if step is not None)
    for before, step in pairwise(steps):
        if before.test and not step.test:
            raise UserError(
                f"{shown}: step {step.name} of the series must come before the steps for tests"
            )
    most_lines = top.counts("most_lines")
    for step in steps:
        if most_lines and not step.test and step.part not in dict(most_lines):
            raise UserError(f"{shown}: step {step.name}: 'most_lines' has no part '{step.part}'")
    parts = [part for part, _ in groupby(step.part for step in steps if not step.test)]
    _no_duplicates(parts, f"{shown}: parts (all steps of a part must follow each other)")
    if "test" in parts:
        raise UserError(f"{shown}: 'test' cannot name a part: steps for tests have test = true")
    names = [step.name for step in steps]
    _no_duplicates(names, f"{shown}: steps")
    all_sends = [_send(table, steps, linux) for table in top.tables("send")]
    sends = tuple(send for send in all_sends if send is not None)
    variants = (*(_variant(table, steps, linux) for table in top.tables("variant")), *sends)
    _no_duplicates([variant.name for variant in variants], f"{shown}: variants")
    cover = top.text("cover", "")
    if cover:
        inside(cover, shown)
    top.end()
    if layout.send:
        by_name = {send.name.removeprefix("send-"): send for send in sends}
        check_names("send", [layout.send], by_name)
        send = by_name[layout.send]
        return Recipe(send.order, (send,), (), send.cover)
    return Recipe(steps, variants, most_lines, cover)
