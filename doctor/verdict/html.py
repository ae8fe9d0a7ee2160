# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A verdict as one HTML page, with a picture of the machine and its root domains."""

from __future__ import annotations

from common.show.page import Boxes, Lead, Section, rendered
from common.show.sheet import Sheet
from doctor.facts.domains import Domains
from doctor.facts.facts import Facts
from doctor.facts.load import DomainLoad
from doctor.facts.values import cut_ids
from doctor.judge.finding import Finding, count_of, per_second
from doctor.judge.predictions import percent, prediction_words, share_words
from doctor.judge.root_domains import Cost
from doctor.judge.verdict import Verdict
from doctor.predict.prediction import Prediction, Unpredicted
from model.machines.topo import ranges
from model.machines.topo_picture import Placed, boxes


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
        for cpu in sorted(facts.cpus.values(), key=lambda each: each.number)
        if cpu.number in facts.online
    ]


def _sharing(verdict: Verdict) -> frozenset[int]:
    """Return the CPUs with real-time threads in root domains for which there is a finding."""
    hot = [finding.cpus for finding in verdict.findings if finding.predicted is not None]
    return frozenset(
        cpu
        for load in verdict.loads
        if load.domain.cpus in hot
        for group in load.apart or load.groups
        for cpu in group.cpus & load.domain.cpus
    )


def picture(facts: Facts, domains: Domains, sharing: frozenset[int] = frozenset()) -> Boxes:
    """Return the picture: boxes for caches and nodes, one colour per root domain."""
    colours = {
        cpu: number for number, domain in enumerate(domains.domains) for cpu in domain.cpus
    }  # fmt: skip
    cpus = [cpu for cpu in _cpus(facts) if cpu.cpu in colours]
    said = "One colour per root domain"
    if sharing:
        said += "; real-time threads of CPUs with a frame share the hottest line of their domain"
    size = f"{count_of(len(facts.online), 'CPU')}, {count_of(len(facts.llcs), 'LLC')}"
    label = f"Linux {facts.release}: {size}"
    return boxes(cpus, [cpu.cpu for cpu in cpus], colours, label, said, sharing)


def _domain_row(load: DomainLoad, cost: Cost) -> list[str]:
    known = load.known or not load.groups
    return [
        ranges(sorted(load.domain.cpus)),
        str(len(load.domain.cpus)),
        per_second(load.wakeups) if known else "?",
        str(len(load.apart)),
        str(load.llcs),
        percent(cost.now.share.value) if isinstance(cost, Prediction) else "",
        ("def_root_domain: " if load.domain.default else "") + cut_ids(load.domain.because),
    ]


def _machine_section(verdict: Verdict) -> Section:
    facts, domains = verdict.facts, verdict.domains
    if facts is None or domains is None:
        kinds = ", ".join(f"{each.kind} ({each.source})" for each in verdict.profiles)
        return Section("machine", "What was judged", f"{kinds}; no machine")
    section = Section(
        "machine",
        "Root domains",
        f"{verdict.source}: computed by the rules of Linux {facts.release}, read for "
        f"{facts.seconds:.1f} s",
    )
    section.machine = picture(facts, domains, _sharing(verdict))
    numbers = ("CPUs", "RT wake-ups/s", "groups", "LLCs", "cost")
    rows = [_domain_row(*each) for each in zip(verdict.loads, verdict.costs)]
    section.parts.append(Sheet(None, "CPU numbers", *numbers, "why", right=numbers, rows=rows))
    return section


def _finding_section(number: int, finding: Finding) -> Section:
    entry = finding.entry
    section = Section(
        f"finding-{number}",
        f"{number}. {finding.severity.upper()}: {entry.title}",
        f"{finding.summary}. [{entry.id}]",
    )
    seen = [(each.where, cut_ids(each.value)) for each in finding.evidence]
    section.folded.append(Sheet(None, "seen in", "what", code=["seen in"], rows=seen))
    section.folded_title = "evidence"
    if isinstance(finding.predicted, Prediction):
        head, *said = prediction_words(finding.predicted)
        section.parts.append(Sheet(head, "", rows=[(row,) for row in said]))
    elif isinstance(finding.predicted, Unpredicted):
        section.notes.append(f"cannot tell what it costs here: {finding.predicted.why}")
    remedy = [("what helps", finding.remedy), ("run", finding.command)]
    if entry.fix:
        remedy.append(("fixed", entry.fix))
    section.parts.append(Sheet("Remedy", "", " ", rows=remedy))
    if not entry.verified:
        section.lacks.append("Not verified: no published measurement of this was found.")
    return section


def _lead(verdict: Verdict) -> Lead:
    said = f"{share_words(verdict.cost)} of the machine's CPU time" if verdict.loads else ""
    return Lead(
        f"Does {verdict.source} lose time on lines of the scheduler that many CPUs write?",
        verdict.sentence,
        said or "none: nothing was predicted",
    )


def verdict_page(verdict: Verdict) -> str:
    """Return the page as HTML text."""
    sections = [_machine_section(verdict)]
    sections += [_finding_section(n, each) for n, each in enumerate(verdict.findings, 1)]
    if verdict.doubts or verdict.notes:
        said = Section("notes", "Doubts and notes", "")
        said.lacks += verdict.doubts
        said.notes += verdict.notes
        sections.append(said)
    return rendered(f"schedshard doctor: {verdict.source}", (_lead(verdict),), sections)
