# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The cost of each run of a program, by names that stay the same when its sources change.

A gate compares runs. So the content of a line identifies it: a variable and its field, or an
object's allocating function, type and field. Addresses and source lines do not, and the elements of
an array count as one. The functions that access bytes without a name identify them.
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

# Lines below this share of all cycles need no name. Reports fold lines below ten times as much.
_LEAST = 0.0005
_NAMED = ("variable", "local", "kernel")
_ALLOCATED = ("heap", "shared")
_NUMBER = re.compile(r"\[\d+\]")
_SYSTEM = ("/usr/", "/rustc/")

Line = Mapping[str, Any]


def with_names(raw: Mapping[str, Any], most: int) -> list[int]:
    """Return the numbers of the lines to name: the first ``most``, and all that cost enough."""
    work = work_cycles(dict(raw))
    return [
        number
        for number, line in enumerate(raw["lines"])
        if number < most or waited(line) >= _LEAST * work
    ]


def _accessor(access: Line) -> str:
    """Return the function of an access, not one that was inlined into it."""
    frame = access["frames"][-1] if access["frames"] else {"function": "?", "source": "?"}
    # Code without symbols has an address as its name, which changes. The name of its file does not.
    return str(frame["source"] if frame["function"].startswith("0x") else frame["function"])


def names_of(line: Line) -> list[str]:
    """Return every name by which the line can be found in another run."""
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
    """Return the line's name for readers: the object, and the field of the hottest access."""
    field = _NUMBER.sub("[]", line["accesses"][0]["field"]) if line["accesses"] else ""
    if line["kind"] in _NAMED:
        return field or str(line["object"])
    return f"{line['object']} {field}".rstrip()


def _below(path: Path, root: Path) -> Path | None:
    """Return a file's path below ``root``; None if it is not there.

    The program may have been compiled in another folder, so the end of its path may suffice.
    """
    if path.is_absolute() and path.is_relative_to(root):
        return path.relative_to(root)
    parts = path.parts[1:] if path.is_absolute() else path.parts
    for begin in range(len(parts)):
        found = Path(*parts[begin:])
        # A name may be too long, and a folder may be unreadable.
        with contextlib.suppress(OSError):
            if ".." not in found.parts and (root / found).is_file():
                return found
    return None


def place_of(frames: Sequence[Frame], root: Path) -> dict[str, Any] | None:
    """Return the source line of an access: that of the first frame with a file below ``root``.

    Without one, it is that of the first frame outside the system's folders, or else None.
    """
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
    """Return the current folder, or /dev/null if that folder has been removed."""
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
    """Return the cost of each of ``raws``: in all, and by line of ``lines``.

    ``raws`` are results of one program whose objects have the same addresses.
    """
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
