# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads the catalogue of known hot lines, and checks its keys."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

from common.errors import check_names
from common.output import toml_of
from common.paths import typed
from doctor.facts.values import release

FILE = files("doctor.known") / "catalogue.toml"


@dataclass(frozen=True)
class Entry:
    """One known hot line; catalogue.toml explains each key."""

    id: str
    title: str
    what: str
    functions: tuple[str, ...]
    helpers: tuple[str, ...]
    fields: tuple[str, ...]
    share: float
    hurts: str
    since: str
    fixed_in: str
    fixed_by: str
    backports: tuple[str, ...]
    remains: str
    stable: str
    remedy: str
    command: str
    source: tuple[str, ...]
    verified: bool
    checked: str

    def fixed(self, version: tuple[int, int, int]) -> bool:
        """Whether a version contains the fix, from Linus' tree or from a stable release."""
        first = release(self.fixed_in)
        if first is None or version >= first:
            return first is not None
        stable = (release(backport) for backport in self.backports)
        return any(
            fixed is not None and version[:2] == fixed[:2] and version >= fixed for fixed in stable
        )

    @property
    def versions(self) -> str:
        """Return the affected versions as text."""
        first = f"{self.since} to " if self.since else ""
        others = f" (older series: {', '.join(self.backports)})" if self.backports else ""
        if self.fixed_in and not self.remains:
            return f"{first}before {self.fixed_in}{others}"
        return f"{self.since} and later" if self.since else "all known ones"

    @property
    def fix(self) -> str:
        """Return which versions have the fix, and what the fix does not cover; "" without a fix."""
        if not self.fixed_in:
            return ""
        others = f" and {', '.join(self.backports)}" if self.backports else ""
        left = f"; {self.remains}" if self.remains else ""
        return f"Linux {self.fixed_in}{others}, commit {self.fixed_by}{left}"


@dataclass(frozen=True)
class KnownField:
    """Bytes of a known line, and the functions that touch them."""

    name: str
    offsets: tuple[int, ...]
    functions: tuple[str, ...]


@dataclass(frozen=True)
class KnownLine:
    """A line without a symbol. A function of each group in ``require`` has to touch it."""

    id: str
    entry: str
    title: str
    require: tuple[tuple[str, ...], ...]
    fields: tuple[KnownField, ...]


@dataclass(frozen=True)
class Catalogue:
    """All entries by id, and the lines that belong to some of them."""

    entries: dict[str, Entry]
    lines: tuple[KnownLine, ...]


def _made(kind: type, raw: dict[str, Any]) -> Any:
    """Return an instance of a class. Wrong or missing keys are a ValueError."""
    names = {field.name for field in fields(kind)}
    if set(raw) != names:
        wrong = sorted(set(raw) ^ names)
        raise ValueError(f"catalogue.toml: {raw.get('id', '?')}: {', '.join(wrong)}")
    values = {
        key: tuple(value) if isinstance(value, list)
        else " ".join(value.split()) if isinstance(value, str) else value
        for key, value in raw.items()
    }  # fmt: skip
    return kind(**values)


def _typed(command: str) -> str:
    """Return a command, with './schedshard' replaced by what this user types."""
    ours = "./schedshard "
    return typed(command[len(ours) :]) if command.startswith(ours) else command


@cache
def load_catalogue() -> Catalogue:
    """Read the catalogue that comes with the program."""
    raw = toml_of(FILE.read_text(encoding="utf-8"))
    made = [_made(Entry, {**entry, "command": _typed(entry["command"])}) for entry in raw["entry"]]
    entries: dict[str, Entry] = {entry.id: entry for entry in made}
    lines = []
    for line in raw["line"]:
        held = [_made(KnownField, field) for field in line.pop("field")]
        required = [tuple(group) for group in line["require"]]
        lines.append(_made(KnownLine, {**line, "fields": held, "require": required}))
    if len(entries) != len(made) or any(line.entry not in entries for line in lines):
        raise ValueError("catalogue.toml: an id is used twice, or is missing")
    return Catalogue(entries, tuple(lines))


def find_entry(name: str) -> Entry:
    """Return an entry by id. For an unknown id the UserError names the nearest one."""
    entries = load_catalogue().entries
    check_names("finding", [name], entries)
    return entries[name]
