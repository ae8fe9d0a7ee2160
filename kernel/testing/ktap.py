# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Parses KTAP from a serial line, nested, between other messages, or cut off anywhere.

The library tap.py parses single lines of TAP. This file adds what KTAP and the console change: time
stamps stand before each line, and indentation nests tests. One log has several reports (KUnit's at
boot, the guest's own after it) with kernel messages in between. The log may end in the middle of a
line. A test counts only if its result line exists. Announced tests without a result are reported as
unfinished.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from tap.line import Bail, Plan, Result
from tap.parser import Parser

# "[    1.234567] ", in some configurations followed by the caller as "[    T1] ".
_STAMP = re.compile(r"\[\s*\d+\.\d{6}\](?:\[\s*[TC]\d+\])? ?")
_VERSION = re.compile(r"(?:K?TAP) version \d+\s*$", re.ASCII)
_SUBTEST = re.compile(r"# Subtest: (.+)$")
_RESULT = re.compile(r"(?:not )?ok \d{1,9}(?:\s|$)", re.ASCII)
_PLAN = re.compile(r"1\.\.(\d{1,6})(?:\s|$)", re.ASCII)
# More missing tests than this are counted, not listed.
_LISTED = 1000


class Status(Enum):
    """The outcome of a test."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNFINISHED = "unfinished"


@dataclass
class Test:
    """One test, with the tests inside it."""

    name: str
    status: Status
    reason: str = ""  # after '#' in its line
    children: list[Test] = field(default_factory=list)
    line: int = 0  # of its result, from 1; 0: none

    def leaves(self, above: str = "") -> Iterator[tuple[str, Test]]:
        """Yield the tests that contain no others, with their full names.

        Also yield tests whose own result is worse than those inside: a suite may fail in its
        clean-up, or lose its last line.
        """
        name = f"{above}.{self.name}" if above else self.name
        bad = (Status.FAILED, Status.UNFINISHED)
        if self.status is Status.UNFINISHED or not any(
            self.status not in bad or child.status in bad for child in self.children
        ):
            yield name, self
        for child in self.children:
            yield from child.leaves(name)


@dataclass
class Report:
    """One KTAP report of a log."""

    tests: list[Test] = field(default_factory=list)
    bail: str = ""
    line: int = 0

    def leaves(self) -> Iterator[tuple[str, Test]]:
        """Yield the tests that count, with their full names."""
        for test in self.tests:
            yield from test.leaves()


@dataclass
class _Level:
    """An open list of tests at one indentation."""

    indent: int
    name: str = ""
    planned: int | None = None
    tests: list[Test] = field(default_factory=list)


def strip_stamp(line: str) -> str:
    """Return a line without the kernel's time stamp."""
    match = _STAMP.match(line)
    return line[match.end() :] if match else line


def _cut(text: str) -> str:
    """Return a line up to where another writer's time stamp interrupts it."""
    match = _STAMP.search(text)
    return text[: match.start()].rstrip() if match else text.rstrip()


class _Reader:
    """The parser's state between lines."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self._levels: list[_Level] = []
        self._parser = Parser()

    def line(self, number: int, raw: str) -> None:
        text = strip_stamp(raw.expandtabs(8))
        indent = len(text) - len(text.lstrip(" "))
        text = _cut(text[indent:])
        if _VERSION.match(text):
            self._open(indent, number)
        elif self._levels:
            if match := _SUBTEST.match(text):
                self._name(indent, match[1])
            elif _PLAN.match(text) or _RESULT.match(text) or text.startswith("Bail out!"):
                self._report_line(number, indent, text)

    def _open(self, indent: int, number: int) -> None:
        if indent == 0:
            self._end_report()
            self.reports.append(Report(line=number))
            self._levels = [_Level(0)]
        elif self._levels:
            # An open level at this depth or deeper has lost its result line.
            self._close_from(indent)
            self._levels.append(_Level(indent))

    def _name(self, indent: int, name: str) -> None:
        level = self._levels[-1]
        if level.indent != indent and indent > level.indent:
            # Older reports have no version line for nested tests.
            level = _Level(indent)
            self._levels.append(level)
        if level.indent == indent and not level.name:
            level.name = name

    def _report_line(self, number: int, indent: int, text: str) -> None:
        parsed = self._parser.parse_line(text)
        if isinstance(parsed, Bail):
            self.reports[-1].bail = parsed.reason or "no reason given"
            return
        if not any(level.indent == indent for level in self._levels):
            return
        if isinstance(parsed, Plan):
            if self._levels[-1].indent == indent and self._levels[-1].planned is None:
                self._levels[-1].planned = parsed.expected_tests
        elif isinstance(parsed, Result):
            self._result(number, indent, parsed)

    def _result(self, number: int, indent: int, parsed: Result) -> None:
        self._close_from(indent, keep=1)
        children: list[Test] = []
        if self._levels[-1].indent > indent:
            children = _finished(self._levels.pop())
        directive = parsed.directive
        if parsed.ok and directive.skip:
            status = Status.SKIPPED
        else:
            status = Status.PASSED if parsed.ok else Status.FAILED
        name = parsed.description.removeprefix("- ") or f"test {parsed.number}"
        self._levels[-1].tests.append(Test(name, status, directive.text or "", children, number))

    def _close_from(self, indent: int, keep: int = 0) -> None:
        """Close the open levels at ``indent`` and deeper, innermost first, as unfinished tests.

        With ``keep`` = 1 the level directly inside ``indent`` stays open for its result line.
        """
        while len(self._levels) > 1 and self._levels[-1].indent >= indent:
            above = self._levels[-2]
            if keep and (self._levels[-1].indent == indent or above.indent <= indent):
                return
            level = self._levels.pop()
            name = level.name or f"test {len(above.tests) + 1}"
            above.tests.append(Test(name, Status.UNFINISHED, children=_finished(level)))

    def _end_report(self) -> None:
        if not self._levels:
            return
        self._close_from(1)
        top = self._levels[0]
        self.reports[-1].tests = _finished(top)
        self._levels = []

    def end(self) -> list[Report]:
        self._end_report()
        return self.reports


def _finished(level: _Level) -> list[Test]:
    """Return the tests of a level, with those that its plan announced but that are missing."""
    missing = (level.planned or 0) - len(level.tests)
    if missing <= 0:
        return level.tests
    first = len(level.tests) + 1
    names = [f"test {n}" for n in range(first, first + min(missing, _LISTED))]
    if missing > _LISTED:
        names.append(f"{missing - _LISTED} more tests")
    return [*level.tests, *(Test(name, Status.UNFINISHED) for name in names)]


def parse_ktap(lines: Iterable[str]) -> list[Report]:
    """Return all reports of a log, in order. Any text is accepted; most texts have no report."""
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        reader.line(number, line)
    return reader.end()
