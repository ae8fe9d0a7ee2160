# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What each run of a program cost, by names that stay the same when its sources change.

A gate compares runs. So a line is known by what it holds: a variable and its field, or an object's
allocating function, type and field. It is neither known by its address nor by a source line, and
elements of an array are not told apart. Bytes without a name are known by the functions that
access them.
"""

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedshard.c2c.report.replaying import work_cycles
from schedshard.c2c.report.sharing import heat, hitm, waited
from schedshard.lines.symbols import Frame

# Lines that cost less than this share of all cycles need no name: ten times less than is reported.
_LEAST = 0.0005
_NAMED = ("variable", "local", "kernel")
_ALLOCATED = ("heap", "shared")
_NUMBER = re.compile(r"\[\d+\]")
_SYSTEM = ("/usr/", "/rustc/")

Line = Mapping[str, Any]


def with_names(raw: Mapping[str, Any], most: int) -> list[int]:
    """Which lines of a result to name: those that are shown, and all that cost something."""
    work = work_cycles(dict(raw))
    return [
        number
        for number, line in enumerate(raw["lines"])
        if number < most or waited(line) >= _LEAST * work
    ]


def _accessor(access: Line) -> str:
    """The function that accesses, not what was inlined into it."""
    frame = access["frames"][-1] if access["frames"] else {"function": "?", "source": "?"}
    # Code without symbols has addresses: its file stays.
    return str(frame["source"] if frame["function"].startswith("0x") else frame["function"])


def names_of(line: Line) -> list[str]:
    """Every name by which a line can be found again."""
    kind = line["kind"]
    fields = {_NUMBER.sub("[]", access["field"]) for access in line["accesses"]}
    if kind in _NAMED:
        found = {field for field in fields if field} or {str(line["object"])}
    elif kind in _ALLOCATED and line["allocated"]:
        where = line["allocated"][0]["function"]
        found = {f"{kind} {where} {line['type']} {field}" for field in fields}
    else:
        found = {
            f"{kind} by {_accessor(access)}" for access in line["accesses"] if heat(access) >= 1
        }
        found = found or {f"{kind} by {_accessor(access)}" for access in line["accesses"]}
    return sorted(found)


def _label(line: Line) -> str:
    """The line as a reader knows it: with the field that makes it hot."""
    field = _NUMBER.sub("[]", line["accesses"][0]["field"]) if line["accesses"] else ""
    if line["kind"] in _NAMED:
        return field or str(line["object"])
    return f"{line['object']} {field}".rstrip()


def _below(path: Path, root: Path) -> Path | None:
    """The file in the folder at hand; the program may have been compiled in another one."""
    if path.is_absolute() and path.is_relative_to(root):
        return path.relative_to(root)
    parts = path.parts[1:] if path.is_absolute() else path.parts
    for begin in range(len(parts)):
        found = Path(*parts[begin:])
        # A name may be too long, and a folder may be somebody else's.
        with contextlib.suppress(OSError):
            if ".." not in found.parts and (root / found).is_file():
                return found
    return None


def place_of(frames: Sequence[Frame], root: Path) -> dict[str, Any] | None:
    """The source line of an access: the first of the program's own functions."""
    known: list[dict[str, Any]] = []
    for frame in frames:
        number = frame.source.rpartition(":")[2]
        if not frame.path or not number.isdecimal() or int(number) < 1:
            continue
        path = Path(os.path.normpath(frame.path))
        inside = None if frame.path.startswith(_SYSTEM) else _below(path, root)
        place: dict[str, Any] = {
            "file": str(inside or path),
            "line": int(number),
            "function": frame.function,
        }
        if inside is not None:
            return place
        known.append(place)
    return next((each for each in known if not each["file"].startswith(_SYSTEM)), None)


def _place(line: Line, frames: Mapping[int, tuple[Frame, ...]], root: Path) -> Any:
    for access in line["accesses"]:
        calls = access["callers"][0]["calls"] if access["callers"] else ()
        found = place_of(
            [f for pc in (access["pc"], *calls) for f in frames.get(int(pc, 16), ())], root
        )
        if found is not None:
            return found
    return None


def _folder() -> Path:
    """The one at hand; somebody may have removed it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.devnull)


def runs_of(
    lines: Sequence[Line],
    raws: Sequence[Mapping[str, Any]],
    frames: Mapping[int, tuple[Frame, ...]],
    *,
    threads: int,
    operations: int,
) -> list[dict[str, Any]]:
    """What ``raws``, runs of one program at the same addresses, cost by ``lines`` and in all."""
    root = _folder()
    known = [
        (
            line["address"],
            {"object": _label(line), "names": names_of(line)},
            _place(line, frames, root),
        )
        for line in lines
    ]
    runs = []
    for raw in raws:
        by_address = {line["address"]: line for line in raw["lines"]}
        found = []
        for address, name, place in known:
            line = by_address.get(address)
            if line is not None:
                cost = {"hitm": hitm(line), "cycles": waited(line), "place": place}
                found.append({**name, **cost})
        runs.append(
            {
                "threads": threads,
                "operations": operations,
                "work_cycles": work_cycles(dict(raw)),
                "lines": found,
            }
        )
    return runs
