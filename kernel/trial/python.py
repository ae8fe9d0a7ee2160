# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Collects the files of Debian's Python and of the project that the trial's own system needs."""

import json
import tempfile
from pathlib import Path

from common.programs import call, libraries
from kernel.guest.cpio import Entry, plain

PYTHON = Path("/usr/bin/python3")
MAIN, FOLDER = "kernel.trial.inside", "/lib/schedshard"
# Prints the files of all modules that importing MAIN loads, and of some that are loaded later. They
# are compiled so that their times do not matter, because all files of the archive have the same.
_LIST = """
import sys
sys.path.insert(0, sys.argv[1])
import importlib, json, pathlib, py_compile
for name in (sys.argv[2], "encodings.ascii", "encodings.latin_1", "runpy"):
    importlib.import_module(name)
made = []
for name, module in sorted(sys.modules.items()):
    path = getattr(module, "__file__", None)
    if not path:
        continue
    out = ""
    if path.endswith(".py"):
        out = f"{sys.argv[3]}/{name}.pyc"
        py_compile.compile(path, out, doraise=True,
                           invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    made.append((path, getattr(module, "__cached__", None) or "", out))
print(json.dumps(made))
"""


def python_files(project: Path) -> dict[str, Entry]:
    """Return the interpreter, the modules that MAIN uses, compiled, and their libraries."""
    files = {"/bin/python3": plain(PYTHON, executable=True)}
    programs = [PYTHON]
    argv: list[str | Path]
    with tempfile.TemporaryDirectory() as folder:
        argv = [PYTHON, "-S", "-E", "-B", "-c", _LIST, project, MAIN, folder]
        for path, cached, made in json.loads(call(argv, what="looking for Python's modules")):
            place = path
            if Path(path).is_relative_to(project):
                place = f"{FOLDER}/{Path(path).relative_to(project)}"
                cached = str(Path(place).parent / "__pycache__" / Path(cached).name)
            files[place] = plain(Path(path))
            if made:
                files[cached] = plain(Path(made).read_bytes())
            elif path.endswith(".so"):
                programs.append(Path(path))
    for program in programs:
        for library in libraries(program):
            files[str(library)] = plain(library, executable=True)
    return files
