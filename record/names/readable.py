# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Demangles names of C++ and Rust, and shortens them."""

import re
import subprocess
from collections.abc import Iterable

_MANGLED = re.compile(r"_[ZR][\w.$]+", re.ASCII)
_LONGEST = 10_000  # characters of a name that is worth shortening
# What Rust adds so that names differ: a hash at the end, and one after the crate's name.
_HASH = re.compile(r"::h[0-9a-f]{16}$|\[[0-9a-f]{8,16}\]")


def readable(names: Iterable[str]) -> dict[str, str]:
    """Return the mangled ones among these names, with readable names; none without c++filt."""
    mangled = sorted({name for name in names if _MANGLED.fullmatch(name)})
    if not mangled:
        return {}
    try:
        done = subprocess.run(
            ["c++filt", "-p"], input="".join(f"{name}\n" for name in mangled), capture_output=True,
            text=True, check=False,
        )  # fmt: skip
    except OSError:
        return {}
    return {
        name: short(plain)
        for name, plain in zip(mangled, done.stdout.splitlines(), strict=False)
        if len(plain) <= _LONGEST
    }


def short(name: str) -> str:
    """Return a name without template arguments; '<T as Trait>::f' becomes 'T::f'."""
    depth, kept = 0, []
    if name.startswith("<") and name.count("<") < 100:
        end = next((i for i in range(len(name)) if _depth(name[: i + 1]) == 0), None)
        if end is not None:
            return short(name[1:end].split(" as ")[0]) + short(name[end + 1 :])
    for at, letter in enumerate(name):
        if letter == "<" and "operator" not in name[max(0, at - 9) : at]:
            depth += 1
        if not depth:
            kept.append(letter)
        if letter == ">" and depth and name[at - 1] != "-":
            depth -= 1
    return _HASH.sub("", "".join(kept))


def _depth(text: str) -> int:
    """Return how many angle brackets of a text are open."""
    return text.count("<") - text.count(">") + text.count("->")
