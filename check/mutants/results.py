# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verdicts on mutants: kept in a file while a run is under way, and reported at its end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from settings import Survivor
from sites import Mutant


@dataclass(frozen=True)
class Verdict:
    """The kind is killed, survived or unbuilt; ``how`` names the test or the error."""

    kind: str
    how: str

    def __str__(self) -> str:
        return f"{self.kind} ({self.how})" if self.how else self.kind


class Results:
    """The file of results: the first line is the project's fingerprint, each other a verdict."""

    def __init__(self, path: Path, state: str) -> None:
        self.path = path
        self.sound: set[str] = set()  # groups whose tests pass without a mutant
        self.verdicts: dict[str, Verdict] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if not lines or lines[0] != state:
            path.write_text(f"{state}\n", encoding="utf-8")
            return
        for line in lines[1:]:
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                break  # the last line, if a run was interrupted
            if entry["kind"] == "sound":
                self.sound.add(entry["group"])
            else:
                self.verdicts[entry["mutant"]] = Verdict(entry["kind"], entry["how"])

    def _append(self, entry: Mapping[str, str]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def keep_sound(self, groups: Sequence[str]) -> None:
        """Remember that the tests of some groups pass without a mutant."""
        self.sound.update(groups)
        for group in groups:
            self._append({"kind": "sound", "group": group})

    def keep(self, name: str, verdict: Verdict) -> None:
        """Remember the verdict on one mutant."""
        self.verdicts[name] = verdict
        self._append({"mutant": name, "kind": verdict.kind, "how": verdict.how})


def reason_for(mutant: Mutant, survivors: Sequence[Survivor]) -> Survivor | None:
    """Return the known survivor that describes a mutant, if there is one."""
    for entry in survivors:
        if (entry.path, entry.function) == (mutant.path, mutant.function) and entry.change in (
            mutant.change,
            f"{mutant.change} #{mutant.number}",
        ):
            return entry
    return None


def report(
    mutants: Sequence[Mutant], verdicts: Mapping[str, Verdict], survivors: Sequence[Survivor]
) -> int:
    """Print a table and all survivors; return the exit status."""
    files: dict[tuple[str, str], Counter[str]] = {}
    unexplained, explained, stale = [], [], []
    killed_entries = set()
    needed_entries = set()
    for mutant in mutants:
        verdict = verdicts[mutant.name]
        entry = reason_for(mutant, survivors)
        files.setdefault((mutant.group, mutant.path), Counter())[verdict.kind] += 1
        if verdict.kind == "survived":
            if entry:
                explained.append((mutant, entry))
                needed_entries.add(entry)
            else:
                unexplained.append(mutant)
        elif entry:
            killed_entries.add(entry)
    stale = [entry for entry in survivors if entry in killed_entries - needed_entries]
    print(f"{'':10}{'file':32}{'killed':>8}{'survived':>10}{'unbuilt':>9}")
    for (group, path), count in files.items():
        print(f"{group:10}{path:32}{count['killed']:8}{count['survived']:10}{count['unbuilt']:9}")
    for mutant, entry in explained:
        print(f"survived, {mutant.path}:{mutant.line} {mutant.change}: {entry.reason}")
    for mutant in unexplained:
        print(f"survived WITHOUT A REASON, {mutant.path}:{mutant.line} {mutant.name}")
    for entry in stale:
        print(
            f"is killed, and listed as a survivor: {entry.path} {entry.function}() {entry.change}"
        )
    print(
        f"{len(mutants)} mutants, {sum(c['killed'] for c in files.values())} killed, "
        f"{len(explained)} survived with a reason, {len(unexplained)} without"
    )
    return 1 if unexplained or stale else 0
