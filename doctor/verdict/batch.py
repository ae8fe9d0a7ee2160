# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Outputs a verdict for monitoring, as a Nagios plugin does, and as Prometheus metrics."""

from __future__ import annotations

import io
import re
from pathlib import Path

from common.errors import UserError
from common.inputs import open_input
from doctor.judge.findings import FROM_FACTS
from doctor.judge.sampling import mute, mute_lines
from doctor.judge.severity import SEVERITIES
from doctor.judge.verdict import CANNOT_TELL, Verdict
from doctor.known.catalogue import load_catalogue
from doctor.predict.prediction import Prediction

# The statuses of Nagios plugins.
OK, WARNING, CRITICAL, UNKNOWN = 0, 1, 2, 3
_WORDS = {OK: "OK", WARNING: "WARNING", CRITICAL: "CRITICAL", UNKNOWN: "UNKNOWN"}


def nagios_status(verdict: Verdict) -> int:
    """Return a plugin's status: critical for severity high, a warning for medium."""
    if verdict.findings:
        return {"high": CRITICAL, "medium": WARNING}.get(verdict.findings[0].severity, OK)
    return UNKNOWN if verdict.status == CANNOT_TELL else OK


def nagios_line(status: int, text: str) -> str:
    """Return a plugin's first line. '/' replaces '|', which would begin the performance data."""
    return f"SCHEDSHARD {_WORDS[status]} - {text.replace('|', '/')}"


def nagios(verdict: Verdict) -> str:
    """Return a plugin's output: the sentence, performance data, then one line per finding."""
    counts = [
        f"{name}={sum(finding.severity == name for finding in verdict.findings)}"
        for name in reversed(SEVERITIES)
    ]
    rate = sum(load.wakeups for load in verdict.loads)
    data = [f"findings={len(verdict.findings)}", *counts, f"rt_wakeups={rate:.0f}"]
    if verdict.facts is not None:
        data.append(f"cost={verdict.cost.value * 100:.3g}%")
    lines = [f"{nagios_line(nagios_status(verdict), verdict.sentence)} | {' '.join(data)}"]
    for finding in verdict.findings:
        text = f"{finding.severity}: {finding.summary} [{finding.entry.id}]"
        lines.append(text.replace("|", "/"))
    return "\n".join(lines) + "\n"


def _labels(**values: str) -> str:
    labels = []
    for name, value in values.items():
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        labels.append(f'{name}="{escaped}"')
    return "{" + ",".join(labels) + "}"


def _metric(name: str, text: str, rows: list[tuple[str, float]]) -> list[str]:
    full = f"schedshard_doctor_{name}"
    head = [f"# HELP {full} {text}", f"# TYPE {full} gauge"] if rows else []
    return head + [f"{full}{labels} {value:.10g}" for labels, value in rows]


def _judged(verdict: Verdict) -> set[str]:
    """Return the judged entries. If an entry has no finding, its problem does not occur."""
    catalogue = load_catalogue()
    judged: set[str] = set()
    if verdict.facts is not None and not verdict.facts_doubted:
        judged |= FROM_FACTS
    if any(profile.functions and not mute(profile) for profile in verdict.profiles):
        judged |= {name for name, entry in catalogue.entries.items() if entry.functions}
    if any(profile.lines and not mute_lines(profile) for profile in verdict.profiles):
        judged |= {line.entry for line in catalogue.lines}
    if verdict.facts is None:
        # rd-isolated and rd-shared list the same functions: a profile cannot tell them apart.
        judged.discard("rd-isolated")
    return judged


_SEVERITY = re.compile(r'schedshard_doctor_severity\{id="([a-z0-9-]{1,60})"\} ([1-3])')


def severities(path: Path | None) -> dict[str, str]:
    """Return the severities by entry in a file of metrics, none where there is no such file."""
    try:
        with open_input(path, "metrics", 1 << 20) if path is not None else io.BytesIO() as file:
            text = file.read(1 << 20).decode("utf-8", "replace")
    except (OSError, UserError):
        return {}
    return {name: SEVERITIES[int(value) - 1] for name, value in _SEVERITY.findall(text)}


def prometheus(verdict: Verdict) -> str:
    """Return metrics in the text format of Prometheus, as a textfile collector reads them.

    An entry of the catalogue that was neither judged nor found has no severity.
    """
    judged = _judged(verdict) | {finding.entry.id for finding in verdict.findings}
    worst = {name: 0 for name in load_catalogue().entries if name in judged}
    for finding in verdict.findings:
        worst[finding.entry.id] = max(worst[finding.entry.id], finding.weight + 1)
    costs: list[tuple[str, float]] = []
    for load, cost in zip(verdict.loads, verdict.costs):
        for row in cost.rows if isinstance(cost, Prediction) else ():
            for bound in ("value", "low", "high"):
                labels = _labels(cpus=load.domain.label, variant=row.variant, bound=bound)
                share = getattr(row.share, bound)
                costs += [(labels, share)] if share is not None else []
    rates = [
        (_labels(cpus=load.domain.label, default=str(int(load.domain.default))), load.wakeups)
        for load in verdict.loads if load.known or not load.groups
    ]  # fmt: skip
    lines = _metric("verdict", "0 nothing found, 3 cannot tell, 4 findings", [("", verdict.status)])
    lines += _metric(
        "severity", "Worst finding of each judged entry: 0 none, 1 low, 2 medium, 3 high",
        [(_labels(id=name), value) for name, value in worst.items()],
    )  # fmt: skip
    lines += _metric(
        "cost_ratio",
        "Predicted share of the machine's CPU time that goes into sharing, now and after remedies",
        costs,
    )
    lines += _metric("rt_wakeups_per_second", "Real-time wake-ups per second by root domain", rates)
    return "\n".join(lines) + "\n"
