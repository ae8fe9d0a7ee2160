# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verdicts from tar files that the collector wrote in guests (data/guests/README.md)."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path
from typing import Any

import pytest

from doctor_cli import Outcome
from test_doctor_verdict import ids, judged

Capture = pytest.CaptureFixture[str]
GUESTS = Path(__file__).resolve().parent / "data/guests"
# The hosts that were made in guests of each number of CPUs.
STORED = {
    16: (
        "container", "container-threads", "false-caches", "idle", "isolated", "isolcpus", "pinned",
        "psimon", "root",
    ),
    64: (
        "container", "false-caches", "idle", "isolated", "isolcpus", "pinned", "psimon", "root",
    ),
}  # fmt: skip
TARS = [
    GUESTS / str(cpus) / f"{case}.tar.gz" for cpus, cases in STORED.items() for case in cases
]  # fmt: skip


def isolated_groups(cpus: int) -> tuple[str, ...]:
    """The groups of CPUs as CPU lists. The first CPUs, as many as a group has, stay outside."""
    size = 4 if cpus < 32 else 8
    return tuple(f"{first}-{first + size - 1}" for first in range(size, cpus - size + 1, size))


def sizes(case: str) -> list[int]:
    """The numbers of CPUs of the guests in which a host was made."""
    return [cpus for cpus, cases in STORED.items() if case in cases]


def verdict(capsys: Capture, cpus: int, case: str) -> Outcome:
    """Doctor's verdict; the archive has the guest's number of CPUs and its hypervisor."""
    outcome = judged(capsys, GUESTS / str(cpus) / f"{case}.tar.gz")
    assert outcome.json["machine"]["cpus"] == cpus
    assert outcome.json["machine"]["hypervisor"] is not None
    return outcome


def others(cpus: int) -> str:
    """The CPUs of no group."""
    return f"0-{int(isolated_groups(cpus)[0].partition('-')[0]) - 1}"


def grouped(cpus: int) -> str:
    """The CPUs of all groups."""
    return f"{isolated_groups(cpus)[0].partition('-')[0]}-{cpus - 1}"


def domains(outcome: Outcome) -> dict[str, dict[str, Any]]:
    return {each["cpus"]: each for each in outcome.json["root_domains"]}


def found(outcome: Outcome, cpus: int) -> list[str]:
    """The findings. The host runs 64 CPUs in turn: few wake-ups cost too little to report."""
    names = [name for name, _ in ids(outcome)]
    if cpus == 64:
        assert 0 < outcome.json["cost"]["value"] < 0.005
    return names


def pinned(domain: dict[str, Any]) -> list[str]:
    return sorted(each["cpus"] for each in domain["groups"] if not each["roams"])


@pytest.mark.parametrize("cpus", sizes("idle"))
def test_nothing_to_do(capsys: Capture, cpus: int) -> None:
    outcome = verdict(capsys, cpus, "idle")
    assert (outcome.status, outcome.json["findings"], outcome.json["doubts"]) == (0, [], [])
    assert list(domains(outcome)) == [f"0-{cpus - 1}"]


@pytest.mark.parametrize("cpus", sizes("pinned"))
def test_groups_on_one_root_domain(capsys: Capture, cpus: int) -> None:
    outcome = verdict(capsys, cpus, "pinned")
    assert found(outcome, cpus) == (["rd-shared"] if cpus == 16 else [])
    assert outcome.status == (4 if cpus == 16 else 0)
    if cpus == 16:
        assert "partition of type root for each group" in outcome.json["findings"][0]["remedy"]
    [domain] = domains(outcome).values()
    assert pinned(domain) == sorted(isolated_groups(cpus))
    assert not domain["default"]
    for group in domain["groups"]:
        if not group["roams"]:
            assert group["cgroups"] == [f"/group-{group['cpus']}"]


