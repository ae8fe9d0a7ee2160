# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compares one host at two times: what changed, and whether the predicted gain was reached.

The cost is predicted at both times. The wake-ups and the busy time of the CPUs are measured. If
both archives contain these figures, the sentence gives the measured change of the CPU time per
wake-up, and the change that the remedy was predicted to make.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from common.paths import VERSION
from doctor.facts.archive import read_tar
from doctor.facts.facts import Facts, read_facts
from doctor.fleet.host import machine_of
from doctor.judge.finding import per_second
from doctor.judge.predictions import share_words, spread
from doctor.judge.verdict import FOUND, NOTHING, Verdict, judge
from doctor.predict.prediction import Prediction, Range, total
from doctor.predict.shape import PARTITION, PIN
from model.machines.topo import ranges

FORMAT = "schedshard-doctor-diff/1"
# A smaller change of the cost, as a share of the machine's CPU time, does not count.
_LEAST = 0.001


@dataclass(frozen=True)
class Change:
    """One thing that differs."""

    what: str
    before: str
    after: str


@dataclass(frozen=True)
class Diff:
    """Two verdicts on one host, and what differs between them."""

    before: Verdict
    after: Verdict
    changes: tuple[Change, ...]
    doubts: tuple[str, ...]
    promised: Range
    gain: str

    @property
    def status(self) -> int:
        """Return 4 when a finding is new or the cost is higher, else 0."""
        old = {finding.entry.id for finding in self.before.findings}
        new = any(finding.entry.id not in old for finding in self.after.findings)
        dearer = self.after.cost.value > self.before.cost.value + _LEAST
        return FOUND if new or dearer else NOTHING

    @property
    def sentence(self) -> str:
        """Return how the cost changed, in sentences."""
        return (
            f"Sharing costs {share_words(self.after.cost)} of the machine's CPU time now, and cost "
            f"{share_words(self.before.cost)} before (both predicted). {self.gain}"
        )


def _domains(verdict: Verdict) -> set[str]:
    return {
        f"{load.domain.label}{' (def_root_domain)' if load.domain.default else ''}"
        for load in verdict.loads
    }


def _partitions(facts: Facts) -> dict[str, str]:
    return {
        cpuset.path: f"{cpuset.partition}{'' if cpuset.valid else ' invalid'}"
        for cpuset in facts.cpusets.preorder() if cpuset.partition != "member"
    }  # fmt: skip


def _few(names: Iterable[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - 6} more" if len(listed) > 6 else ""
    return f"{', '.join(listed[:6])}{more}" or "none"


def _changes(before: Verdict, after: Verdict, old: Facts, new: Facts) -> list[Change]:
    def pair(what: str, first: str, second: str) -> list[Change]:
        return [Change(what, first or "none", second or "none")] if first != second else []

    words_old, words_new = set(old.cmdline), set(new.cmdline)
    parts_old, parts_new = _partitions(old), _partitions(new)
    kinds = set(parts_old.items()) ^ set(parts_new.items())
    places = {path for path, _ in kinds}
    domains_old, domains_new = _domains(before), _domains(after)
    found_old = {f"{finding.entry.id} ({finding.severity})" for finding in before.findings}
    found_new = {f"{finding.entry.id} ({finding.severity})" for finding in after.findings}
    rates = [sum(load.wakeups for load in verdict.loads) for verdict in (before, after)]
    changes = [
        *pair("kernel", old.release, new.release),
        *pair("boot options", _few(words_old - words_new), _few(words_new - words_old)),
        *pair("online CPUs", ranges(sorted(old.online)), ranges(sorted(new.online))),
        *pair("isolated CPUs", ranges(sorted(old.isolated)), ranges(sorted(new.isolated))),
        *pair(
            "partitions",
            _few(f"{path} {kind}" for path, kind in parts_old.items() if path in places),
            _few(f"{path} {kind}" for path, kind in parts_new.items() if path in places),
        ),
        *pair("root domains", _few(domains_old - domains_new), _few(domains_new - domains_old)),
        *pair("findings", _few(found_old - found_new), _few(found_new - found_old)),
        *pair("RT wake-ups per second", *map(per_second, rates)),
    ]
    if before.cost != after.cost:
        changes.append(Change("cost", share_words(before.cost), share_words(after.cost)))
    return changes


def _promised(verdict: Verdict) -> Range:
    """Return the cost that this verdict predicts for the machine with the remedies."""
    rows = []
    for cost in verdict.costs:
        if isinstance(cost, Prediction):
            best = cost.row(PARTITION, PIN)
            rows.append(cost.now.share if best is None else best.share)
    return total(rows)


def busy_ns(facts: Facts, verdict: Verdict) -> float | None:
    """Return the busy time of all CPUs per wake-up in ns, or None if it was not collected."""
    rate = sum(load.wakeups for load in verdict.loads)
    if rate < 1 or not facts.online <= facts.busy.keys():
        return None
    return sum(facts.busy[cpu] for cpu in facts.online) * 1e9 / rate


def _gain(before: Verdict, after: Verdict, old: Facts, new: Facts, promised: Range) -> str:
    """Return in sentences whether the predicted gain was reached, and what was measured."""
    dropped = before.cost.value - after.cost.value
    if dropped <= _LEAST:
        return "Nothing was gained."
    came = "this was reached"
    if not after.cost.meets(promised):
        less = after.cost.value < promised.value
        came = "the cost is even lower now" if less else "this was not reached"
    words = f"Partitions were predicted to leave {share_words(promised)}: {came}."
    first, second = busy_ns(old, before), busy_ns(new, after)
    if first is None or second is None:
        return f"{words} Nothing was measured: an archive does not say how busy the CPUs were."
    rate = sum(load.wakeups for load in before.loads)
    per_wakeup = dropped * len(old.online) / rate * 1e9
    return (
        f"{words} Measured: CPU time per wake-up went from {first / 1000:,.1f} to "
        f"{second / 1000:,.1f} us, including the threads' own work; the predicted drop was "
        f"{per_wakeup / 1000:,.1f} us."
    )


def compare(before: Path, after: Path) -> Diff:
    """Compare two archives of a host."""
    old, new = (read_facts(read_tar(path), str(path)) for path in (before, after))
    first, second = judge(str(before), old, []), judge(str(after), new, [])
    promised = _promised(first)
    doubts = []
    if machine_of(old) != machine_of(new):
        doubts.append(f"these may be two hosts: {machine_of(old)}, and {machine_of(new)}")
    return Diff(
        first, second, tuple(_changes(first, second, old, new)), tuple(doubts), promised,
        _gain(first, second, old, new, promised),
    )  # fmt: skip


def diff_parts(diff: Diff) -> list[RenderableType]:
    """Return the screen as parts below each other."""
    parts: list[RenderableType] = [Text(diff.sentence, style="bold"), Text("")]
    for change in diff.changes:
        line = Text(f"{change.what}: ", style="bold")
        line.append(f"{change.before} -> {change.after}", style="not bold")
        parts.append(line)
    if not diff.changes:
        parts.append(Text("nothing changed"))
    return parts + [Text(f"in doubt: {doubt}") for doubt in diff.doubts]


def diff_data(diff: Diff) -> dict[str, Any]:
    """Return the comparison as JSON data."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "before": diff.before.source,
        "after": diff.after.source,
        "exit_status": diff.status,
        "sentence": diff.sentence,
        "cost_before": spread(diff.before.cost),
        "cost_after": spread(diff.after.cost),
        "cost_promised": spread(diff.promised),
        "changes": [vars(change) for change in diff.changes],
        "doubts": list(diff.doubts),
    }
