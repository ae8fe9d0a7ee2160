# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Writes files atomically, and JSON that has the same bytes for the same content."""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from common.errors import UserError, telling
from common.inputs import read_input


def to_json(value: Any) -> str:
    """Return a value as the JSON text that every command prints and saves.

    The indent is two spaces, and keys keep the order of creation. Objects that are not plain data
    have a method to_data().
    """
    text = json.dumps(
        value, indent=2, ensure_ascii=False, allow_nan=False, default=lambda part: part.to_data()
    )
    return f"{text}\n"


def check_writable(path: Path) -> None:
    """Raise a UserError if a path cannot be written, before the long work."""
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a directory: give a file name")
    _check_link(path)
    if _stays(path):
        if path.exists() and not os.access(path, os.W_OK):
            raise UserError(f"cannot write {path}: permission denied")
        return
    parent = path.parent
    if not parent.is_dir():
        raise UserError(f"cannot write {path}: no directory {parent}")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise UserError(f"cannot write {path}: permission denied in {parent}")


def _stays(path: Path) -> bool:
    """Whether a path, such as /dev/stdout, is a device, a pipe or a link, not to be replaced."""
    return path.is_symlink() or (path.exists() and not path.is_file())


def _check_link(path: Path) -> None:
    """Raise a UserError if another user may have made this link to mislead the write."""
    if not path.is_symlink():
        return
    folder = path.parent.stat()
    shared = bool(folder.st_mode & stat.S_IWOTH)
    if shared and path.lstat().st_uid not in (os.geteuid(), folder.st_uid):
        raise UserError(
            f"cannot write {path}: it is another user's link, in a directory where all may write"
        )


def make_directory(path: Path) -> None:
    """Make a directory for output files, with its parents."""
    _check_link(path)
    with telling(f"cannot make directory {path}"):
        path.mkdir(parents=True, exist_ok=True)


def write_atomic(path: Path, data: str | bytes) -> None:
    """Write a temporary file in the same directory, and rename it over the target.

    A reader sees the old file or the new one. After an error or a kill the old one stays. Devices,
    pipes and links are written directly. Bytes of file names that are not text become escapes.
    """
    raw = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    check_writable(path)
    with telling(f"cannot write {path}"):
        if _stays(path):
            path.write_bytes(raw)
            return
        # Use its descriptor, because another user may put a link in the place of the file.
        with _beside(path) as (fd, _), os.fdopen(fd, "wb") as file:
            file.write(raw)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which replaces ``path`` at the end, as write_atomic() says."""
    check_writable(path)
    if _stays(path):
        yield path
        return
    with _beside(path) as (fd, temp):
        os.close(fd)
        yield temp


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[tuple[int, Path]]:
    """Yield a new file in the same directory, which replaces ``path`` at the end."""
    with telling(f"cannot write {path}"):
        fd, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        os.fchmod(fd, 0o666 & ~_umask())
        yield fd, Path(name)
        with telling(f"cannot write {path}"):
            os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def read_json(path: Path, what: str, *, links: bool = True) -> Any:
    """Return the content of a JSON file. The UserError says where it is not valid JSON."""
    raw = read_input(path, what, links=links)
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise UserError(f"{what} {path} is not text: byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise UserError(
            f"{what} {path} is not complete JSON: line {error.lineno}, column {error.colno}: "
            f"{error.msg.lower()}; make it again with --json or --out"
        ) from error
    except ValueError as error:
        raise UserError(f"{what} {path} is damaged: {error}") from error
    except RecursionError as error:
        raise UserError(f"{what} {path} is not of schedshard: nested too deeply") from error


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text)


def toml_of(text: str) -> dict[str, Any]:
    """Return the content of the project's own TOML text."""
    # Only here, because the trial is made of Python's own modules.
    if sys.version_info >= (3, 11):
        import tomllib  # novm
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def read_toml(path: Path, what: str = "") -> dict[str, Any]:
    """Return the content of a TOML file. The UserError says where it is not valid TOML."""
    name = f"{what} {path}".lstrip()
    raw = read_input(path, what)
    try:
        return toml_of(raw.decode("utf-8"))
    except ValueError as error:
        raise UserError(f"{name} is not TOML: {error}") from error
    except RecursionError as error:
        raise UserError(f"{name} is not of schedshard: nested too deeply") from error
