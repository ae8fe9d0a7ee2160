# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check where code may lie, as far as the Python linters do not.

structure.py [ROOT]    the project's root, or this folder

A header or source file includes only files of its own folder and of the folders that the table in
CONTRIBUTING.md names. A row of the table names only folders of rows above it. No files include each
other in a circle, so that types form none. No source files of one folder use each other's functions
and data in a circle. pyproject.toml
([tool.importlinter]) contains the rules for Python imports.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

TABLE = "CONTRIBUTING.md"
SOURCES = re.compile(r"\.(c|cc|h|hh|inc)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# In the kernel's style a function's name is in its first line, and its brace begins a line.
TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
FUNCTION = re.compile(r"^(?!static\b)\w[^;{}()#]*?\b(\w+)\([^;{}]*\n\{", re.MULTILINE)
STATIC = re.compile(r"^static\b[^;{}()#]*?\b(\w+)\(", re.MULTILINE)
CALL = re.compile(r"\b(\w+)\(")
# Data: `extern` declares it, in a header or beside its use; it is defined at the start of a line.
EXTERN = re.compile(r"^extern\b([^;(){}]*);", re.MULTILINE)
LAST_WORD = re.compile(r"(\w+)(?:\s*\[[^\]]*\])*\s*(?:,|$)")
OBJECT = re.compile(
    r"^(?!static\b|extern\b|typedef\b)[a-zA-Z_][\w \t*]*?\b(\w+)(?:\[[^\]]*\])*(?:\s*=|;)",
    re.MULTILINE,
)
WORD = re.compile(r"\w+")
FOLDER = re.compile(r"`([\w.-]+(?:/[\w.-]+)*)/`")


def may_use(table: str) -> dict[str, set[str]]:
    """Return the folders that each may use, from rows | `folder/` | what | `other/`, ... |."""
    found: dict[str, set[str]] = {}
    for line in table.splitlines():
        cells = line.split("|")
        if len(cells) != 5 or not (folders := FOLDER.findall(cells[1])):
            continue
        for folder in folders:
            if "everything" not in cells[3]:
                found[folder] = {folder, *FOLDER.findall(cells[3])}
    return found


def upward(allowed: Mapping[str, set[str]]) -> list[str]:
    """Return faults: folders of the table that may use one of a row below."""
    above: set[str] = set()
    faults = []
    for folder, used in allowed.items():
        above.add(folder)
        faults += [
            f"{TABLE}: the row of {folder}/ names {other}/, which has no row above it"
            for other in sorted(used - above)
        ]
    return faults


def folder_of(name: str, allowed: Mapping[str, set[str]]) -> str:
    """Return the folder of the table that contains a file. Tests may use everything."""
    if "tests" in PurePosixPath(name).parts:
        return ""
    return next((str(one) for one in PurePosixPath(name).parents if str(one) in allowed), "")


def includes(texts: Mapping[str, str]) -> dict[str, list[tuple[str, list[str]]]]:
    """Return the includes of each file: as written, and the files that each may mean."""
    by_name: dict[str, list[str]] = {}
    for name in texts:
        by_name.setdefault(PurePosixPath(name).name, []).append(name)
    found = {}
    for name, text in texts.items():
        meant = []
        for written in INCLUDE.findall(text):
            beside = os.path.normpath(PurePosixPath(name).parent / written)
            others = by_name.get(PurePosixPath(written).name, [])
            ends = [other for other in others if other.endswith(f"/{written}")]
            meant.append((written, [beside] if beside in texts else ends))
        found[name] = meant
    return found


def arrows(
    found: Mapping[str, Sequence[tuple[str, Sequence[str]]]], allowed: Mapping[str, set[str]]
) -> list[str]:
    """Return faults: includes from a folder that the table does not allow."""
    faults = []
    for name, meant in found.items():
        folder = folder_of(name, allowed)
        if not folder:
            continue
        for written, files in meant:
            folders = {folder_of(file, allowed) for file in files}
            if folders and folders.isdisjoint(allowed[folder]):
                faults.append(
                    f'{name}: includes "{written}" of {"/, ".join(sorted(folders))}/, which '
                    f"{folder}/ may not use ({TABLE})"
                )
    return faults


def users(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the files of its own folder whose functions or data each source file uses.

    A function counts if a header declares it, data if it is declared anywhere; one file of the
    folder must define it.
    """
    code = {name: TEXT.sub("", text) for name, text in texts.items()}
    functions = {call for name in code if name.endswith(".h") for call in CALL.findall(code[name])}
    data = {
        word
        for text in code.values()
        for declared in EXTERN.findall(text)
        for word in LAST_WORD.findall(declared)
    }
    defined: dict[tuple[PurePosixPath, str], list[str]] = {}
    sources = [name for name in code if name.endswith(".c")]
    for name in sources:
        made = functions.intersection(FUNCTION.findall(code[name]))
        for what in made | data.intersection(OBJECT.findall(code[name])):
            defined.setdefault((PurePosixPath(name).parent, what), []).append(name)
    found = {}
    for name in sources:
        used = set(CALL.findall(code[name])) | data.intersection(WORD.findall(code[name]))
        used.difference_update(STATIC.findall(code[name]))
        makers = [defined.get((PurePosixPath(name).parent, what), []) for what in used]
        found[name] = {files[0] for files in makers if len(files) == 1} - {name}
    return found


def circle(graph: Mapping[str, set[str]], what: str) -> list[str]:
    """Return a fault for the first circle, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [f"{what} each other: {' <- '.join(error.args[1])}"]
    return []


def main(root: Path) -> int:
    """Check a project; print the faults; return the exit status."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
        cwd=root,
    )
    names = sorted(name for name in listing.stdout.split("\0") if name and (root / name).is_file())
    allowed = may_use((root / TABLE).read_text(encoding="utf-8"))
    texts = {
        name: (root / name).read_text(encoding="utf-8")
        for name in names
        if SOURCES.search(name) and folder_of(name, allowed)
    }
    found = includes(texts)
    graph = {
        name: {files[0] for _, files in meant if len(files) == 1} for name, meant in found.items()
    }
    between = {
        (folder_of(name, allowed), folder_of(file, allowed))
        for name, meant in found.items()
        for _, files in meant
        for file in files
        if folder_of(file, allowed) in allowed[folder_of(name, allowed)]
    }
    count = sum(one != other for one, other in between)
    faults = [
        *upward(allowed),
        *arrows(found, allowed),
        *circle(graph, "include"),
        *circle(users(texts), "use"),
    ]
    sums = f"{len(texts)} C files, arrows between their folders: {count}"
    print("\n".join(faults) if faults else sums)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