@pytest.mark.parametrize(
    ("cpus", "case"), [(cpus, case) for case in ("isolcpus", "isolated") for cpus in sizes(case)]
)
def test_isolated_cpus_share_the_default_one(capsys: Capture, cpus: int, case: str) -> None:
    outcome = verdict(capsys, cpus, case)
    # On 16 CPUs with isolcpus, partitions would save 0.3%, which is not a finding.
    gains = (cpus, case) == (16, "isolated")
    assert found(outcome, cpus) == (["rd-isolated"] if gains else [])
    known = domains(outcome)
    assert {each: domain["default"] for each, domain in known.items()} == {
        others(cpus): False,
        grouped(cpus): True,
    }
    assert case in known[grouped(cpus)]["because"]
    assert pinned(known[grouped(cpus)]) == sorted(isolated_groups(cpus))


@pytest.mark.parametrize("cpus", sizes("root"))
def test_root_partitions_need_nothing(capsys: Capture, cpus: int) -> None:
    outcome = verdict(capsys, cpus, "root")
    assert (outcome.status, outcome.json["findings"], outcome.json["doubts"]) == (0, [], [])
    known = domains(outcome)
    assert sorted(known) == sorted([others(cpus), *isolated_groups(cpus)])
    assert not any(each["default"] for each in known.values())
    for group in isolated_groups(cpus):
        assert known[group]["because"] == f"partition /group-{group}"
        assert known[group]["wakeups_per_second"] > 1000


@pytest.mark.parametrize("cpus", sizes("container"))
def test_a_container_without_the_right(capsys: Capture, cpus: int) -> None:
    outcome = verdict(capsys, cpus, "container")
    assert outcome.status == (4 if found(outcome, cpus) else 3)
    if cpus == 16:
        assert "Run the collector on the host" in outcome.json["findings"][0]["remedy"]
    # There may be other partitions; the container does not see them.
    assert any("part of the cgroup tree" in each for each in outcome.json["doubts"])


@pytest.mark.parametrize("cpus", sizes("false-caches"))
def test_caches_that_are_a_lie(capsys: Capture, cpus: int) -> None:
    outcome = verdict(capsys, cpus, "false-caches")
    assert outcome.status == 4
    findings = {each["id"]: each for each in outcome.json["findings"]}
    assert set(found(outcome, cpus)) - {"rd-shared"} == {"vm-llc"}
    assert "each virtual CPU a last-level cache of its own" in findings["vm-llc"]["summary"]


@pytest.mark.parametrize("cpus", sizes("psimon"))
def test_monitors_of_pressure_beside_push_interrupts(capsys: Capture, cpus: int) -> None:
    outcome = verdict(capsys, cpus, "psimon")
    assert outcome.status == 4
    [storm] = [each for each in outcome.json["findings"] if each["id"] == "rt-push-ipi"]
    values = [each["value"] for each in storm["evidence"]]
    assert f"{len(isolated_groups(cpus))} threads psimon" in values
    assert "RT_PUSH_IPI is on" in values
    assert "NO_RT_PUSH_IPI" in storm["command"]
    # Its name says 6.1.0. Debian's changelog has the fix in 6.1.165: it does not end such storms.
    assert values[-1].startswith("6.1.176 has the fix, commit 94894c9c477e: ")


def test_a_container_that_sees_its_own_threads_alone(capsys: Capture) -> None:
    outcome = verdict(capsys, 16, "container-threads")
    assert (outcome.status, outcome.json["findings"]) == (3, [])
    assert "this is a container's view" in outcome.json["sentence"]
    [domain] = outcome.json["root_domains"]
    assert pinned(domain) == sorted(isolated_groups(16))


def test_no_other_file_is_stored() -> None:
    assert sorted(GUESTS.glob("*/*")) == sorted(TARS)


@pytest.mark.parametrize("path", TARS, ids=[f"{path.parent.name}-{path.stem}" for path in TARS])
def test_nothing_of_the_machine_that_made_them(path: Path) -> None:
    """An archive is small, and contains neither a name nor a path of the host that made it."""
    assert path.stat().st_size < 40_000
    with gzip.open(path) as file, tarfile.open(fileobj=file) as tar:
        members = tar.getmembers()
        for member in members:
            assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")
            assert (member.mtime, member.name.partition("/")[0]) == (0, "schedshard-doctor")
            held = tar.extractfile(member)
            assert held is not None
            text = held.read().decode("ascii")
            for word in ("/home", "/work/", "/tmp/", "hostname", "localhost"):
                assert word not in text, member.name
