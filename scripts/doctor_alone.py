# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make schedshard-doctor: the verb doctor in one file, and as a wheel, for Python 3.9 and later.

doctor_alone.py [PYTHON]    write build/doctor; PYTHON runs pip [this Python]

The file and the wheel contain the modules that doctor imports, and its data. The file also contains
the packages of cli/requirements-doctor.lock. Only --predict needs the simulation, which both lack.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipapp
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "doctor"
LOCK = ROOT / "cli" / "requirements-doctor.lock"
START = "cli.alone"
ROOMS = frozenset(("cli", "common", "doctor", "model", "trial"))
DATE = 1767225600  # of all files in the archives: 2026-01-01
# All verbs and the simulator: doctor does not use them, or reports that they are missing.
LEFT_OUT = frozenset(("cli.commands.main", "doctor.predict.predict"))
# Modules that rich imports only for Markdown and for program text, and compiled modules, because
# markupsafe also has its code in Python.
UNUSED = ("pygments", "markdown_it", "mdurl", "bin", "**/*.so", "**/__pycache__")
_PYPROJECT = """\
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "schedshard-doctor"
version = "{version}"
description = "Tells what the Linux scheduler's shared cache lines cost a machine, and what helps"
requires-python = ">=3.9"
license = {{ text = "MIT OR GPL-2.0-only" }}
dependencies = ["click", "jinja2", "rich", "tomli; python_version < '3.11'"]

[project.scripts]
schedshard-doctor = "schedshard_doctor:start"

[tool.setuptools]
packages = {packages}
include-package-data = true

[tool.setuptools.package-data]
"*" = ["*"]
"""
# The file is copied to hosts with any Python, so all versions of Python must understand the
# following lines. Where shutil is missing, Debian's tempfile fails with a NameError.
_MAIN = """\
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
import sys

if sys.version_info < (3, 9):
    sys.stderr.write(
        "{program}: this is Python %d.%d, and 3.9 or later is needed{older}\\n"
        % tuple(sys.version_info[:2])
    )
    sys.exit(2)
try:
    import shutil
    import {module}
except ImportError as error:
    sys.stderr.write(
        "{program}: this Python lacks the module '%s': install the package python3, "
        "not only python3-minimal\\n" % error.name
    )
    sys.exit(2)

{module}.start()
"""


def main_of(program: str, module: str, older: str = "") -> str:
    """Return the text that starts a module; ``older`` says what helps on an older Python."""
    return _MAIN.format(program=program, module=module, older=older)


MAIN = main_of(
    "schedshard-doctor", "cli.alone", ": run collect.sh here, and doctor on another host"
)
# The wheel's modules lie in a separate folder, so that a whole schedshard may be installed too.
_START = '''\
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Starts the package beside this file, which is a part of schedshard."""

import sys
from pathlib import Path


def start() -> None:
    """Run the program."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from cli.alone import start

    start()
'''


def _file(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    return next((p for p in (path / "__init__.py", path.with_suffix(".py")) if p.is_file()), None)


def _imported(path: Path) -> set[str]:
    """Return the modules of schedshard that a file imports, anywhere in it."""
    names = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typed = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in typed:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.partition(".")[0] in ROOMS and _file(name)}


def modules(start: str = START) -> list[Path]:
    """Return the files of the modules that a program needs, and their packages' __init__.py."""
    todo, visited = {start}, set[str]()
    while todo:
        name = todo.pop()
        visited.add(name)
        parts = name.split(".")
        above = {".".join(parts[:n]) for n in range(1, len(parts))}
        file = _file(name)
        assert file is not None, name
        todo |= (_imported(file) | above) - visited - LEFT_OUT
    return sorted(file for name in visited if (file := _file(name)) is not None)


