# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Lists the cost of each run of a program by names that stay the same when its sources change.

A gate compares runs. So the content of a line identifies it: a variable and its field, or an
object's allocating function, type and field. Addresses and source lines do not, and the elements of
an array count as one. Nameless bytes are identified by the functions that access them.
"""

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from model.results import raw
from model.results.c2c import Cost, Place, RecordedAccess, RecordedLine, Run
from record.lines.symbols import Frame

# Lines below this share of all cycles need no name: reports fold even lines ten times as costly.
_LEAST = 0.0005
_NAMED = ("variable", "local")
_ALLOCATED = ("heap", "shared")
_NUMBER = re.compile(r"\[\d+\]")
_SYSTEM = ("/usr/", "/rustc/")


def with_names(run: raw.Run, most: int) -> list[int]:
    """Return the numbers of the lines to name: the first ``most``, and all that cost enough."""
    least = _LEAST * run.work_cycles
    return [
        number for number, line in enumerate(run.lines) if number < most or line.waited >= least
    ]


def _accessor(access: RecordedAccess) -> str:
    """Return the function of an access, not one that was inlined into it."""
    if not access.frames:
        return "?"
    frame = access.frames[-1]
    # Code without symbols is named by an address, which changes, so its file's name is used.
    return frame.source if frame.function.startswith("0x") else frame.function


def _of_kernel(line: RecordedLine, field: str) -> str:
    """Return a field of a kernel's object, whose CPU or number differs from run to run."""
    name = _NUMBER.sub("[]", line.object.removeprefix("kernel: ").removeprefix("struct "))
    return f"{name}.{field}" if field else name


def names_of(line: RecordedLine) -> frozenset[str]:
    """Return every name by which the line can be found in another run."""
    kind = line.kind
    fields = {_NUMBER.sub("[]", access.field) for access in line.accesses}
    if kind in _NAMED:
        return frozenset(field for field in fields if field) or frozenset((line.object,))
    if kind == "kernel":
        return frozenset(_of_kernel(line, field) for field in fields)
    if kind in _ALLOCATED and line.allocated:
        where = line.allocated[0].function
        return frozenset(f"{kind} {where} {line.type} {field}" for field in fields)
    hot = [access for access in line.accesses if access.heat >= 1]
    return frozenset(f"{kind} by {_accessor(access)}" for access in hot or line.accesses)


def _label(line: RecordedLine) -> str:
    """Return the line's name for readers: the object, and the field of the hottest access."""
    field = _NUMBER.sub("[]", line.accesses[0].field) if line.accesses else ""
    if line.kind in _NAMED:
        return field or line.object
    if line.kind == "kernel":
        return _of_kernel(line, field)
    return f"{line.object} {field}".rstrip()


def _below(path: Path, root: Path) -> Path | None:
    """Return a file's path below ``root``; None if it is not there.

    The program may have been compiled in another folder, so the end of its path may suffice.
    """
    if path.is_absolute() and path.is_relative_to(root):
        return path.relative_to(root)
    parts = path.parts[1:] if path.is_absolute() else path.parts
    for begin in range(len(parts)):
        tail = Path(*parts[begin:])
        # A name may be too long, and a folder may be unreadable.
        with contextlib.suppress(OSError):
            if ".." not in tail.parts and (root / tail).is_file():
                return tail
    return None


def place_of(frames: Sequence[Frame], root: Path) -> Place | None:
    """Return the source line of an access: that of the first frame with a file below ``root``.

    Without one, it is that of the first frame outside the system's folders, or else None.
    """
    known: list[Place] = []
    for frame in frames:
        number = frame.source.rpartition(":")[2]
        if not frame.path or not number.isdecimal() or int(number) < 1:
            continue
        path = Path(os.path.normpath(frame.path))
        inside = None if frame.path.startswith(_SYSTEM) else _below(path, root)
        place = Place(file=str(inside or path), line=int(number), function=frame.function)
        if inside is not None:
            return place
        known.append(place)
    return next((place for place in known if not place.file.startswith(_SYSTEM)), None)


def _place(line: RecordedLine, frames: Mapping[int, tuple[Frame, ...]], root: Path) -> Place | None:
    for access in line.accesses:
        calls = access.callers[0].calls if access.callers else ()
        place = place_of(
            [f for pc in (access.pc, *calls) for f in frames.get(int(pc, 16), ())], root
        )
        if place is not None:
            return place
    return None


def _folder() -> Path:
    """Return the current folder, or /dev/null if that folder has been removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.devnull)


def runs_of(
    lines: Sequence[RecordedLine], raws: Sequence[raw.Run], frames: Mapping[int, tuple[Frame, ...]],
    *, threads: int, operations: int,
) -> list[Run]:  # fmt: skip
    """Return the cost of each of ``raws``: in all, and by line of ``lines``.

    ``raws`` are results of one program whose objects have the same addresses.
    """
    root = _folder()
    known = [
        (line.address, _label(line), names_of(line), _place(line, frames, root)) for line in lines
    ]
    runs = []
    for result in raws:
        by_address = {line.address: line for line in result.lines}
        costs = [
            Cost(object=label, names=sorted(names), hitm=line.hitm, cycles=line.waited, place=place)
            for address, label, names, place in known
            if (line := by_address.get(address)) is not None
        ]
        runs.append(
            Run(threads=threads, operations=operations, work_cycles=result.work_cycles, lines=costs)
        )
    return runs
