# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes a verdict's HTML page, with a picture of the machine and its root domains."""

from __future__ import annotations

from common.show.page import Boxes, Lead, Section, rendered
from common.show.sheet import Sheet
from doctor.facts.facts import Facts
from doctor.facts.values import cut_ids
from doctor.judge.finding import Finding, count_of
from doctor.judge.predictions import prediction_words, share_words
from doctor.judge.root_domains import wide_words
from doctor.judge.verdict import CANNOT_TELL, Verdict
from doctor.plan.plan import Plan
from doctor.predict.prediction import Prediction, Unpredicted
from doctor.verdict.view import domains_sheet
from model.machines.topo import label
from model.machines.topo_picture import Placed, boxes

# Wake-ups per second from which a CPU has the next step of the picture's colour.
_STEPS = (1, 100, 1000, 3000, 10_000)


def _cpus(facts: Facts) -> list[Placed]:
    """Return the online CPUs; each cache has its own number."""
    caches = {cache: number for number, cache in enumerate(sorted(facts.llcs, key=min))}
    unknown = -1
    return [
        Placed(
            cpu.number,
            unknown if cpu.package is None else cpu.package,
            unknown if cpu.node is None else cpu.node,
            unknown if cpu.llc is None else caches[cpu.llc & facts.online],
        )
        for cpu in sorted(facts.cpus.values(), key=lambda cpu: cpu.number)
        if cpu.number in facts.online
    ]


def _rates(verdict: Verdict) -> dict[int, float]:
    """Return the real-time wake-ups per second by CPU: a thread's are spread over its CPUs."""
    rates: dict[int, float] = {}
    for load in verdict.loads:
        for group in load.groups:
            for cpu in group.cpus:
                rates[cpu] = rates.get(cpu, 0.0) + group.wakeups / len(group.cpus)
    return rates


def picture(verdict: Verdict, facts: Facts, plan: Plan | str) -> Boxes:
    """Return the picture: a tile per cache, with boxes for a plan's partitions or thread groups."""
    inside: dict[int, str] = {}
    if isinstance(plan, Plan):
        what = "Boxes within a cache are the partitions of a plan"
        for row in plan.rows:
            inside |= dict.fromkeys(row.cpus, f"partition {label(row.cpus)}")
    else:
        what = "Boxes within a cache are groups of real-time threads that share CPUs"
        for load in verdict.loads:
            for part in load.parts if load.wakeups >= 1 else ():
                inside |= dict.fromkeys(part.cpus, f"group {label(part.cpus)}")
    rates = _rates(verdict)
    steps = {cpu: sum(rates.get(cpu, 0.0) >= least for least in _STEPS) for cpu in facts.online}
    cpus = _cpus(facts)
    names = ", ".join(f"{least:,}" for least in _STEPS)
    size = f"{count_of(len(facts.online), 'CPU')}, {count_of(len(facts.llcs), 'LLC')}"
    return boxes(
        cpus, [cpu.cpu for cpu in cpus], steps, f"Linux {facts.release}: {size}",
        f"Darker CPUs have more real-time wake-ups per second (steps: {names}). {what}",
        inside,
    )  # fmt: skip


def _machine_section(verdict: Verdict, sentence: str, plan: Plan | str) -> Section:
    facts = verdict.facts
    if facts is None:
        kinds = ", ".join(f"{profile.kind} ({profile.source})" for profile in verdict.profiles)
        return Section("machine", "What was judged", f"{kinds}; no machine")
    section = Section("machine", sentence, "" if verdict.findings else verdict.sentence)
    section.machine = picture(verdict, facts, plan)
    title = f"Root domains by Linux {facts.release}'s rules, observed for {facts.seconds:.1f} s"
    section.parts.append(domains_sheet(verdict, title))
    return section


def _finding_section(number: int, finding: Finding) -> Section:
    entry = finding.entry
    section = Section(
        f"finding-{number}",
        f"{number}. {finding.severity.upper()}: {entry.title}",
        f"{finding.summary}. [{entry.id}]",
    )
    rows = [(evidence.where, cut_ids(evidence.value)) for evidence in finding.evidence]
    section.folded.append(Sheet(None, "seen in", "what", code=["seen in"], rows=rows))
    section.folded_title = "evidence"
    if isinstance(finding.predicted, Prediction):
        head, *lines = prediction_words(finding.predicted)
        section.parts.append(Sheet(head, "", rows=[(row,) for row in lines]))
    elif isinstance(finding.predicted, Unpredicted):
        section.notes.append(f"cannot tell what it costs here: {finding.predicted.why}")
    remedy = [("what helps", finding.remedy), ("run", finding.command)]
    if entry.fix:
        remedy.append(("fixed", entry.fix))
    section.parts.append(Sheet("Remedy", "", " ", rows=remedy))
    if not entry.verified:
        section.lacks.append("Not verified: no published measurement of this was found.")
    return section


def _sentence(verdict: Verdict, plan: Plan | str) -> str:
    """Return the verdict in at most 20 words."""
    if verdict.status == CANNOT_TELL:
        return "Whether anything is lost is not known: the notes below say why."
    if not verdict.findings:
        none = verdict.sentence.startswith("No remedy")
        return "No remedy was found." if none else "Nothing was found to do."
    first = verdict.findings[0]
    if verdict.facts is None or first.predicted is None or not verdict.saved:
        return f"{first.entry.title}."
    cpus = len(verdict.facts.online)
    if isinstance(plan, str):
        return "No plan can free the lost CPU time now: the remedy below says why."
    many = count_of(len(plan.rows), "partition")
    if wide_words(verdict.cost):
        return f"{many} would free CPU time, but rates alone cannot tell how much."
    return f"{many} would free {plan.gain * cpus:.1f} of {cpus} CPUs (predicted)."


def _lead(verdict: Verdict, sentence: str) -> Lead:
    if verdict.facts is None or not verdict.loads:
        return Lead("Does the scheduler lose time on shared lines?", sentence, "")
    cost = share_words(verdict.cost)
    if verdict.status == CANNOT_TELL:
        cost = "cannot tell"
    elif wide := wide_words(verdict.cost):
        cost = f"cannot tell: {wide}"
    return Lead("How much CPU time do the scheduler's shared lines cost?", cost, "")


def verdict_page(verdict: Verdict, plan: Plan | str) -> str:
    """Return the page as HTML text. ``plan`` is what make_plan() returns for the verdict."""
    sentence = _sentence(verdict, plan)
    sections = [_machine_section(verdict, sentence, plan)]
    sections += [_finding_section(n, finding) for n, finding in enumerate(verdict.findings, 1)]
    if verdict.doubts or verdict.notes:
        notes = Section("notes", "Doubts and notes", "")
        notes.lacks += verdict.doubts
        notes.notes += verdict.notes
        sections.append(notes)
    return rendered(f"schedshard doctor: {verdict.source}", (_lead(verdict, sentence),), sections)
