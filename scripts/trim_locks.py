# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Leave out of a lock what the lock before it pins: run in cli/ after pip-compile.

A trimmed lock begins with ``-r`` and the lock before it, so that pip installs both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

CLI = Path(__file__).resolve().parent.parent / "cli"
ORDER = ("requirements.lock", "requirements-sweep.lock", "requirements-dev.lock")
PIN = re.compile(r"[A-Za-z0-9].*?==\S+ \\\n(?:    --hash=\S+(?: \\)?\n)+")


def pins(text: str) -> Iterator[tuple[str, str]]:
    """Yield each pin with its hashes, and the same with the comments after it."""
    for block in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]:
        pin = PIN.match(block)
        if pin is None:
            raise ValueError(f"not a pin with hashes: {block.splitlines()[0]}")
        yield pin[0], block


def trimmed(text: str, before: str, known: set[str]) -> str:
    """Return a lock without what is known, which adds its pins to that."""
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
    for path, text in locks(CLI).items():
        path.write_text(text, encoding="utf-8")
