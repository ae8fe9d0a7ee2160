# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds out whether a kernel has a hot line and its fix.

For Linus' tree and stable series the version decides. But distributors add commits of later
versions. So the symbols, types and files that the collector saw come first. kernels.toml contains
what is known about the distributors' kernels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from common.output import toml_of
from doctor.facts.facts import Facts
from doctor.facts.values import release
from doctor.known.catalogue import Entry

FILE = files("doctor.known") / "kernels.toml"
# For each kind of sign: its list in the facts, a name in it that all kernels have, and a noun.
_LISTS = {
    "kallsyms": ("proc/kallsyms", "schedule", "symbols"),
    "btf": ("sys/kernel/btf/vmlinux", "task_struct", "types"),
}


@dataclass(frozen=True)
class KernelLine:
    """A distributor's series of kernels; kernels.toml explains each key."""

    id: str
    name: str
    release: str
    build: str
    follows: bool
    look: str
    source: list[str]


@dataclass(frozen=True)
class KernelFact:
    """What is known about an entry of the catalogue in a series of kernels."""

    line: str
    entry: str
    says: str
    source: str


@dataclass(frozen=True)
class Sign:
    """A name by which a running kernel shows that it has an entry's hot line or fix."""

    entry: str
    where: str
    names: list[str]
    means: str
    source: str


@dataclass(frozen=True)
class Kernels:
    """The content of kernels.toml."""

    lines: tuple[KernelLine, ...]
    facts: tuple[KernelFact, ...]
    signs: tuple[Sign, ...]

    def statement(self, line: KernelLine | None, entry: str) -> str:
        """Return what is known about an entry in a series of kernels, or ""."""
        return "; ".join(
            f"{fact.says} ({fact.source})" for fact in self.facts
            if line is not None and fact.line == line.id and fact.entry == entry
        )  # fmt: skip


@dataclass(frozen=True)
class State:
    """Whether a kernel has a hot line and its fix, and why. None: not known."""

    has: bool | None
    fixed: bool | None
    why: str


@cache
def load_kernels() -> Kernels:
    """Return the content of kernels.toml."""
    raw = toml_of(FILE.read_text(encoding="utf-8"))
    return Kernels(
        tuple(KernelLine(**line) for line in raw["line"]),
        tuple(KernelFact(**fact) for fact in raw["fact"]),
        tuple(Sign(**sign) for sign in raw["sign"]),
    )


def line_of(facts: Facts) -> KernelLine | None:
    """Return the distributor's series that a host's kernel belongs to, or None if unknown."""
    for line in load_kernels().lines:
        named = re.match(line.release, facts.release) if line.release else None
        built = re.search(line.build, facts.build) if line.build else None
        if named is not None or built is not None:
            return line
    return None


def shows(facts: Facts, sign: Sign) -> bool | None:
    """Whether a kernel shows a sign, or None if the collector could not look."""
    if sign.where == "settings":
        folder = sign.names[0].rpartition("/")[0]
        if not any(key.startswith(f"{folder}/") for key in facts.settings):
            return None
        return any(name in facts.settings for name in sign.names)
    path, always, _ = _LISTS[sign.where]
    held = facts.settings.get(path, "").split()
    return None if always not in held else any(name in held for name in sign.names)


def _place(sign: Sign) -> str:
    kind = "files" if sign.where == "settings" else _LISTS[sign.where][2]
    return f"its {kind} have {'' if len(sign.names) == 1 else 'one of '}{', '.join(sign.names)}"


def _by_signs(entry: Entry, facts: Facts) -> tuple[bool | None, bool | None, list[str]]:
    """Return whether the kernel's signs show the hot line and the fix, and why, as text."""
    has = fixed = None
    words = []
    for sign in load_kernels().signs:
        shown = shows(facts, sign) if sign.entry == entry.id else None
        if shown is None:
            continue
        place = _place(sign) if shown else _place(sign).replace(" have ", " lack ", 1)
        if sign.means == "fix":
            fixed = shown
            state = "has the fix" if shown else "does not have the fix"
            words.append(f"the kernel {state}, commit {entry.fixed_by}: {place}")
        elif not shown:
            has = False
            words.append(f"the kernel does not have this hot line: {place}")
        else:
            has = True
    return has, fixed, words


def hint(entry: Entry, look: str) -> str:
    """Return how to find out whether a kernel has the fix of an entry; ``look`` is a command."""
    places = [
        f"{name} in /{_LISTS[sign.where][0]}" if sign.where in _LISTS else f"/{name}"
        for sign in load_kernels().signs if sign.entry == entry.id and sign.means == "fix"
        for name in sign.names
    ]  # fmt: skip
    or_names = f", or for {', '.join(places)}" if places else ""
    return f"a backport may have fixed this: look for commit {entry.fixed_by} ({look}){or_names}"


def _by_version(entry: Entry, facts: Facts, line: KernelLine | None) -> tuple[bool | None, str]:
    """Return whether a kernel has the fix according to its version, and why, as text."""
    number = ".".join(map(str, facts.version))
    fix = f"the fix, commit {entry.fixed_by}"
    if not entry.fixed_in:
        return False, ""
    if entry.fixed(facts.version):
        return True, f"{number} has {fix}" + (f": {entry.remains}" if entry.remains else "")
    if line is None:
        return False, f"{number} is older than {fix}, unless the distributor added it"
    series = {backport[:2] for backport in map(release, entry.backports) if backport is not None}
    # Without its signature Ubuntu's 6.8.0 may be any 6.8.
    if line.follows and facts.version[2] > 0 and facts.version[:2] in series:
        return False, f"{number} of {line.name} is older than {fix}"
    return None, f"{line.name}: {hint(entry, line.look)}"


def state_of(entry: Entry, facts: Facts) -> State:
    """Return whether a host's kernel has a hot line and its fix."""
    line = line_of(facts)
    has, fixed, words = _by_signs(entry, facts)
    if has is None:
        since = release(entry.since)
        older = since is not None and facts.version < since
        has = True if not older else None if line is not None and not line.follows else False
    if fixed is None:
        fixed, state = _by_version(entry, facts, line)
        words += [state] if state else []
    if fixed is not True and (known := load_kernels().statement(line, entry.id)):
        words.append(known)
    return State(has, fixed, "; ".join(words))
