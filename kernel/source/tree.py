# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes source trees of variants: hard links to the base, and separate files where they differ.

Hard links make a tree of 86,000 files in 2 seconds, without disk space. Two rules make them safe. A
change replaces a file by rename and never writes to it. A file that returns to the base's content
becomes a copy with a new time, because make would treat the base's old time as unchanged.
"""

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from common.errors import UserError, telling
from common.output import read_json, to_json, write_atomic
from kernel.layout import Layout
from kernel.source.delta import Delta


def _replace(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, temp = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        os.replace(temp, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temp)
        raise


def _same(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False


def _remove(tree: Path, path: str) -> bool:
    """Remove a file and the folders that become empty. Return whether the file existed."""
    file = tree / path
    if not file.exists():
        return False
    file.unlink()
    for folder in file.parents:
        if folder == tree:
            break
        try:
            folder.rmdir()
        except OSError:
            break
    return True


def _bring(layout: Layout, tree: Path, delta: Delta, touched: Iterable[str]) -> int:
    """Bring the named files of a tree to the delta's content. Return how many changed."""
    changed = 0
    for path in sorted(set(touched) | set(delta)):
        base = layout.base / path
        wanted = delta[path] if path in delta else base.read_bytes() if base.is_file() else None
        if wanted is None:
            changed += _remove(tree, path)
        elif not _same(tree / path, wanted):
            mode = base.stat().st_mode & 0o777 if base.is_file() else 0o644
            _replace(tree / path, wanted, mode)
            changed += 1
    return changed


def _create(layout: Layout, tree: Path, delta: Delta) -> int:
    temp = Path(tempfile.mkdtemp(prefix=f".{tree.name}.", dir=tree.parent))
    try:
        copy = temp / tree.name
        done = subprocess.run(
            ["cp", "-al", "--", str(layout.base), str(copy)], capture_output=True, check=False
        )
        if done.returncode != 0:
            messages = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise UserError(f"linking {layout.shown(tree)} to the base: {messages[-1]}")
        changed = _bring(layout, copy, delta, ())
        copy.rename(tree)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
    return changed


def bring_tree(layout: Layout, name: str, delta: Delta, base: str) -> int:
    """Make work/src/NAME the base with these changes. Return how many files had to change.

    The caller holds the lock of the tree. If a kill leaves a tree half-way, the next call finishes
    it. The list of files that may differ is on disk before the first change.
    """
    tree = layout.source(name)
    state = layout.state(f"{name}.json")
    with telling(f"cannot write {layout.shown(tree)}"):
        layout.make_folder(tree.parent)
        known = read_json(state, "state") if state.is_file() else {}
        if tree.is_dir() and known.get("base") == base:
            touched = set(known["files"]) | set(delta)
            write_atomic(state, to_json({"base": base, "files": sorted(touched)}))
            changed = _bring(layout, tree, delta, touched)
        else:
            if tree.exists():
                shutil.rmtree(tree)
            changed = _create(layout, tree, delta)
        write_atomic(state, to_json({"base": base, "files": sorted(delta)}))
    return changed


def _files(tree: Path) -> dict[str, os.stat_result]:
    """Return the files of a tree, without git's folder and without builds."""
    files = {}
    for folder, folders, names in os.walk(tree):
        if Path(folder) == tree:
            folders[:] = [name for name in folders if name != ".git" and name[:6] != "build-"]
        for name in names:
            path = Path(folder) / name
            files[str(path.relative_to(tree))] = path.lstat()
    return files


def _alike(path: Path, other: Path, a: os.stat_result, b: os.stat_result) -> bool:
    if os.path.samestat(a, b):
        return True
    if stat.S_IFMT(a.st_mode) != stat.S_IFMT(b.st_mode) or (a.st_mode ^ b.st_mode) & 0o111:
        return False
    if stat.S_ISLNK(a.st_mode):
        return path.readlink() == other.readlink()
    return path.read_bytes() == other.read_bytes()


def first_difference(tree: Path, other: Path) -> tuple[int, str | None]:
    """Return how many files the first tree has, and the first path that differs, or None."""
    a, b = _files(tree), _files(other)
    for path in sorted(set(a) | set(b)):
        if path not in a or path not in b:
            return len(a), path
        if not _alike(tree / path, other / path, a[path], b[path]):
            return len(a), path
    return len(a), None
