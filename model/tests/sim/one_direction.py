#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The files of a static library use each other in one direction.

Usage: one_direction.py LIBRARY... If files form a circle, prints it and ends with status 1. nm
gives the names, so a call, a variable and a pointer to a function all count.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

DEFINED = frozenset("ABCDGRSTVW")


def uses(library: str) -> dict[str, set[str]]:
    """Return, for each object of a library, the other objects of it that it needs."""
    text = subprocess.run(
        ["nm", "--format=posix", library], check=True, capture_output=True, text=True
    ).stdout
    owner: dict[str, str] = {}
    needs: dict[str, set[str]] = {}
    member = ""
    for line in text.splitlines():
        if line.endswith("]:"):
            member = line[line.rindex("[") + 1 : -2].rpartition("/")[2].removesuffix(".o")
            needs[member] = set()
        elif line:
            name, kind = line.split()[:2]
            if kind == "U":
                needs[member].add(name)
            elif kind in DEFINED:
                owner[name] = member
    return {
        member: {owner[name] for name in names if name in owner} - {member}
        for member, names in needs.items()
    }


def circle(graph: Mapping[str, set[str]]) -> str:
    """Return a circle of files as text, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " <- ".join(error.args[1])
    return ""


def main(libraries: list[str]) -> int:
    """Check the libraries; return the exit status."""
    status = 0
    for library in libraries:
        graph = uses(library)
        if len(graph) < 2:
            print(f"{library}: {len(graph)} files, which is not a library to check")
            status = 1
        elif cycle := circle(graph):
            print(f"{library}: files use each other: {cycle}")
            status = 1
        else:
            print(f"{library}: {len(graph)} files")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
