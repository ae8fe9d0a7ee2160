# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Replaces the folders of patches: DIR for the first part of the series, DIR-PART for each other.

A hidden file beside the folders contains the name and the hash of each file that was written. The
folders are replaced together or not at all, and only if they contain no other file. The folder of a
part that the series no longer has is removed.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from common.errors import UserError, telling
from common.output import to_json, write_atomic

_Hashes = Mapping[str, str]


def _list_of(out: Path) -> Path:
    # The list lies beside the folders: git send-email treats each file inside as a mail.
    return out.with_name(f".{out.name}.written.json")


def _written(out: Path) -> dict[Path, _Hashes]:
    """Return the folders that the last call wrote, with the hash of each file."""
    path = _list_of(out)
    if not path.exists():
        return {}
    try:
        known = json.loads(path.read_bytes())
        return {out.with_name(name): dict(files.items()) for name, files in known.items()}
    except (ValueError, AttributeError, RecursionError) as error:
        raise UserError(
            f"{path} is damaged: remove it and {out}, or give another folder"
        ) from error


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is(path: Path, sha256: str | None) -> bool:
    """Whether a path is a plain file with this hash."""
    return sha256 is not None and path.is_file() and not path.is_symlink() and _hash(path) == sha256


def check_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the folders to be replaced: the given ones that exist, and those of the last call.

    Raise a UserError if one contains a file that the last call did not write.
    """
    out = folders[0]
    with telling(f"cannot write {out}"):
        written = _written(out)
        old = [
            path
            for path in dict.fromkeys((*folders, *written))
            if path.is_symlink() or path.exists()
        ]
        for folder in old:
            if folder.is_symlink() or not folder.is_dir():
                raise UserError(f"cannot write {folder}: it is not a folder")
            known = written.get(folder, {})
            names = sorted(folder.iterdir())
            if strange := next(
                (path for path in names if not _is(path, known.get(path.name))), None
            ):
                raise UserError(
                    f"{folder} contains {strange.name}, which this command did not write or which "
                    "changed since: move the folder away, or give another one"
                )
    return old


def replace_folders(
    fill: Mapping[Path, Callable[[Path], None]], finish: Callable[[Path], object]
) -> None:
    """Fill new folders, finish the first one, and put them in the place of the old ones."""
    out = next(iter(fill))
    with telling(f"cannot write {out}"):
        out.parent.mkdir(parents=True, exist_ok=True)
        temp = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        new, old, names = temp / "new", temp / "old", temp / "names"
        try:
            old.mkdir()
            for folder, write in fill.items():
                (new / folder.name).mkdir(parents=True)
                write(new / folder.name)
            finish(new / out.name)
            written = {
                folder.name: {
                    path.name: _hash(path) for path in sorted((new / folder.name).iterdir())
                }
                for folder in fill
            }
            write_atomic(names, to_json(written))
            # The work before took minutes.
            moves = [(folder, old / folder.name) for folder in check_folders(tuple(fill))]
            moves += [(new / folder.name, folder) for folder in fill]
            with ExitStack() as put_back:
                for source, target in (*moves, (names, _list_of(out))):
                    source.rename(target)
                    put_back.callback(target.rename, source)
                put_back.pop_all()
        finally:
            shutil.rmtree(temp, ignore_errors=True)
