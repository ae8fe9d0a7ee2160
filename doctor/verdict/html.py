# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A verdict as one HTML page, with a picture of the machine and its root domains."""

from __future__ import annotations

from common.show.drawing import Drawing
from common.show.page import Cell, Lead, Section, code, grid, num, rendered
from doctor.facts.domains import Domains
from doctor.facts.facts import Facts
from doctor.facts.load import DomainLoad
from doctor.judge.finding import Finding, count_of, per_second
from doctor.judge.predictions import percent, prediction_words, share_words
from doctor.judge.root_domains import Cost
from doctor.judge.verdict import Verdict
from doctor.predict.prediction import Prediction, Unpredicted
from model.machines.topo import ranges
from model.machines.topo_picture import Placed, drawn


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


def _tied(verdict: Verdict) -> list[list[int]]:
    """Return the CPUs with real-time threads of each root domain for which there is a finding."""
    hot = [finding.cpus for finding in verdict.findings if finding.predicted is not None]
    tied = []
    for load in verdict.loads:
        if load.domain.cpus in hot:
            groups = load.apart or load.groups
            members = frozenset[int]().union(*(group.cpus for group in groups))
            tied.append(sorted(members & load.domain.cpus))
    return tied


def picture(facts: Facts, domains: Domains, tied: list[list[int]]) -> Drawing:
    """Return the picture: boxes for caches and nodes, one colour per root domain."""
    colours = {
        cpu: number for number, domain in enumerate(domains.domains) for cpu in domain.cpus
    }  # fmt: skip
    cpus = [cpu for cpu in _cpus(facts) if cpu.cpu in colours]
    said = "one colour per root domain"
    if tied:
        said += "; lines tie the CPUs of real-time threads that share its hottest line"
    size = f"{count_of(len(facts.online), 'CPU')}, {count_of(len(facts.llcs), 'LLC')}"
    title = f"Linux {facts.release}: {size}"
    return drawn(cpus, [cpu.cpu for cpu in cpus], colours, title, said, tied, "root_domain")


def _domain_row(load: DomainLoad, cost: Cost) -> list[Cell]:
    known = load.known or not load.groups
    return [
        code(ranges(sorted(load.domain.cpus))),
        num(str(len(load.domain.cpus))),
        num(per_second(load.wakeups) if known else "?"),
        num(str(len(load.apart))),
        num(str(load.llcs)),
        num(percent(cost.now.share.value) if isinstance(cost, Prediction) else ""),
        Cell(("def_root_domain: " if load.domain.default else "") + load.domain.because),
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
    section.figures.append(
        picture(facts, domains, _tied(verdict)).shown("CPUs in their caches, by root domain")
    )
    columns = ("CPU numbers", "CPUs", "RT wake-ups/s", "groups", "LLCs", "cost", "why")
    rows = [_domain_row(*each) for each in zip(verdict.loads, verdict.costs)]
    section.tables.append(grid(columns, rows))
    return section


def _finding_section(number: int, finding: Finding) -> Section:
    entry = finding.entry
    section = Section(
        f"finding-{number}",
        f"{number}. {finding.severity.upper()}: {entry.title}",
        f"{finding.summary}. [{entry.id}]",
    )
    rows = [[code(each.where), Cell(each.value)] for each in finding.evidence]
    section.folded.append(grid(("seen in", "what"), rows))
    section.folded_title = "evidence"
    if isinstance(finding.predicted, Prediction):
        head, *said = prediction_words(finding.predicted)
        section.tables.append(grid(("",), [[Cell(row)] for row in said], head))
    elif isinstance(finding.predicted, Unpredicted):
        section.notes.append(f"cannot tell what it costs here: {finding.predicted.why}")
    remedy = [[Cell("what helps"), Cell(finding.remedy)], [Cell("run"), code(finding.command)]]
    if entry.fix:
        remedy.append([Cell("fixed"), Cell(entry.fix)])
    section.tables.append(grid(("", ""), remedy, "Remedy"))
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
    return rendered(
        "page.html.j2",
        title=f"schedshard doctor: {verdict.source}",
        leads=(_lead(verdict),),
        more_leads=(),
        sections=sections,
        legend=(),
    )
