# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Describes the owner of a byte of memory: an object, or an area that a runtime divides.

The recorder sees what a runtime such as Java's or Go's maps, but not its objects. So a line there
is named after the area and the function that uses it most.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from model.results.raw import Line
from record.lines.edits import Aligned, Edit
from record.lines.symbols import Frame
from record.names.variables import Typed

# Functions that access memory for others. The names of their callers say more.
_BETWEEN = re.compile(r"(sync|internal|runtime)[./].*")
_INTERPRETER = "Interpreter"
# A method with type and arguments, as Java's virtual machine prints it.
_METHOD = re.compile(r".* ([\w.$/<>]+)\(.*\)", re.ASCII)


@dataclass(frozen=True)
class Thing:
    """An object, or an area of memory: its name, its start and its fields."""

    name: str
    kind: str  # variable, local, file, heap, stack, mapped, unknown
    address: int
    size: int
    type: str = ""
    field: Callable[[int], str] = lambda _: ""
    element: tuple[str, int] | None = None
    frames: tuple[Frame, ...] = ()
    foreign: bool = False  # belongs to a library of the system or a runtime
    # Returns start, size and path of the library object, such as a lock, around an offset.
    whole: Callable[[int], tuple[int, int, str] | None] = lambda _: None
    # Returns element type, element size and path of the array member at an offset.
    row: Callable[[int], tuple[str, int, str] | None] = lambda _: None
    # Returns the edit that aligns to lines what is at an offset.
    edit: Callable[[int, Aligned], Edit] = lambda _, aligned: Edit()
    area: bool = False  # memory of a runtime, whose objects are unknown
    owner: str = ""  # the thread whose copy of a variable this is


def of_type(thing: Thing, typed: Typed | None) -> Thing:
    """Return a thing with the fields of its type."""
    if typed is None:
        return thing
    return replace(
        thing, type=typed.name, field=typed.field, element=typed.element, whole=typed.whole,
        row=typed.row, edit=partial(typed.edit, thing.size),
        foreign=thing.foreign or typed.is_internal,
    )  # fmt: skip


def fields_of(typed: Typed | None, element: int) -> Callable[[int], str]:
    """Return a function that names the field at an offset of an allocation.

    ``element``: the size of its elements, 0 if it is no array.
    """
    if typed is None:
        return lambda offset: f"[{offset // element}]+{offset % element:#x}" if element else ""
    if not element:
        return typed.field
    return lambda offset: f"[{offset // element}]{typed.field(offset % element)}"


def used_by(
    thing: Thing | None, line: Line, frames: Mapping[int, tuple[Frame, ...]]
) -> Thing | None:
    """Return the thing. For a runtime's area its name also contains the line's main user.

    If only the runtime itself uses the line, the thing belongs to the runtime.
    """
    if thing is None or not thing.area:
        return thing
    accesses = sorted(line.accesses, key=lambda a: (a.hitm, a.records), reverse=True)
    ways = [stack for a in accesses if (stack := frames.get(a.instruction, ()))]
    # The interpreter's name says nothing: prefer an access by a compiled function.
    way = next((way for way in ways if way[0].function != _INTERPRETER), None)
    if way is None:
        return thing
    candidates = [f for f in way if not _BETWEEN.fullmatch(f.function)] or [way[0]]
    frame = next((f for f in candidates if f.own), candidates[0])
    place = f" ({frame.source})" if frame.source[-1:].isdigit() else ""
    method = _METHOD.fullmatch(frame.function)
    function = method[1] if method is not None else frame.function
    runtime = all(_BETWEEN.fullmatch(f.function) for stack in ways for f in stack)
    return replace(thing, name=f"{thing.name}: {function}{place}", foreign=thing.foreign or runtime)
