# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""mutants.toml: what is changed into what, the tests that judge, and the survivors with reasons."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class BadSettingsError(Exception):
    """The file, or the command line, is wrong: one line says where."""


@dataclass(frozen=True)
class Stage:
    """Tests that are run together: arguments of `meson test`, and the longest time."""

    name: str
    tests: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Survivor:
    """A mutant that no test notices, and why that is right."""

    path: str
    function: str
    change: str
    reason: str


@dataclass(frozen=True)
class Settings:
    """All of it; stages by group, the quickest to notice first."""

    sources: tuple[str, ...]
    options: tuple[str, ...]
    stages: Mapping[str, tuple[Stage, ...]]
    always: Mapping[str, tuple[str, ...]]
    unused: Mapping[str, tuple[str, ...]]
    survivors: tuple[Survivor, ...]
    jobs: int


def strings(where: str, value: Any) -> tuple[str, ...]:
    """Return a list of strings, or say that it is none."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadSettingsError(f"{where}: {value!r} is no list of strings")
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
    return Stage(table["name"], strings(f"{where}: tests", table["tests"]), float(table["seconds"]))


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


def read_settings(path: Path) -> Settings:
    """Read the file."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadSettingsError(f"{path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise BadSettingsError(f"{path}: {error}") from error
    stages = {s.name: s for s in (read_stage(str(path), t) for t in data.get("stage", []))}
    order = {}
    for group in ("ordering", "logic"):
        names = strings(f"{path}: order.{group}", data.get("order", {}).get(group))
        for name in names:
            if name not in stages:
                raise BadSettingsError(f"{path}: order.{group}: no stage is called {name!r}")
        order[group] = tuple(stages[name] for name in names)
    calls = data.get("calls", {})
    tables = [
        {key: strings(f"{path}: {name}.{key}", value) for key, value in calls.get(name, {}).items()}
        for name in ("always", "unused")
    ]
    return Settings(
        sources=strings(f"{path}: sources", data.get("sources")),
        options=strings(f"{path}: options", data.get("options", [])),
        stages=order,
        always=tables[0],
        unused=tables[1],
        survivors=tuple(read_survivor(str(path), t) for t in data.get("survivor", [])),
        jobs=os.cpu_count() or 1,
    )
