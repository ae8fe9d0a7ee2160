# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Writes a verdict as a JUnit report: one test per line, grouped by machine."""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree

from record.gate.judge import APPEARED, GREW, UNSURE, Judged
from record.gate.words import name_of, plain, sentence, where


def _xml(suites: ElementTree.Element) -> str:
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def junit(judged: Judged) -> str:
    """Return the report. A line that may have grown is a skipped test."""
    suites = ElementTree.Element("testsuites", name="schedshard record")
    if judged.whole:
        whole = ElementTree.SubElement(
            suites, "testsuite", name="program", tests="1", errors="0", skipped="0",
            failures=str(int(judged.failed)),
        )  # fmt: skip
        case = ElementTree.SubElement(whole, "testcase", classname="program", name="speed")
        if judged.failed:
            ElementTree.SubElement(case, "failure", type="slower", message=plain(judged.whole))
    for machine in dict.fromkeys(row.machine for row in judged.rows):
        rows = [row for row in judged.rows if row.machine == machine]
        counts = Counter(row.verdict for row in rows)
        suite = ElementTree.SubElement(
            suites, "testsuite", name=plain(machine), tests=str(len(rows)), errors="0",
            failures=str(counts[APPEARED] + counts[GREW]), skipped=str(counts[UNSURE]),
        )  # fmt: skip
        for row in rows:
            case = ElementTree.SubElement(
                suite, "testcase", classname=plain(machine), name=name_of(row)
            )
            if row.place is not None:
                case.set("file", plain(row.place.file))
                case.set("line", str(row.place.line))
            message = sentence(row, judged.per)
            if row.verdict in (APPEARED, GREW):
                fault = ElementTree.SubElement(case, "failure", type=row.verdict, message=message)
                fault.text = "\n".join(filter(None, (message, where(row))))
            elif row.verdict == UNSURE:
                ElementTree.SubElement(case, "skipped", message=message)
    return _xml(suites)


def junit_of_failure(program: str, message: str) -> str:
    """Return a report with one error, which says why nothing was judged."""
    suites = ElementTree.Element("testsuites", name="schedshard record")
    suite = ElementTree.SubElement(
        suites, "testsuite", name="program", tests="1", errors="1", failures="0", skipped="0"
    )
    case = ElementTree.SubElement(suite, "testcase", classname="program", name=plain(program))
    ElementTree.SubElement(case, "error", type="program", message=plain(message))
    return _xml(suites)
