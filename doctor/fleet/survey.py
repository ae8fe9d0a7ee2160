# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Judges all archives of a fleet in parallel, and sums them by finding and by type of machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError
from common.progress import ticking
from doctor.fleet.host import Host, Unread, judged_host
from doctor.judge.severity import SEVERITIES
from doctor.judge.verdict import CANNOT_TELL, FOUND, NOTHING

_ENDS = (".tar", ".tar.gz", ".tgz")


@dataclass(frozen=True)
class Group:
    """The hosts of one machine type and kernel. Costs are in CPUs; ``worst`` ranks first."""

    name: str
    kernel: str
    hosts: int
    ill: int  # hosts with findings
    cpus: int
    cost: float
    saved: float
    worst: Host


@dataclass(frozen=True)
class Kind:
    """One finding of the catalogue, summed over all hosts. The cost is in CPUs."""

    id: str
    hosts: int
    severities: dict[str, int]
    cost: float
    worst: Host


@dataclass(frozen=True)
class Fleet:
    """All hosts, worst first, and what was refused."""

    hosts: tuple[Host, ...]
    unread: tuple[Unread, ...]

    @property
    def status(self) -> int:
        """Return FOUND for any finding, else CANNOT_TELL if a host is in doubt, else NOTHING."""
        if any(host.status == FOUND for host in self.hosts):
            return FOUND
        unsure = self.unread or any(host.status == CANNOT_TELL for host in self.hosts)
        return CANNOT_TELL if unsure else NOTHING

    @property
    def cost(self) -> float:
        """Return the cost of sharing on all hosts, in CPUs."""
        return sum(host.cost.value * host.cpus for host in self.hosts)

    @property
    def cpus(self) -> int:
        """Return the number of CPUs of all hosts."""
        return sum(host.cpus for host in self.hosts)

    @property
    def sentence(self) -> str:
        """Return the verdict on the fleet."""
        count = len(self.hosts)
        ill = sum(host.status == FOUND for host in self.hosts)
        saved = sum(host.saved * host.cpus for host in self.hosts if host.status == FOUND)
        unread = f"; {len(self.unread)} could not be read" if self.unread else ""
        return (
            f"{ill} of {count} host{'' if count == 1 else 's'} with findings: sharing costs "
            f"{self.cost:,.1f} of {self.cpus:,} CPUs (predicted), and partitions would save "
            f"{saved:,.1f}{unread}."
        )

    def groups(self) -> list[Group]:
        """Return the hosts by type of machine and kernel, those that cost most first."""
        by_kind: dict[tuple[str, str], list[Host]] = {}
        for host in self.hosts:
            by_kind.setdefault((host.machine, host.kernel), []).append(host)
        made = [
            Group(
                machine, kernel, len(hosts), sum(host.status == FOUND for host in hosts),
                sum(host.cpus for host in hosts),
                sum(host.cost.value * host.cpus for host in hosts),
                sum(host.saved * host.cpus for host in hosts), hosts[0],
            )
            for (machine, kernel), hosts in by_kind.items()
        ]  # fmt: skip
        return sorted(made, key=lambda group: (-group.cost, group.name, group.kernel))

    def kinds(self) -> list[Kind]:
        """Return the findings, those that cost most first."""
        by_id: dict[str, list[Host]] = {}
        for host in self.hosts:
            for name in dict.fromkeys(finding.id for finding in host.findings):
                by_id.setdefault(name, []).append(host)
        made = []
        for name, hosts in by_id.items():
            same = [finding for host in hosts for finding in host.findings if finding.id == name]
            counts = {
                level: sum(finding.severity == level for finding in same)
                for level in reversed(SEVERITIES)
            }
            cost = sum(
                finding.cost * host.cpus
                for host in hosts
                for finding in host.findings
                if finding.id == name
            )
            made.append(Kind(name, len(hosts), counts, cost, hosts[0]))
        return sorted(made, key=lambda kind: (-kind.cost, -kind.hosts, kind.id))


def archives(places: Sequence[Path]) -> list[str]:
    """Return the paths of all archives: the files, and those in the directories, each once."""
    files: dict[str, None] = {}
    for place in places:
        if not place.is_dir():
            files[str(place)] = None
            continue
        inside = [
            str(Path(folder, name))
            for folder, _, names in os.walk(place)
            for name in names if name.endswith(_ENDS)
        ]  # fmt: skip
        if not inside:
            raise UserError(f"{place} contains no archive (a file *{' or *'.join(_ENDS)})")
        files.update(dict.fromkeys(sorted(inside)))
    return list(files)


def _all_of(
    files: Sequence[str], jobs: int, tick: Callable[[str], None]
) -> Iterable[Host | Unread]:
    if jobs == 1 or len(files) == 1:
        for file in files:
            yield judged_host(file)
            tick(file)
        return
    with ProcessPoolExecutor(max_workers=min(jobs, len(files))) as pool:
        pending = {pool.submit(judged_host, file): file for file in files}
        for future in as_completed(pending):
            yield future.result()
            tick(pending[future])


def survey(places: Sequence[Path], jobs: int) -> Fleet:
    """Judge all archives, ``jobs`` at a time."""
    files = archives(places)
    with ticking("judging hosts", len(files)) as tick:
        results = list(_all_of(files, jobs, tick))
    hosts = sorted(
        (result for result in results if isinstance(result, Host)), key=lambda host: host.rank
    )
    unread = sorted(
        (result for result in results if isinstance(result, Unread)),
        key=lambda unread_file: unread_file.file,
    )
    if not hosts:
        more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
        raise UserError(f"{unread[0].why}{more}")
    return Fleet(tuple(hosts), tuple(unread))
