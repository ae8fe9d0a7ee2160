# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes findings of profiles, and merges them with the findings from the machine's facts."""

from __future__ import annotations

from doctor.facts.facts import Facts
from doctor.facts.load import DomainLoad
from doctor.judge.finding import Evidence, Finding, count_of
from doctor.judge.findings import facts_findings
from doctor.judge.root_domains import Cost
from doctor.judge.sampling import doubts_of, excerpt, mute, mute_lines
from doctor.judge.severity import SEVERITIES, Policy, of_load, of_samples
from doctor.judge.symptoms import (
    HotSet,
    KnownHotLine,
    hot_sets,
    known_lines,
    lines_by_functions,
)
from doctor.known.catalogue import Catalogue, Entry
from doctor.known.kernels import state_of
from doctor.known.offers import offer
from doctor.profiles.profile import Profile


def _set_evidence(hot: HotSet, source: str) -> list[Evidence]:
    evidence = [
        Evidence(f"{source}: {name}", f"{share:.2%} of all samples")
        for name, share in hot.functions[:6]
    ]
    if hot.helpers:
        names = ", ".join(f"{name} {share:.2%}" for name, share in hot.helpers[:4])
        evidence.append(Evidence(f"{source}: called by these and other functions", names))
    return evidence


def _line_evidence(hot: KnownHotLine, source: str) -> Evidence:
    fields = ", ".join(f"{name} {share:.0%}" for name, share in hot.fields[:4])
    cycles = f"{hot.cycles[0]:,.0f} to {hot.cycles[1]:,.0f} cycles per load"
    return Evidence(
        f"{source}: line {hot.line.address:#x}",
        f"{hot.known.title}; {hot.line.remote} remote and {hot.line.local} local HITM, {cycles}; "
        f"records by field: {fields}",
    )


def _summary(hot: HotSet, profile: Profile) -> str:
    samples = ""
    if profile.samples is not None:
        samples = f" ({hot.low:.1%} to {hot.high:.1%}, {profile.samples:,} samples)"
    return f"{hot.share:.1%} of all samples{samples} are in functions that wait for these lines"


class _Findings:
    """The findings of one profile by entry, and the reasons why others may be missing."""

    def __init__(self, profile: Profile, catalogue: Catalogue) -> None:
        self.profile = profile
        self.catalogue = catalogue
        self.made: dict[str, Finding] = {}
        self.doubts = doubts_of(profile)

    def _at(self, entry: Entry, severity: str, summary: str) -> Finding:
        held = self.made.get(entry.id)
        if held is None:
            self.made[entry.id] = held = Finding(
                entry, severity, summary, [], entry.remedy, entry.command
            )
        elif SEVERITIES.index(severity) > held.weight:
            held.severity = severity
        return held

    def _doubt(self, words: str) -> None:
        self.doubts.insert(0, f"{self.profile.source} ({self.profile.kind}): {words}")

    def functions(self) -> None:
        """Add a finding for each entry whose functions' share is large enough.

        The lower end of the interval counts.
        """
        # rd-isolated and rd-shared list the same functions. Only the facts distinguish them.
        hot = [
            hot_set
            for hot_set in hot_sets(self.profile, self.catalogue)
            if hot_set.entry.id != "rd-isolated"
        ]
        shares = "".join(
            f"; {hot_set.share:.1%} ({hot_set.low:.1%} to {hot_set.high:.1%}) are in functions of "
            f"{hot_set.entry.id}"
            for hot_set in hot[:3]
        )
        why = mute(self.profile) if self.profile.functions else ""
        if why:
            self._doubt(why + shares)
            return
        for hot_set in hot:
            if hot_set.low >= hot_set.entry.share:
                severity = of_samples(hot_set.low, excerpt(self.profile))
                finding = self._at(hot_set.entry, severity, _summary(hot_set, self.profile))
                finding.evidence += _set_evidence(hot_set, self.profile.source)
            else:
                self._doubt(
                    f"{hot_set.share:.1%} of all samples ({hot_set.low:.1%} to {hot_set.high:.1%}) "
                    f"are in functions of {hot_set.entry.id}: more samples would show whether that "
                    f"is above {hot_set.entry.share:.1%}"
                )

    def lines(self) -> None:
        """Add findings for lines of perf c2c, first by known offsets, then by functions."""
        known = known_lines(self.profile, self.catalogue)
        sure = {id(entry_line.line) for entry_line in known}
        others = [
            pair for pair in lines_by_functions(self.profile, self.catalogue)
            if id(pair[0]) not in sure
        ]  # fmt: skip
        why = mute_lines(self.profile)
        if why:
            names = sorted(
                {entry_line.known.entry for entry_line in known} | {entry.id for _, entry in others}
            )
            functions = f"; most are in functions of {', '.join(names)}" if names else ""
            self._doubt(why + functions)
            return
        for known_line in known:
            entry = self.catalogue.entries[known_line.known.entry]
            summary = f"{count_of(len(known), 'contended line')} of the root domain in perf c2c"
            self._at(entry, of_load(known_line.cycles[1]), summary).evidence.append(
                _line_evidence(known_line, self.profile.source)
            )
        for line, entry in others:
            touching = ", ".join(dict.fromkeys(access.symbol for access in line.accesses))
            summary = "These functions make most accesses to a contended line in perf c2c"
            self._at(entry, "low", summary).evidence.append(
                Evidence(
                    f"{self.profile.source}: line {line.address:#x}",
                    f"{line.remote} remote and {line.local} local loads from other caches, in "
                    f"{touching}; the line's offsets match no known line",
                )
            )


