# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Applies one semantic patch to one file with spatch, and counts the places that it changed.

spatch succeeds when a rule matches nothing, and when it matches more than its author thought. So
every edit states the number of places, and another number is an error.
"""

import functools
import hashlib
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common.errors import UserError
from common.output import write_atomic
from common.programs import call, require
from kernel.layout import Layout
from kernel.source.base import load_base
from kernel.source.recipe import Edit

_HUNK = re.compile(rb"^@@ ", re.MULTILINE)
# Headers are not read, so a rule must name what it matches. A file then takes only 0.3 s.
_OPTIONS = ("--very-quiet", "--no-includes", "--in-place")


@functools.cache
def _version() -> bytes:
    require("spatch", "diff")
    return call(["spatch", "--version"], what="asking spatch for its version").splitlines()[0]


def sites(before: bytes, after: bytes) -> int:
    """Return how many separate places differ: hunks of a diff without context."""
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        old, new = Path(folder) / "old", Path(folder) / "new"
        old.write_bytes(before)
        new.write_bytes(after)
        output = call(["diff", "-U0", "--text", old, new], good=(0, 1), what="comparing two files")
    return len(_HUNK.findall(output))


# Replaces a text that spatch cannot parse. spatch leaves comments where they are.
_HIDDEN = "/*hidden-%d*/"


def _hide(text: bytes, hidden: Sequence[str]) -> bytes:
    for number, part in enumerate(hidden):
        text = text.replace(part.encode(), (_HIDDEN % number).encode())
    return text


def _restore(before: bytes, after: bytes, hidden: Sequence[str], what: str) -> bytes:
    for number, part in enumerate(hidden):
        mark = (_HIDDEN % number).encode()
        if before.count(mark) != after.count(mark):
            raise UserError(f"{what}: the rule removes '{part}', which is hidden from spatch")
        after = after.replace(mark, part.encode())
    return after


# Texts that spatch leaves behind although the rule removes them. One is the type of a declaration
# of several variables inside an #if. The other is the #if itself, whose lines spatch ignores.
_LEFT = (
    re.compile(rb"^[ \t]*int;\n", re.MULTILINE),
    re.compile(rb"^#[ \t]*if[^\n]*\n(?:[ \t]*\n)*#[ \t]*endif[^\n]*\n", re.MULTILINE),
)


# Versions of spatch differ in the space before the brace of a new function.
_OPENED = re.compile(rb"^(\w[^\n]*\))[ \t]*\{$", re.MULTILINE)
# They also differ in the space between a condition and the statement that they put on its line.
_JOINED = re.compile(rb"^(\t*)(if \([^\n]*\))[ \t]*(\w+\([^\n]*\);)$", re.MULTILINE)


def _mended(before: bytes, after: bytes) -> bytes:
    """Return spatch's result without what it leaves behind, and with its lines in Linux's form."""
    forms = ((_OPENED, b"\\1\n{"), (_JOINED, b"\\1\\2\n\\1\t\\3"))
    for form, by in (*((left, b"") for left in _LEFT), *forms):
        old = {match[0] for match in form.finditer(before)}
        new = {match[0]: match.expand(by) for match in form.finditer(after)}
        for text in new.keys() - old:
            after = after.replace(text, new[text])
    return after


def _tidied(text: bytes, change: Edit, what: str) -> bytes:
    for written, form in change.tidy:
        if (count := text.count(written.encode())) != 1:
            raise UserError(f"{what}: the result has '{written}' {count} times, 1 expected")
        text = text.replace(written.encode(), form.encode())
    return text


def _run(rule: Path, name: str, text: bytes, what: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        path = Path(folder) / name
        path.parent.mkdir(parents=True)
        path.write_bytes(text)
        call(["spatch", *_OPTIONS, "--sp-file", rule, name], cwd=Path(folder), what=what)
        return path.read_bytes()


def edit(layout: Layout, change: Edit, text: bytes, step: str) -> bytes:
    """Return the file's text after the edit.

    Raise a UserError for a wrong number of changed places. work/cache keeps the result under a hash
    of everything that it depends on.
    """
    rule = layout.inputs / "cocci" / change.cocci
    shown = layout.shown(rule)
    what = f"step {step}: {shown} on {change.file}"
    if not rule.is_file():
        raise UserError(f"step {step}: {shown} does not exist")
    hidden = [part for file, part in load_base(layout).hide if file == change.file]
    key = hashlib.sha256()
    for part in (_version(), " ".join(_OPTIONS).encode(), change.file.encode(), rule.read_bytes()):
        key.update(len(part).to_bytes(8, "little") + part)
    key.update("\0".join(hidden).encode() + b"\0")
    key.update(text)
    cached = layout.make_folder(layout.work / "cache" / "spatch") / key.hexdigest()
    if cached.is_file():
        after = cached.read_bytes()
    else:
        plain = _hide(text, hidden)
        after = _restore(plain, _run(rule, change.file, plain, what), hidden, what)
        write_atomic(cached, after)
    # These changes are not cached, because the cache's key covers only spatch and the rule.
    after = _tidied(_mended(text, after), change, what)
    count = sites(text, after)
    if count != change.sites:
        much = "too little" if count < change.sites else "too much"
        raise UserError(
            f"{what} changes {count} places, {change.sites} expected: the rule matches {much}"
        )
    return after
