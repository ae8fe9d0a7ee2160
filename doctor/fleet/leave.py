# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Outputs a fleet's verdict as tables on a terminal, as JSON, or as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from common.paths import VERSION
from common.show.page import Lead, Section, rendered
from common.show.sheet import Sheet
from doctor.fleet.host import Host
from doctor.fleet.survey import Fleet, Group, Kind
from doctor.judge.finding import per_second
from doctor.judge.predictions import percent, share_words, spread

FORMAT = "schedshard-doctor-fleet/1"
_SHOWN = 20
_KINDS = ("finding", "hosts", "high", "medium", "low", "cost, CPUs", "worst host")
_GROUPS = ("machine", "kernel", "hosts", "with findings", "cost", "cost, CPUs", "worst host")
_HOSTS = ("host", "cost", "RT wake-ups/s", "findings", "machine", "kernel")


def _cpus(cost: float) -> str:
    return f"{cost:,.1f}" if cost >= 0.05 else "0.0"


def _kind(kind: Kind) -> list[str]:
    counts = [str(kind.severities[level]) for level in ("high", "medium", "low")]
    return [kind.id, str(kind.hosts), *counts, _cpus(kind.cost), kind.worst.file]


def _group(group: Group) -> list[str]:
    return [
        group.name, group.kernel, str(group.hosts), str(group.ill),
        percent(group.cost / group.cpus), _cpus(group.cost), group.worst.file,
    ]  # fmt: skip


def _host(host: Host) -> list[str]:
    names = ", ".join(dict.fromkeys(finding.id for finding in host.findings))
    return [
        host.file, share_words(host.cost) if host.cost.value else "", per_second(host.wakeups),
        names, host.machine, host.kernel,
    ]  # fmt: skip


def _tables(fleet: Fleet, hosts: Sequence[Host], shown: int | None = None) -> list[Sheet]:
    """Return the tables of kinds of findings, of groups and of hosts: ``shown`` rows at most."""
    made = [
        Sheet("By finding", *_KINDS, right=_KINDS[1:-1], rows=map(_kind, fleet.kinds())),
        Sheet("By machine and kernel", *_GROUPS, right=_GROUPS[2:-1],
              rows=map(_group, fleet.groups())),
        Sheet("Worst hosts first", *_HOSTS, right=_HOSTS[1:3], optional=("machine",),
              rows=map(_host, hosts)),
    ]  # fmt: skip
    for table in made:
        if shown is not None and len(table.rows) > shown:
            table.caption = f"and {len(table.rows) - shown} more: --json and --html list all"
            del table.rows[shown:]
    return [table for table in made if table.rows or table.title != "By finding"]


def fleet_parts(fleet: Fleet) -> list[RenderableType]:
    """Return the screen as parts below each other."""
    worst = [host for host in fleet.hosts if host.findings] or fleet.hosts[:1]
    parts: list[RenderableType] = [Text(fleet.sentence, style="bold")]
    for table in _tables(fleet, worst, _SHOWN):
        parts += [Text(""), table]
    return parts + [Text(f"not read: {unread.why}") for unread in fleet.unread[:_SHOWN]]


def _host_data(host: Host) -> dict[str, Any]:
    return {
        "file": host.file,
        "machine": host.machine,
        "kernel": host.kernel,
        "release": host.release,
        "cpus": host.cpus,
        "exit_status": host.status,
        "sentence": host.sentence,
        "wakeups_per_second": round(host.wakeups, 1),
        "cost": spread(host.cost),
        "saved": host.saved,
        "findings": [vars(finding) for finding in host.findings],
    }


def fleet_data(fleet: Fleet) -> dict[str, Any]:
    """Return a fleet as JSON data. Costs of groups are in CPUs, those of hosts are shares."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "sentence": fleet.sentence,
        "exit_status": fleet.status,
        "cpus": fleet.cpus,
        "cost_cpus": fleet.cost,
        "findings": [
            {
                "id": kind.id, "hosts": kind.hosts, "severities": kind.severities,
                "cost_cpus": kind.cost, "worst": kind.worst.file,
            }
            for kind in fleet.kinds()
        ],
        "groups": [
            {
                "machine": group.name, "kernel": group.kernel, "hosts": group.hosts,
                "with_findings": group.ill, "cpus": group.cpus, "cost_cpus": group.cost,
                "saved_cpus": group.saved, "worst": group.worst.file,
            }
            for group in fleet.groups()
        ],
        "hosts": [_host_data(host) for host in fleet.hosts],
        "unread": [vars(unread) for unread in fleet.unread],
    }  # fmt: skip


def fleet_page(fleet: Fleet) -> str:
    """Return one page that needs no network."""
    section = Section("fleet", "Findings, machines and hosts", fleet.sentence)
    section.parts += _tables(fleet, fleet.hosts)
    section.lacks += [unread.why for unread in fleet.unread]
    lead = Lead(
        "Which of these hosts lose time on lines of the scheduler that many CPUs write?",
        fleet.sentence,
        "each host's cost has its 90% interval below",
    )
    return rendered("schedshard doctor fleet", (lead,), [section])