def _from_profile(
    profile: Profile, facts: Facts | None, catalogue: Catalogue
) -> tuple[list[Finding], list[str]]:
    """Return the findings of a profile, and the reasons why it may hide some."""
    findings = _Findings(profile, catalogue)
    findings.functions()
    findings.lines()
    made = findings.made
    if facts is None and "rd-shared" in made:
        made["rd-shared"].remedy += (
            " If the CPUs are isolated (isolcpus, partitions of type isolated), the finding is "
            "rd-isolated. A profile cannot distinguish these two findings, but HOST.tar can."
        )
    if facts is not None:
        for finding in made.values():
            finding.remedy, finding.command = offer(finding.entry, facts)
            state = state_of(finding.entry, facts)
            gone = state.has is False or (state.fixed is True and not finding.entry.remains)
            why = state.why
            if gone:
                finding.severity = "low"
                why = (
                    f"{why + '; ' if why else ''}not among the versions that have this hot line "
                    f"({finding.entry.versions}): the cause may be another one"
                )
            if why:
                finding.evidence.append(Evidence(f"kernel {facts.release}", why))
    return list(made.values()), findings.doubts


def _join(held: list[Finding], more: Finding) -> None:
    """Add a profile's finding to the finding that it confirms, or else to the list."""
    same = ("rd-shared", "rd-isolated")
    ids = same if more.entry.id in same else (more.entry.id,)
    confirmed = [finding for finding in held if finding.entry.id in ids]
    if not confirmed:
        held.append(more)
        return
    best = max(confirmed, key=lambda finding: (finding.weight, len(finding.cpus)))
    best.evidence += more.evidence
    best.summary += f"; {more.summary[0].lower()}{more.summary[1:]}"
    best.severity = max(best.severity, more.severity, key=SEVERITIES.index)


def all_findings(
    facts: Facts | None, loads: list[DomainLoad], costs: list[Cost], profiles: list[Profile],
    catalogue: Catalogue, policy: Policy,
) -> tuple[list[Finding], list[str]]:  # fmt: skip
    """Return all findings, worst first, and the doubts about the profiles.

    A profile's finding that confirms one of the machine is merged with it.
    """
    findings = facts_findings(facts, loads, costs, catalogue, policy) if facts is not None else []
    doubts = []
    for profile in profiles:
        more, doubted = _from_profile(profile, facts, catalogue)
        doubts += doubted
        for further in more:
            _join(findings, further)
    return sorted(findings, key=lambda finding: (-finding.weight, -finding.cost)), doubts
