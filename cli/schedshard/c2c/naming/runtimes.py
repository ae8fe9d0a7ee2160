# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Names memory that a runtime such as Java's or Go's manages itself.

The recorder sees what such a runtime maps, but not its objects. So a line there is named after the
area and the function that uses it most.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from schedshard.c2c.naming.objects import Thing
from schedshard.lines.symbols import Frame
from schedshard.results.raw import Line

# Functions that access memory for others. The names of their callers say more.
_BETWEEN = re.compile(r"(sync|internal|runtime)[./].*")
_INTERPRETER = "Interpreter"
# A method with type and arguments, as Java's virtual machine prints it.
_METHOD = re.compile(r".* ([\w.$/<>]+)\(.*\)", re.ASCII)


def used_by(
    thing: Thing | None, line: Line, frames: Mapping[int, tuple[Frame, ...]]
) -> Thing | None:
    """Return the thing. For a runtime's area its name also contains the line's main user."""
    if thing is None or not thing.area:
        return thing
    accesses = sorted(line.accesses, key=lambda a: (a.hitm, a.records), reverse=True)
    ways = [found for a in accesses if (found := frames.get(a.instruction, ()))]
    # The interpreter's name says nothing: prefer an access by a compiled function.
    way = next((way for way in ways if way[0].function != _INTERPRETER), None)
    if way is None:
        return thing
    told = [f for f in way if not _BETWEEN.fullmatch(f.function)] or [way[0]]
    frame = next((f for f in told if f.own), told[0])
    place = f" ({frame.source})" if frame.source[-1:].isdigit() else ""
    method = _METHOD.fullmatch(frame.function)
    function = method[1] if method is not None else frame.function
    return replace(thing, name=f"{thing.name}: {function}{place}")