def data(files: list[Path]) -> list[Path]:
    """Return the files beside the modules that are not modules: scripts, tables, templates."""
    folders = {ROOT / "common" / "show" / "templates"}
    folders |= {file.parent for file in files if file.is_relative_to(ROOT / "doctor")}
    return sorted(
        path for folder in folders for path in folder.iterdir()
        if path.is_file() and path.suffix not in (".py", ".pyc")
    )  # fmt: skip


def stage(into: Path) -> None:
    """Copy the program's part of the package."""
    files = modules()
    for path in (*files, *data(files)):
        target = into / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    shutil.copyfile(ROOT / "VERSION", into / "common" / "VERSION")
    (into / "common" / "alone").write_text("doctor\n", encoding="ascii")


def _pip(python: str, *words: str) -> None:
    argv = [python, "-m", "pip", *words, "--disable-pip-version-check", "--no-input", "--quiet"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(DATE)}
    if subprocess.run(argv, check=False, env=environment).returncode != 0:
        sys.exit("doctor_alone: pip failed, its message is above")


def fix(tree: Path) -> None:
    """Give all files one date and mode, so that the same sources make the same archive."""
    os.environ["TZ"] = "UTC"  # an archive holds local times
    time.tzset()
    for path in tree.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (DATE, DATE))


def make_pyz(python: str, target: Path) -> None:
    """Write the one file."""
    tree = OUT / "pyz"
    shutil.rmtree(tree, ignore_errors=True)
    # Packages for the oldest Python run on all later ones.
    _pip(
        python, "install", "--target", str(tree), "--require-hashes", "--only-binary=:all:",
        "--no-compile", "--python-version", "3.9", "--implementation", "cp", "--platform",
        "manylinux2014_x86_64", "-r", str(LOCK),
    )  # fmt: skip
    for path in sorted(path for pattern in UNUSED for path in tree.glob(pattern)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    stage(tree)
    (tree / "__main__.py").write_text(MAIN, encoding="ascii")
    fix(tree)
    zipapp.create_archive(tree, target, "/usr/bin/env python3", compressed=True)


def make_wheel(python: str) -> None:
    """Write the wheel."""
    tree = OUT / "wheel"
    shutil.rmtree(tree, ignore_errors=True)
    package = tree / "schedshard_doctor"
    stage(package)
    (package / "__init__.py").write_text(_START, encoding="ascii")
    folders = sorted({path.parent for path in package.rglob("*") if path.is_file()})
    names = [".".join(folder.relative_to(tree).parts) for folder in folders]
    version = (ROOT / "VERSION").read_text(encoding="ascii").strip()
    text = _PYPROJECT.format(version=version, packages=names)
    (tree / "pyproject.toml").write_text(text, encoding="ascii")
    _pip(python, "wheel", "--no-deps", "--wheel-dir", str(OUT), str(tree))


def digest() -> str:
    """Return a hash of all files that go into the single file and the wheel."""
    files = modules()
    total = hashlib.sha256()
    for path in (*files, *data(files), LOCK, ROOT / "VERSION", Path(__file__)):
        total.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}".encode())
    return total.hexdigest()


def made() -> list[Path]:
    """Return the files for users."""
    return sorted((*OUT.glob("schedshard?doctor*"), *OUT.glob("collect.sh")))


def main() -> None:
    """Write both, and the collector beside them, unless they are up to date."""
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    stamp, wanted = OUT / "stamp", digest()
    if not stamp.is_file() or stamp.read_text(encoding="ascii") != wanted or len(made()) != 3:
        OUT.mkdir(parents=True, exist_ok=True)
        for old in made():
            old.unlink()
        make_pyz(python, OUT / "schedshard-doctor.pyz")
        make_wheel(python)
        pyz = str(OUT / "schedshard-doctor.pyz")
        script = subprocess.run([python, pyz, "collect"], check=True, capture_output=True).stdout
        (OUT / "collect.sh").write_bytes(script)
        stamp.write_text(wanted, encoding="ascii")
    for path in made():
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
