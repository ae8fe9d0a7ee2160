# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check the includes of C; import-linter checks Python's imports (pyproject.toml).

structure.py [ROOT]    the project's root, or this folder

A file includes only files of its own folder and of the folders that the table in CONTRIBUTING.md
names. A row of the table names only folders of rows above it. No includes form a circle.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

from hygiene import tracked

TABLE = "CONTRIBUTING.md"
SOURCES = re.compile(r"\.(c|cc|h|hh|inc)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
FOLDER = re.compile(r"`([\w.-]+(?:/[\w.-]+)*)/`")


def may_use(table: str) -> tuple[dict[str, set[str]], list[str]]:
    """Return the folders that each may use, from rows | `folder/` | what | `other/`, ... |.

    The second value has a fault for each row that names a folder of no row above it.
    """
    allowed: dict[str, set[str]] = {}
    faults = []
    for line in table.splitlines():
        cells = line.split("|")
        if len(cells) != 5 or "everything" in cells[3]:
            continue
        for folder in FOLDER.findall(cells[1]):
            allowed[folder] = {folder, *FOLDER.findall(cells[3])}
            faults += [
                f"{TABLE}: the row of {folder}/ names {other}/, which has no row above it"
                for other in sorted(allowed[folder] - set(allowed))
            ]
    return allowed, faults


def meant(name: str, written: str, texts: Mapping[str, str]) -> list[str]:
    """Return the files that an include may mean."""
    beside = os.path.normpath(PurePosixPath(name).parent / written)
    return [beside] if beside in texts else [n for n in texts if n.endswith(f"/{written}")]


def main(root: Path) -> int:
    """Check a project; print the faults; return the exit status."""
    names = tracked(root=root)
    allowed, faults = may_use((root / TABLE).read_text(encoding="utf-8"))

    def folder_of(name: str) -> str:
        """Return the folder, of those in the table, that contains the file.

        Return '' for a test, because tests may include anything, and for a file in no such
        folder.
        """
        if "tests" in PurePosixPath(name).parts:
            return ""
        above = map(str, PurePosixPath(name).parents)
        return next((folder for folder in above if folder in allowed), "")

    texts = {
        name: (root / name).read_text(encoding="utf-8")
        for name in names
        if SOURCES.search(name) and folder_of(name)
    }
    graph: dict[str, set[str]] = {name: set() for name in texts}
    for name, text in texts.items():
        for written in INCLUDE.findall(text):
            files = meant(name, written, texts)
            folders = {folder_of(file) for file in files}
            if len(files) == 1:
                graph[name].add(files[0])
            if folders and folders.isdisjoint(allowed[folder_of(name)]):
                faults.append(
                    f'{name}: includes "{written}" of {"/, ".join(sorted(folders))}/, which '
                    f"{folder_of(name)}/ may not use ({TABLE})"
                )
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        faults.append(f"include each other: {' <- '.join(error.args[1])}")
    print("\n".join(faults) if faults else f"{len(texts)} C files, nothing found")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
