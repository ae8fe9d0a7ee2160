# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Computes the changes of a list of steps in memory: path to new content, or to None if removed.

All changes are computed before any file is written, so a step that fails changes no tree.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from common.errors import UserError, os_reason
from kernel.layout import Layout
from kernel.source.recipe import Replace, Step
from kernel.source.spatch import edit

Delta = dict[str, bytes | None]


class _Tree:
    """The base with the changes of the steps so far."""

    def __init__(self, layout: Layout, step: Step, delta: Mapping[str, bytes | None]) -> None:
        self.layout = layout
        self.step = step
        self.delta: Delta = dict(delta)
        self.ours: set[str] = set()  # files that this step adds

    def fail(self, words: str) -> UserError:
        return UserError(f"step {self.step.name}: {words}")

    def exists(self, path: str) -> bool:
        if path in self.delta:
            return self.delta[path] is not None
        return (self.layout.base / path).is_file()

    def read(self, path: str, why: str) -> bytes:
        if path in self.delta:
            content = self.delta[path]
        else:
            file = self.layout.base / path
            content = file.read_bytes() if file.is_file() else None
        if content is None:
            raise self.fail(f"{why} {path}, which the base does not contain")
        return content

    def add(self, source: Path, path: str) -> None:
        """Add a file of the project.

        It may replace a file added earlier, or one of the base that was removed.
        """
        if path not in self.delta and (self.layout.base / path).exists():
            raise self.fail(
                f"{self.layout.shown(source)} would replace {path}, which is in the kernel source: "
                "change that file by a semantic patch instead"
            )
        try:
            self.delta[path] = self._credited(path, source.read_bytes())
            self.ours.add(path)
        except OSError as error:
            raise self.fail(
                f"cannot read {self.layout.shown(source)}: {os_reason(error)}"
            ) from error

    def _credited(self, path: str, content: bytes) -> bytes:
        """Return a file of the project that replaces one of the base, with that file's head.

        The base's licence line stays, and so does its opening comment up to the last line that
        names a copyright or an author.
        """
        base = self.layout.base / path
        head = _head(base.read_bytes()) if base.is_file() else b""
        if not head:
            return content
        rest = content.partition(b"\n")[2]
        if head.count(b"\n") > 1:
            rest = b" *\n" + rest[3:] if rest.startswith(b"/*\n") else b" */\n" + rest
        return head + rest


_CREDIT = re.compile(rb"\b(?:Copyright|Authors?)\b")


def _head(text: bytes) -> bytes:
    """Return a file's licence line, and its opening comment up to the last line of credits."""
    lines = text.splitlines(keepends=True)
    if not lines or b"SPDX-License-Identifier:" not in lines[0]:
        return b""
    end = 1
    if lines[1:2] == [b"/*\n"]:
        for number, line in enumerate(lines[1:], 2):
            if b"*/" in line:
                break
            if _CREDIT.search(line):
                end = number
    return b"".join(lines[:end])


def _replaced(tree: _Tree, swap: Replace) -> bytes:
    if swap.file not in tree.ours and (tree.layout.base / swap.file).exists():
        raise tree.fail(f"{swap.file} is in the base: change it by a semantic patch")
    text = tree.read(swap.file, f"replaces '{swap.text}' in")
    if (count := text.count(swap.text.encode())) != swap.sites:
        raise tree.fail(f"{swap.file} has '{swap.text}' {count} times, {swap.sites} expected")
    return text.replace(swap.text.encode(), swap.by.encode())


def apply_step(layout: Layout, step: Step, before: Mapping[str, bytes | None]) -> Delta:
    """Return the changes against the base after one more step."""
    tree = _Tree(layout, step, before)
    for path in step.remove:
        tree.read(path, "removes")
        tree.delta[path] = None
    for source, path in step.copy:
        tree.add(layout.project / source, path)
    for path in step.overlay:
        tree.add(layout.inputs / "overlay" / path, path)
    for append in step.append:
        text = tree.read(append.file, "appends to")
        lines = "".join(f"{line}\n" for line in append.lines).encode()
        if lines in text:
            raise tree.fail(f"{append.file} already contains the lines that are to be appended")
        tree.delta[append.file] = text + (b"" if text.endswith(b"\n") else b"\n") + lines
    for swap in step.replace:
        tree.delta[swap.file] = _replaced(tree, swap)
    for change in step.edits:
        text = tree.read(change.file, f"{change.cocci} edits")
        tree.delta[change.file] = edit(layout, change, text, step.name)
    return tree.delta


def deltas(layout: Layout, steps: Sequence[Step]) -> list[Delta]:
    """Return the changes against the base after each of the steps."""
    deltas: list[Delta] = []
    for step in steps:
        deltas.append(apply_step(layout, step, deltas[-1] if deltas else {}))
    return deltas
