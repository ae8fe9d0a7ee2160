# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""mutants.toml: changes and their results, the tests that judge, and survivors with reasons."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = ("@near", "@far")


class BadSettingsError(Exception):
    """The file or the command line is wrong; the message is one line that names the place."""


@dataclass(frozen=True)
class Stage:
    """Tests that run together: arguments of `meson test`, and a time limit in seconds.

    "@near" and "@far" stand for the tests of the mutant's file, see Settings.tests_of().
    """

    name: str
    tests: tuple[str, ...]
    seconds: float
    options: tuple[str, ...] = ()  # configure a separate build tree


@dataclass(frozen=True)
class Survivor:
    """A mutant that no test notices, and the reason why that is right."""

    path: str
    function: str
    change: str
    reason: str


@dataclass(frozen=True)
class Touching:
    """Tests that run the code of some files: quick ones, and the others."""

    paths: tuple[str, ...]
    near: tuple[str, ...]
    far: tuple[str, ...]


@dataclass(frozen=True)
class Settings:
    """The contents of mutants.toml; stages by group, the quickest to notice first."""

    sources: tuple[str, ...]
    sequences: tuple[str, ...]
    options: tuple[str, ...]
    stages: Mapping[str, tuple[Stage, ...]]
    always: Mapping[str, tuple[str, ...]]
    unused: Mapping[str, tuple[str, ...]]
    sequence: Mapping[str, tuple[str, ...]]
    survivors: tuple[Survivor, ...]
    touching: tuple[Touching, ...]
    jobs: int

    def tests_of(self, stage: Stage, path: str | None) -> tuple[str, ...]:
        """Return a stage's arguments for a mutant of one file; of all files without one."""
        found: list[str] = []
        for argument in stage.tests:
            if argument not in KINDS:
                found.append(argument)
                continue
            for entry in self.touching:
                if path is None or path in entry.paths:
                    found += entry.near if argument == "@near" else entry.far
        return tuple(dict.fromkeys(found))


def strings(where: str, value: Any) -> tuple[str, ...]:
    """Return a list of strings, or report that the value is not one."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadSettingsError(f"{where}: {value!r} is not a list of strings")
    return tuple(value)


def read_stage(where: str, table: Any) -> Stage:
    """Return one [[stage]]."""
    known: dict[str, tuple[type, ...]] = {
        "name": (str,),
        "tests": (list,),
        "seconds": (int, float),
    }
    for key, kind in known.items():
        if not isinstance(table.get(key), kind):
            raise BadSettingsError(f"{where}: a stage needs {', '.join(known)}; {key} is missing")
    return Stage(
        table["name"],
        strings(f"{where}: tests", table["tests"]),
        float(table["seconds"]),
        strings(f"{where}: options", table.get("options", [])),
    )


def read_survivor(where: str, table: Any) -> Survivor:
    """Return one [[survivor]]."""
    keys = ("file", "function", "change", "reason")
    for key in keys:
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise BadSettingsError(f"{where}: a survivor needs {', '.join(keys)}; {key} is missing")
    if extra := sorted(set(table) - set(keys)):
        raise BadSettingsError(f"{where}: a survivor has no {extra[0]!r}, only {', '.join(keys)}")
    return Survivor(
        table["file"], table["function"], table["change"], " ".join(table["reason"].split())
    )


def read_touching(where: str, table: Any) -> Touching:
    """Return one [[touching]]."""
    lists = [strings(f"{where}: {key}", table.get(key)) for key in ("files", "near", "far")]
    return Touching(*lists)


def read_settings(path: Path) -> Settings:
    """Read mutants.toml."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadSettingsError(f"{path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise BadSettingsError(f"{path}: {error}") from error
    stages = {s.name: s for s in (read_stage(str(path), t) for t in data.get("stage", []))}
    order = {}
    for group in ("ordering", "sequence", "logic"):
        if group == "sequence" and not data.get("sequences"):
            continue
        names = strings(f"{path}: order.{group}", data.get("order", {}).get(group))
        for name in names:
            if name not in stages:
                raise BadSettingsError(f"{path}: order.{group}: no stage is called {name!r}")
        order[group] = tuple(stages[name] for name in names)
    calls = data.get("calls", {})
    tables = [
        {key: strings(f"{path}: {name}.{key}", value) for key, value in calls.get(name, {}).items()}
        for name in ("always", "unused", "sequence")
    ]
    return Settings(
        sources=strings(f"{path}: sources", data.get("sources")),
        sequences=strings(f"{path}: sequences", data.get("sequences", [])),
        options=strings(f"{path}: options", data.get("options", [])),
        stages=order,
        always=tables[0],
        unused=tables[1],
        sequence=tables[2],
        survivors=tuple(read_survivor(str(path), t) for t in data.get("survivor", [])),
        touching=tuple(
            read_touching(f"{path}: touching", table) for table in data.get("touching", [])
        ),
        jobs=os.cpu_count() or 1,
    )
