# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the advised edit in a copy of the source, builds and records it, and compares the gains."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from common.errors import UserError, telling
from model.results.c2c import Recorded, RecordedVariant

_MOST_COPIED = 2 << 30
_EDIT = re.compile(
    r"`((?:_A|a)lignas\(64\))` on (the first member of )?`([^`]+)` \(([^()]+):(\d+)\)"
)
# What is no code: comments, strings, and lines of the preprocessor.
_NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*",
    re.MULTILINE | re.DOTALL,
)
_OF_TYPE = re.compile(r"\b(struct|class|union)\s+(alignas\s*\([^()]*\)\s*)*\Z")


def _refusal(why: str) -> UserError:
    return UserError(f"--apply-check: {why}", status=1)


def _declarators(code: str) -> int:
    """Return how many names a declaration declares, from its commas outside of parentheses."""
    inner = None
    while inner != code:
        inner, code = code, re.sub(r"\([^(){}\[\]]*\)|\{[^(){}\[\]]*\}|\[[^(){}\[\]]*\]", "", code)
    return 1 + code.partition(";")[0].count(",")


def edited(text: str, attribute: str, first: bool, name: str, line: int) -> str | None:
    """Return a C or C++ source with a declaration aligned, or None if it is not understood.

    ``attribute``: the alignment. ``first``: align the first member of the structure ``name``. Else
    align the type, the member or the variable of that name in this line.
    """
    code = _NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    lines = code.splitlines(keepends=True)
    begin = sum(map(len, lines[: line - 1]))
    word = re.compile(rf"\b{re.escape(name.partition('<')[0])}\b")
    matches = list(word.finditer(lines[line - 1])) if line <= len(lines) else []
    if len(matches) != 1:
        return None
    low, high = begin + matches[0].start(), begin + matches[0].end()
    if first:
        brace = re.compile(r"[^;{}()]*\{").match(code, high)
        at, words = (brace.end(), f" {attribute}") if brace else (None, "")
    elif attribute == "alignas(64)":
        # In C++ the attribute of one name may follow the name.
        of_type = _OF_TYPE.search(code, 0, low) is not None
        at, words = (low, f"{attribute} ") if of_type else (high, f" {attribute}")
    else:
        start = max(code.rfind(mark, 0, low) for mark in ";{}") + 1
        start += len(code[start:low]) - len(code[start:low].lstrip())
        at, words = (start, f"{attribute} ") if _declarators(code[start:]) == 1 else (None, "")
    return f"{text[:at]}{words}{text[at:]}" if at is not None else None


def _copied(folder: Path) -> None:
    """Copy the current folder, without the history of git and what is neither file nor link."""
    size = 0

    def left_out(at: str, names: list[str]) -> list[str]:
        kinds = {name: os.lstat(Path(at, name)).st_mode for name in names}
        usual = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
        return [n for n, kind in kinds.items() if n == ".git" or not any(k(kind) for k in usual)]

    def copy(of: str, to: str) -> None:
        nonlocal size
        size += Path(of).lstat().st_size
        if size > _MOST_COPIED:
            raise _refusal("this folder has more than 2 GiB to copy: start in a smaller folder")
        shutil.copy2(of, to, follow_symlinks=False)

    try:
        shutil.copytree(".", folder, symlinks=True, ignore=left_out, copy_function=copy)
    except OSError as error:
        raise _refusal(f"cannot copy this folder: {error}") from error


def _edit(folder: Path, edit: str) -> None:
    """Make the edit below a folder."""
    steps = list(_EDIT.finditer(edit))
    if not steps or _EDIT.sub("", edit).replace(" and ", ""):
        raise _refusal(f"only an alignment can be applied, not the edit: {edit or 'unknown'}")
    for attribute, first, name, file, line in (step.groups() for step in steps):
        paths = [Path(at, file) for at, _, names in os.walk(folder) if file in names]
        if len(paths) != 1:
            raise _refusal(f"this folder has {len(paths)} files named {file}, not one")
        text = paths[0].read_bytes().decode("utf-8", "surrogateescape")
        changed = edited(text, attribute, bool(first), name, int(line))
        if changed is None:
            raise _refusal(f"{file}:{line} does not declare `{name}` alone: edit it by hand")
        paths[0].write_bytes(changed.encode("utf-8", "surrogateescape"))


def _saved(before: RecordedVariant, after: RecordedVariant) -> float:
    """Return the share that a change saved: of an operation's time if it is known, or of cycles."""
    if before.ns_per_operation and after.ns_per_operation:
        return 1 - after.ns_per_operation / before.ns_per_operation
    return 1 - after.work_cycles / before.work_cycles


def check_path(program: str) -> Path:
    """Return a program's path below the current folder, which is where it is built."""
    path, here = Path(program).resolve(), Path.cwd().resolve()
    if "/" not in program or not path.is_relative_to(here):
        raise UserError(f"--apply-check: {program} is not below this folder, whose copy is built")
    return path.relative_to(here)


def apply_check(
    report: Recorded, program: Path, build: str, again: Callable[[Path], Recorded]
) -> str:
    """Make the best advice's edit, build, record again, and return the promise and the result.

    ``program``: its path below this folder. ``again`` records the program that was built.
    """
    if not report.advice:
        raise _refusal("there is no advice, so there is no edit to make")
    best = report.advice[0]
    with tempfile.TemporaryDirectory(prefix="schedshard-") as own:
        folder = Path(own) / "source"
        _copied(folder)
        _edit(folder, best.edit)
        # A build that names another folder must not leave the old program to be recorded.
        (folder / program).unlink()
        with telling("--apply-check: cannot run sh"):
            done = subprocess.run(
                ["sh", "-c", build], cwd=folder, stdin=subprocess.DEVNULL, stdout=sys.stderr,
                check=False,
            )  # fmt: skip
        if done.returncode or not (folder / program).is_file():
            how = f"status {done.returncode}" if done.returncode else f"no {program} in the copy"
            raise _refusal(f"with the edit {best.edit}, '{build}' ended with {how}")
        with suppress(OSError):  # a pipe's data are gone
            os.lseek(0, 0, os.SEEK_SET)
        after = again(folder / program)
    if after.program.status != report.program.status:
        raise _refusal(f"with the edit, the program ended with status {after.program.status}")
    both = {variant.name: variant for variant in after.variants}
    got = [
        f"promised {best.machines[v.name].shown:.1%}, got {_saved(v, both[v.name]):.1%} on {v.name}"
        for v in report.variants
    ]
    return f"apply-check: {best.edit}: fewer cycles: {'; '.join(got)}"
