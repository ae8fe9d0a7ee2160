# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Turns a verdict into JSON data, in the form that verdict.schema.json describes."""

from __future__ import annotations

from typing import Any

from common.paths import VERSION
from doctor.facts.facts import Facts
from doctor.facts.load import DomainLoad
from doctor.judge.finding import Finding
from doctor.judge.predictions import prediction_data, spread
from doctor.judge.root_domains import Cost
from doctor.judge.verdict import CANNOT_TELL, FOUND, NOTHING, Verdict
from doctor.predict.prediction import Prediction, Unpredicted
from model.machines.topo import ranges

FORMAT = "schedshard-doctor/2"
_STATES = {NOTHING: "nothing", CANNOT_TELL: "cannot-tell", FOUND: "findings"}


def _machine(facts: Facts) -> dict[str, Any]:
    return {
        "release": facts.release,
        "hypervisor": facts.hypervisor,
        "cpus": len(facts.online),
        "llcs": len(facts.llcs),
        "nodes": len(facts.nodes),
        "isolated": ranges(sorted(facts.isolated)),
        "nohz_full": ranges(sorted(facts.nohz_full)),
        "cgroup_version": facts.cpusets.version,
        "whole_cgroup_tree": not facts.cpusets.part,
        "rt_threads": sum(not thread.stopper for thread in facts.threads),
        "seconds": round(facts.seconds, 2),
    }


def _predicted(cost: Cost | None) -> dict[str, Any]:
    return {
        "predicted": prediction_data(cost) if isinstance(cost, Prediction) else None,
        "unpredicted": cost.why if isinstance(cost, Unpredicted) else None,
    }


def _load(load: DomainLoad, cost: Cost) -> dict[str, Any]:
    return {
        "cpus": load.domain.label,
        "default": load.domain.default,
        "because": load.domain.because,
        "llcs": load.llcs,
        "rates_known": load.known,
        "wakeups_per_second": round(load.wakeups, 1),
        "kernel_wakeups_per_second": round(load.kernel, 1),
        "deadline_wakeups_per_second": round(load.deadline, 1),
        "groups": [
            {
                "cpus": ranges(sorted(group.cpus)),
                "threads": len(group.threads),
                "wakeups_per_second": round(group.wakeups, 1),
                "roams": group.roams,
                "cgroups": list(group.cgroups),
            }
            for group in load.groups
        ],
        **_predicted(cost),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.entry.id,
        "severity": finding.severity,
        "title": finding.entry.title,
        "summary": finding.summary,
        "cpus": ranges(sorted(finding.cpus)),
        "evidence": [
            {"where": evidence.where, "value": evidence.value} for evidence in finding.evidence
        ],
        **_predicted(finding.predicted),
        "kernels": finding.entry.versions,
        "fixed_in": finding.entry.fixed_in or None,
        "fixed_by": finding.entry.fixed_by or None,
        "remedy": finding.remedy,
        "command": finding.command,
        "verified": finding.entry.verified,
    }


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    """Return all of a verdict as JSON data."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "source": verdict.source,
        "verdict": _STATES[verdict.status],
        "exit_status": verdict.status,
        "sentence": verdict.sentence,
        "cost": spread(verdict.cost) if verdict.facts is not None else None,
        "machine": _machine(verdict.facts) if verdict.facts is not None else None,
        "findings": [_finding(finding) for finding in verdict.findings],
        "root_domains": [_load(load, cost) for load, cost in zip(verdict.loads, verdict.costs)],
        "profiles": [
            {
                "file": profile.source,
                "kind": profile.kind,
                "event": profile.event,
                "functions": len(profile.functions),
                "lines": len(profile.lines),
                "samples": profile.samples,
            }
            for profile in verdict.profiles
        ],
        "doubts": list(verdict.doubts),
        "notes": list(verdict.notes),
    }
