# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Leave out of the locks what nobody installs: run in cli/ after pip-compile, with its Python.

A lock keeps the hashes of wheels for CPython on Linux with glibc, on x86-64 and arm64. All who read
the locks call pip with --only-binary=:all:, so that no source package is installed. A trimmed lock
begins with ``-r`` and the lock before it, whose pins it leaves out: pip installs both.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

CLI = Path(__file__).resolve().parent.parent / "cli"
ORDER = ("requirements.lock", "requirements-sweep.lock", "requirements-dev.lock")
# Each lock file with the oldest Python 3 that it serves. Doctor's single file is made with, and
# runs on, older ones.
OLDEST = dict.fromkeys(ORDER, 11) | {"requirements-doctor.lock": 9}
NEWEST = 15
GLIBC = range(5, 46)
HASH = re.compile(r"--hash=sha256:(\w+)")
PIN = re.compile(r"[A-Za-z0-9].*?==\S+ \\\n(?:    --hash=\S+(?: \\)?\n)+")


@cache
def tags(oldest: int) -> frozenset[Tag]:
    """Return the tags of wheels that a supported Python installs."""
    usable: set[Tag] = set()
    for arch in ("x86_64", "aarch64"):
        names = [f"manylinux_2_{minor}" for minor in GLIBC]
        names += ["manylinux1", "manylinux2010", "manylinux2014", "linux"]
        platforms = [f"{name}_{arch}" for name in names]
        for minor in range(oldest, NEWEST + 1):
            usable.update(cpython_tags((3, minor), platforms=platforms))
            usable.update(compatible_tags((3, minor), f"cp3{minor}", platforms))
    return frozenset(usable)


def is_usable(file: str, oldest: int) -> bool:
    """Return whether a supported Python installs a file of the index."""
    return file.endswith(".whl") and not tags(oldest).isdisjoint(parse_wheel_filename(file)[3])


def with_usable(block: str, files: Mapping[str, str], oldest: int) -> str:
    """Return a pin without the hashes of files that nobody installs."""
    pin, _, rest = block.partition(" \\\n")
    kept = [digest for digest in HASH.findall(rest) if is_usable(files[digest], oldest)]
    if not kept:
        raise ValueError(f"{pin}: no wheel for a supported Python")
    comments = [line for line in rest.splitlines() if "--hash=" not in line]
    hashes = " \\\n".join(f"    --hash=sha256:{digest}" for digest in kept)
    return "\n".join([f"{pin} \\", hashes, *comments, ""])


def leave_out_hashes(folder: Path) -> None:
    """Write the locks without the hashes of files that nobody installs; asks the index."""
    index = importlib.import_module("piptools.repositories").PyPIRepository([], "")
    for name, oldest in OLDEST.items():
        text = (folder / name).read_text(encoding="utf-8")
        for pin, block in pins(text):
            package, version = pin.split(" ", 1)[0].split("==")
            with index.allow_all_wheels():
                offers = index.find_all_candidates(package)
            files = {
                file.link.hash: file.link.filename
                for file in offers
                if str(file.version) == version
            }
            text = text.replace(block, with_usable(block, files, oldest))
        (folder / name).write_text(text, encoding="utf-8")


def pins(text: str) -> Iterator[tuple[str, str]]:
    """Yield each pin with its hashes, and the same with the comments after it."""
    for block in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]:
        pin = PIN.match(block)
        if pin is None:
            raise ValueError(f"not a pin with hashes: {block.splitlines()[0]}")
        yield pin[0], block


def trimmed(text: str, before: str, known: set[str]) -> str:
    """Return a lock without the pins in ``known``, and add the remaining ones to ``known``."""
    head = re.split(r"^(?=-r |[A-Za-z0-9])", text, maxsplit=1, flags=re.MULTILINE)[0]
    own = {pin: block for pin, block in pins(text) if pin not in known}
    known.update(own)
    return "".join([head, *([f"-r {before}\n"] if before else []), *own.values()])


def locks(folder: Path) -> dict[Path, str]:
    """Return the trimmed locks by their files."""
    known: set[str] = set()
    return {
        folder / name: trimmed((folder / name).read_text(encoding="utf-8"), before, known)
        for before, name in zip(("", *ORDER), ORDER, strict=False)
    }


if __name__ == "__main__":
    leave_out_hashes(CLI)
    for path, text in locks(CLI).items():
        path.write_text(text, encoding="utf-8")
