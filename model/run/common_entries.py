# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads entries that several experiments share from model/experiments/common/NAME.toml.

An experiment says ``common = "NAME"``. A ``[[param]]`` of it with ``names = ["a", "b"]`` stands for
these entries of the common file, in this order. The name "..." stands for all entries of that file
that the experiment does not name. So a new layout of the root domain is in all experiments of the
RT class. An entry with ``name`` takes missing keys from the common entry of that name, except the
range if the entry has a value. The same holds for ``[[metric]]`` and ``[[variant]]``. A common file
may itself say ``common``, and then has the entries of that second file as well.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.output import read_toml

Entry = dict[str, Any]
KINDS = ("metric", "variant", "param")
RANGE = ("low", "high")
OTHERS = "..."


def read_experiment(path: Path) -> dict[str, Any]:
    """Return the file's content with its common entries filled in.

    Raise a ValueError if the file names an entry that the common file lacks.
    """
    data = read_toml(path)
    shared = data.pop("common", None)
    if shared is None:
        return data
    known = _known(path.parent / "common", shared)
    for kind in KINDS:
        filled = [
            entry
            for given in _others_named(data.get(kind, ()), known[kind])
            for entry in _filled(kind, given, known[kind], shared)
        ]
        if filled:
            data[kind] = filled
    return data


def _known(folder: Path, shared: Any, *below: str) -> dict[str, dict[str, Entry]]:
    """Return the entries of a common file, for which files below it ask, by kind and name."""
    if not isinstance(shared, str) or "/" in shared:
        raise ValueError(f"common is {shared!r}: it must name a file in common/, without '.toml'")
    if shared in below:
        raise ValueError(f"common/{shared}.toml takes entries from itself")
    data = read_toml(folder / f"{shared}.toml")
    above = data.get("common")
    known = {kind: {} for kind in KINDS} if above is None else _known(folder, above, shared, *below)
    for kind in KINDS:
        for given in data.get(kind, ()):
            for entry in _filled(kind, given, known[kind], shared):
                known[kind][str(entry["name"])] = entry
    return known


def experiment_sha256(path: Path) -> str:
    """Return the SHA-256 in hex of what a file declares, including common entries."""
    text = json.dumps(read_experiment(path), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _others_named(given: Sequence[Entry], known: Mapping[str, Entry]) -> Iterator[Entry]:
    """Yield the entries with the names that OTHERS stands for."""
    named = {str(entry["name"]) for entry in given if "name" in entry}
    named |= {name for entry in given for name in entry.get("names", ())}
    others = [name for name in known if name not in named]
    for entry in given:
        if "names" not in entry:
            yield entry
            continue
        names = [n for name in entry["names"] for n in (others if name == OTHERS else [name])]
        yield {**entry, "names": names}


def _filled(kind: str, given: Entry, known: dict[str, Entry], shared: str) -> Iterator[Entry]:
    if "names" in given and len(given) > 1:
        raise ValueError(f"{kind} {given['names']}: an entry with 'names' may have no other key")
    if "names" not in given:
        common = known.get(str(given["name"]), {})
        without = RANGE if "value" in given else ()
        yield {**{key: common[key] for key in common if key not in without}, **given}
        return
    for name in given["names"]:
        if name not in known:
            raise ValueError(f"common/{shared}.toml has no {kind} '{name}'")
        yield known[name]
