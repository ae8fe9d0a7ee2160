# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs checkpatch --strict over the series; kernel/checkpatch.toml lists accepted findings."""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from common.errors import UserError
from common.output import read_toml
from common.programs import call, require
from kernel.layout import Layout
from kernel.source.base import load_base

# "kernel/sched/rt.c:12: CHECK:LINE_SPACING: Please use a blank line". A finding about the message
# has no place.
_FINDING = re.compile(
    r"^(?:(?P<file>[^:]*):(?P<line>\d+):|:)? *(?P<level>ERROR|WARNING|CHECK):"
    r"(?P<type>[A-Z0-9_]+): (?P<text>.*)$"
)


@dataclass(frozen=True)
class Finding:
    """One finding of checkpatch."""

    patch: str
    file: str
    line: int
    level: str
    type: str
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file else ""
        return f"{self.patch}: {place}{self.level.lower()} {self.type}: {self.text}"


@dataclass(frozen=True)
class Allowed:
    """Findings that may stay: a type, the files (a pattern), and the reason."""

    type: str
    file: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Whether this entry covers a finding."""
        return self.type == finding.type and fnmatch.fnmatch(finding.file, self.file)


@dataclass(frozen=True)
class Judged:
    """The findings of a series: those to fix, and those explained."""

    faults: tuple[Finding, ...]
    explained: tuple[tuple[Finding, Allowed], ...]
    unused: tuple[Allowed, ...]


def parse(text: str, patch: str) -> list[Finding]:
    """Return the findings in checkpatch's terse output."""
    findings = []
    for line in text.splitlines():
        if match := _FINDING.match(line):
            place = match["file"] or ""
            number = int(match["line"] or 0)
            findings.append(
                Finding(patch, place, number, match["level"], match["type"], match["text"])
            )
    return findings


def load_allowed(layout: Layout) -> tuple[Allowed, ...]:
    """Return the entries of kernel/checkpatch.toml for this Linux. Every entry needs a reason."""
    path = layout.inputs / "checkpatch.toml"
    if not path.is_file():
        return ()
    entries = read_toml(path).get("allow", [])
    linux = load_base(layout).linux
    allowed = []
    for number, entry in enumerate(entries, 1):
        if set(entry) - {"linux"} != {"type", "file", "reason"} or not all(
            isinstance(value, str) and value for value in entry.values()
        ):
            raise UserError(f"{layout.shown(path)}: allow {number} needs type, file and reason")
        if entry.get("linux", linux) == linux:
            allowed.append(Allowed(entry["type"], entry["file"], entry["reason"]))
    return tuple(allowed)


def judge(findings: Sequence[Finding], allowed: Sequence[Allowed]) -> Judged:
    """Separate the faults from the findings that an entry allows.

    An entry that covers nothing is unused.
    """
    faults: list[Finding] = []
    explained: list[tuple[Finding, Allowed]] = []
    used: set[Allowed] = set()
    for finding in findings:
        entry = next((entry for entry in allowed if entry.covers(finding)), None)
        if entry is None:
            faults.append(finding)
        else:
            explained.append((finding, entry))
            used.add(entry)
    unused = tuple(entry for entry in allowed if entry not in used)
    return Judged(tuple(faults), tuple(explained), unused)


def checkpatch(layout: Layout, patches: Sequence[Path], *, signed: bool = False) -> Judged:
    """Run the base's checkpatch over the patches, and return its findings, judged."""
    require("perl")
    script = layout.base / "scripts" / "checkpatch.pl"
    options: tuple[str, ...] = (
        "--strict", "--terse", "--show-types", "--showfile", "--no-summary", "--color=never",
    )  # fmt: skip
    if not signed:
        options += ("--no-signoff",)
    findings: list[Finding] = []
    for patch in patches:
        argv = [str(script), *options, str(patch)]
        output = call(argv, cwd=layout.base, good=(0, 1), what=f"checkpatch of {patch.name}")
        findings += parse(output.decode("utf-8", "replace"), patch.name)
    judged = judge(findings, load_allowed(layout))
    # A send has only some of the findings.
    return replace(judged, unused=()) if layout.send else judged
