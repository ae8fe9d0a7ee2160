# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Owns the folders of patches: one for the series, and one beside it for each other part.

They are replaced together or not at all. A folder of a part that no longer exists goes. Files that
this command did not write stay.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from schedshard.common.errors import UserError, telling
from schedshard.common.output import read_json, to_json, write_atomic
from schedshard.kernel.layout import Layout

_STATE = "series-folders.json"
# The first line of each mail of `git format-patch --zero-commit`. Others name a commit.
_FIRST = b"From " + b"0" * 40 + b" "


def _written(path: Path) -> bool:
    """Whether this command wrote a file."""
    if path.suffix != ".patch" or path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as mail:
        return mail.read(len(_FIRST)) == _FIRST


def check_folders(folders: Sequence[Path]) -> None:
    """Raise a UserError if a folder cannot be replaced, before the long work."""
    for folder in folders:
        with telling(f"cannot write {folder}"):
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                raise UserError(f"cannot write {folder}: it is not a folder")
            names = sorted(folder.iterdir()) if folder.exists() else []
            if strange := next((path for path in names if not _written(path)), None):
                raise UserError(
                    f"{folder} contains {strange.name}, which this command did not write: "
                    "give another folder"
                )


def replace_folders(layout: Layout, fill: Mapping[Path, Callable[[Path], None]]) -> None:
    """Fill new folders and put them in place. Remove those that an earlier call left beside them.

    The first folder names the call: an earlier one with the same first folder may have had more.
    """
    out = next(iter(fill))
    with telling(f"cannot write {out}"):
        out.parent.mkdir(parents=True, exist_ok=True)
        temp = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            for folder, write in fill.items():
                new = temp / folder.name
                new.mkdir()
                write(new)
            for folder in fill:
                if folder.exists():
                    shutil.rmtree(folder)
                (temp / folder.name).rename(folder)
        finally:
            shutil.rmtree(temp, ignore_errors=True)
        _forget(layout, out, {folder: _names(folder) for folder in fill})


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _forget(layout: Layout, out: Path, now: Mapping[Path, list[str]]) -> None:
    """Remove what the last call wrote into folders that this one did not write."""
    path = layout.state(_STATE)
    state = read_json(path, "state") if path.is_file() else {}
    key = str(out.absolute())
    before: Mapping[str, Sequence[str]] = state.get(key, {})
    for name, files in before.items():
        folder = out.with_name(name)
        if folder in now or folder.is_symlink() or not folder.is_dir():
            continue
        for old in (folder / file for file in files):
            if _written(old):
                old.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()
    kept = {other: value for other, value in state.items() if Path(other).is_dir()}
    kept[key] = {folder.name: files for folder, files in now.items()}
    write_atomic(path, to_json(kept))
