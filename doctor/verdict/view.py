# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows a verdict's sentence, findings (worst first) and root domains on a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from common.paths import typed
from common.show.sheet import Sheet
from doctor.facts.values import cut_ids
from doctor.judge.finding import Finding, count_of, per_second
from doctor.judge.predictions import percent, prediction_words
from doctor.judge.verdict import Verdict
from doctor.predict.prediction import Prediction, Unpredicted
from model.machines.topo import ranges

_COLOURS = {"high": "bold red", "medium": "bold yellow", "low": "bold cyan"}
_DOMAINS_SHOWN = 12
_FINDINGS_SHOWN = 20


def _machine(verdict: Verdict) -> RenderableType:
    facts = verdict.facts
    if facts is None:
        kinds = ", ".join(f"{profile.kind} ({profile.source})" for profile in verdict.profiles)
        return Text(f"judged: {kinds}; no machine", style="dim")
    threads = sum(not thread.stopper for thread in facts.threads)
    cpus, caches = count_of(len(facts.online), "CPU"), count_of(len(facts.llcs), "last-level cache")
    return Text(
        f"{verdict.source}: Linux {facts.release}, {cpus}, {caches}, "
        f"{threads} real-time and deadline threads, observed for {facts.seconds:.1f} s",
        style="dim",
    )


def _finding(number: int, finding: Finding) -> list[RenderableType]:
    """Return a finding as paragraphs. The verdict's sentence is the first finding's summary."""
    head = Text(f"{number}. ")
    head.append(finding.severity.upper(), style=_COLOURS[finding.severity])
    head.append(f"  {finding.entry.title}", style="bold")
    head.append(f"  [{finding.entry.id}]")
    body: list[RenderableType] = [Text(f"{finding.summary}.")] if number > 1 else []
    for evidence in finding.evidence:
        line = Text(f"- {evidence.where}: ", style="dim")
        line.append(cut_ids(evidence.value), style="not dim")
        body.append(line)
    body += _predicted(finding)
    entry = finding.entry
    if entry.fix:
        body.append(Text(f"fixed: {entry.fix}"))
    if not entry.verified:
        body.append(Text("not verified: no published measurement of this was found"))
    body.append(Text(f"what helps: {finding.remedy}"))
    command = Text("run: ")
    command.append(finding.command, style="bold")
    body.append(command)
    body.append(Text(f"more: {typed(f'doctor explain {entry.id}')}", style="dim"))
    return [Text(""), head, *(Padding(part, (0, 0, 0, 3)) for part in body)]


def _predicted(finding: Finding) -> list[RenderableType]:
    """Return lines on the cost now and with each remedy, or on why it is unknown."""
    predicted = finding.predicted
    if isinstance(predicted, Prediction):
        head, *rows = prediction_words(predicted)
        return [Text(head), *(Padding(Text(row), (0, 0, 0, 2)) for row in rows)]
    if isinstance(predicted, Unpredicted):
        return [Text(f"cannot tell what it costs here: {predicted.why}")]
    return []


def domains_sheet(verdict: Verdict, title: str, shown: int | None = None) -> Sheet:
    """Return the table of root domains, of at most ``shown`` rows."""
    numbers = ("CPUs", "RT wake-ups/s", "groups", "LLCs", "cost")
    made = Sheet(title, "CPU numbers", *numbers, "why", right=numbers)
    for load, cost in list(zip(verdict.loads, verdict.costs))[:shown]:
        kind = "def_root_domain: " if load.domain.default else ""
        made.add_row(
            ranges(sorted(load.domain.cpus)), str(len(load.domain.cpus)),
            per_second(load.wakeups) if load.known or not load.groups else "?",
            str(len(load.apart)), str(load.llcs) if load.groups else "",
            percent(cost.now.share.value) if isinstance(cost, Prediction) else "",
            cut_ids(f"{kind}{load.domain.because}"),
        )  # fmt: skip
    hidden = len(verdict.loads) - len(made.rows)
    if hidden > 0:
        made.caption = f"and {hidden} more: --json lists all"
    return made


def verdict_parts(verdict: Verdict) -> list[RenderableType]:
    """Return the screen as parts below each other."""
    parts: list[RenderableType] = [Text(verdict.sentence, style="bold"), _machine(verdict)]
    for number, finding in enumerate(verdict.findings[:_FINDINGS_SHOWN], 1):
        parts += _finding(number, finding)
    hidden = len(verdict.findings) - _FINDINGS_SHOWN
    if hidden > 0:
        parts += [Text(""), Text(f"and {hidden} more findings: --json lists all")]
    if verdict.loads:
        parts += [Text(""), domains_sheet(verdict, "Root domains", _DOMAINS_SHOWN)]
    notes = [("in doubt", doubt) for doubt in verdict.doubts]
    notes += [("note", note) for note in verdict.notes]
    parts += [Text(f"{kind}: {text}") for kind, text in notes]
    return parts
