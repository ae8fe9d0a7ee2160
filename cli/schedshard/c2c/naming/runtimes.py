# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Memory that a runtime divides by itself: Java's virtual machine, Go's.

The recorder sees what such a runtime maps, not its objects. So a line there has the name of the
area, and of the function that uses it most.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schedshard.c2c.naming.objects import Thing
from schedshard.lines.symbols import Frame

# Code that accesses for others: names of the program's functions say more.
_BETWEEN = re.compile(r"(sync|internal|runtime)[./].*")
_INTERPRETER = "Interpreter"
# A method with its type and arguments, as Java's virtual machine writes it.
_METHOD = re.compile(r"(?:.* )?([\w.$/<>]+)\(.*\)", re.ASCII)


def used_by(
    thing: Thing | None, line: Mapping[str, Any], frames: Mapping[int, tuple[Frame, ...]]
) -> Thing | None:
    """The same; of an area of memory the name also says who uses the line most."""
    if thing is None or not thing.area:
        return thing
    accesses = sorted(
        line["accesses"],
        key=lambda a: (a["hitm_remote"] + a["hitm_local"], a["records"]),
        reverse=True,
    )
    ways = [found for a in accesses if (found := frames.get(int(a["pc"], 16), ()))]
    # What Java interprets, others compile: the function is that of another access.
    way = next((way for way in ways if way[0].function != _INTERPRETER), None)
    if way is None:
        return thing
    frame = ([f for f in way if not _BETWEEN.fullmatch(f.function)] or [way[0]])[0]
    place = f" ({frame.source})" if frame.source[-1:].isdigit() else ""
    method = _METHOD.fullmatch(frame.function)
    function = method[1] if method is not None else frame.function
    return replace(thing, name=f"{thing.name}: {function}{place}")
