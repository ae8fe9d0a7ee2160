# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The catalogue of known hot lines, typed, with every key checked."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import tomlkit

from schedshard.doctor.values import release
from schedshard.errors import unknown_name

FILE = Path(__file__).resolve().parent / "catalogue.toml"


@dataclass(frozen=True)
class Entry:
    """One known hot line; catalogue.toml says what each key means."""

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
    stable: str
    remedy: str
    command: str
    source: tuple[str, ...]
    verified: bool
    checked: str

    def concerns(self, version: tuple[int, int, int] | None) -> bool:
        """Whether a version has this line; an unknown version may have any."""
        if version is None:
            return True
        since, fixed = release(self.since), release(self.fixed_in)
        return (since is None or version >= since) and (fixed is None or version < fixed)

    @property
    def versions(self) -> str:
        """Return the versions that have it, in words."""
        if self.since and self.fixed_in:
            return f"{self.since} to before {self.fixed_in}"
        if self.fixed_in:
            return f"before {self.fixed_in}"
        return f"{self.since} and later" if self.since else "all known ones"


@dataclass(frozen=True)
class KnownField:
    """Bytes of a known line, and who touches them."""

    name: str
    offsets: tuple[int, ...]
    functions: tuple[str, ...]


@dataclass(frozen=True)
class KnownLine:
    """A line without a symbol; a function of each group in ``require`` has to touch it."""

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
    """Make a record whose keys are exactly those of its class."""
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


@cache
def load_catalogue() -> Catalogue:
    """Read the catalogue that comes with the program."""
    raw = tomlkit.parse(FILE.read_text(encoding="utf-8")).unwrap()
    made = [_made(Entry, each) for each in raw["entry"]]
    entries: dict[str, Entry] = {each.id: each for each in made}
    lines = []
    for each in raw["line"]:
        held = [_made(KnownField, field) for field in each.pop("field")]
        required = [tuple(group) for group in each["require"]]
        lines.append(_made(KnownLine, {**each, "fields": held, "require": required}))
    if len(entries) != len(made) or any(line.entry not in entries for line in lines):
        raise ValueError("catalogue.toml: an id is used twice, or is missing")
    return Catalogue(entries, tuple(lines))


def find_entry(name: str) -> Entry:
    """Return an entry by id; an unknown id is answered with the nearest one."""
    entries = load_catalogue().entries
    if name not in entries:
        raise unknown_name("finding", name, entries)
    return entries[name]
