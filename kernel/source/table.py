# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads tables of kernel/*.toml key by key. Errors name the wrong key and its place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from common.errors import UserError, unknown_name


@dataclass(frozen=True)
class Series:
    """The series of Linux for which the recipe is read, and all known series."""

    name: str
    known: tuple[str, ...]


class Table:
    """A table of the file. Callers take keys one by one, and end() refuses the rest."""

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, dict):
            raise UserError(f"{where}: expected a table")
        self.data: dict[str, Any] = dict(data)
        self.where = where

    def text(self, key: str, default: str | None = None) -> str:
        """Take a text. Without a default the key must exist."""
        value = self.data.pop(key, default)
        if not isinstance(value, str) or (default is None and not value):
            raise UserError(f"{self.where}: '{key}' must be given, as text")
        return value

    def count(self, key: str) -> int:
        """Take a number of at least 1."""
        value = self.data.pop(key, None)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UserError(f"{self.where}: '{key}' must be given, as a number from 1 on")
        return value

    def flag(self, key: str) -> bool:
        """Take a truth value, false if the key is missing."""
        value = self.data.pop(key, False)
        if not isinstance(value, bool):
            raise UserError(f"{self.where}: '{key}' must be true or false")
        return value

    def counts(self, key: str) -> tuple[tuple[str, int], ...]:
        """Take a table whose values are numbers, each at least 1."""
        table = Table(self.data.pop(key, {}), f"{self.where}: {key}")
        return tuple((name, table.count(name)) for name in list(table.data))

    def is_for(self, linux: Series) -> bool:
        """Whether the table is for a series. Without the key 'linux' it is for all."""
        value = self.data.pop("linux", None)
        if value is None:
            return True
        if value not in linux.known:
            raise unknown_name(f"series of Linux ({self.where})", str(value), linux.known)
        return bool(value == linux.name)

    def texts(self, key: str) -> tuple[str, ...]:
        """Take a list of texts, which may be missing."""
        value = self.data.pop(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UserError(f"{self.where}: '{key}' must be a list of texts")
        return tuple(value)

    def paths(self, key: str) -> tuple[str, ...]:
        """Take a list of relative paths that stay in their tree."""
        return tuple(inside(path, f"{self.where}: {key}") for path in self.texts(key))

    def tables(self, key: str) -> list[Table]:
        """Take a list of tables, which may be missing."""
        value = self.data.pop(key, [])
        if not isinstance(value, list):
            raise UserError(f"{self.where}: '{key}' must be a list of tables")
        return [Table(item, f"{self.where}: {key}") for item in value]

    def words(self, key: str) -> tuple[tuple[str, str], ...]:
        """Take a table of texts, from = to."""
        value = self.data.pop(key, {})
        if not isinstance(value, dict) or not all(isinstance(to, str) for to in value.values()):
            raise UserError(f"{self.where}: '{key}' must be a table, from = to")
        return tuple(value.items())

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        """Take a table of relative paths, from = to."""
        where = f"{self.where}: {key}"
        return tuple((inside(source, where), inside(to, where)) for source, to in self.words(key))

    def end(self) -> None:
        """Raise a UserError if the table has a key that nothing took."""
        if self.data:
            raise UserError(f"{self.where}: unknown key '{sorted(self.data)[0]}'")


def inside(path: str, where: str) -> str:
    """Return a path. Raise a UserError unless it is relative and stays in its tree."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or str(PurePosixPath(path)) != path:
        raise UserError(f"{where}: '{path}' is not a plain relative path")
    return path
