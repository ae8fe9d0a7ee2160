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
CASES = (
    "container", "container-threads", "false-caches", "idle", "isolated", "isolcpus", "pinned",
    "psimon", "root",
)  # fmt: skip
TARS = [GUESTS / f"{case}.tar.gz" for case in CASES]
GROUPS = ["12-15", "4-7", "8-11"]


def verdict(capsys: Capture, case: str) -> Outcome:
    """Doctor's verdict; the archive has the guest's 16 CPUs and its hypervisor."""
    outcome = judged(capsys, GUESTS / f"{case}.tar.gz")
    assert outcome.json["machine"]["cpus"] == 16
    assert outcome.json["machine"]["hypervisor"] is not None
    return outcome


def findings_of(outcome: Outcome) -> list[str]:
    return [name for name, _ in ids(outcome)]


def domains(outcome: Outcome) -> dict[str, dict[str, Any]]:
    return {domain["cpus"]: domain for domain in outcome.json["root_domains"]}


def pinned(domain: dict[str, Any]) -> list[str]:
    return sorted(group["cpus"] for group in domain["groups"] if not group["roams"])


def test_nothing_to_do(capsys: Capture) -> None:
    outcome = verdict(capsys, "idle")
    assert (outcome.status, outcome.json["findings"], outcome.json["doubts"]) == (0, [], [])
    assert list(domains(outcome)) == ["0-15"]


def test_groups_on_one_root_domain(capsys: Capture) -> None:
    outcome = verdict(capsys, "pinned")
    assert (outcome.status, findings_of(outcome)) == (4, ["rd-shared"])
    assert "partition of type root for each group" in outcome.json["findings"][0]["remedy"]
    [domain] = domains(outcome).values()
    assert pinned(domain) == GROUPS
    assert not domain["default"]
    for group in domain["groups"]:
        if not group["roams"]:
            assert group["cgroups"] == [f"/group-{group['cpus']}"]


@pytest.mark.parametrize("case", ["isolcpus", "isolated"])
def test_isolated_cpus_share_the_default_one(capsys: Capture, case: str) -> None:
    outcome = verdict(capsys, case)
    # On the host with isolcpus, partitions would save 0.3%, which is no finding.
    assert findings_of(outcome) == (["rd-isolated"] if case == "isolated" else [])
    known = domains(outcome)
    assert {cpus: domain["default"] for cpus, domain in known.items()} == {
        "0-3": False,
        "4-15": True,
    }
    assert case in known["4-15"]["because"]
    assert pinned(known["4-15"]) == GROUPS


def test_root_partitions_need_nothing(capsys: Capture) -> None:
    outcome = verdict(capsys, "root")
    assert (outcome.status, outcome.json["findings"], outcome.json["doubts"]) == (0, [], [])
    known = domains(outcome)
    assert sorted(known) == ["0-3", *GROUPS]
    assert not any(domain["default"] for domain in known.values())
    for group in GROUPS:
        assert known[group]["because"] == f"partition /group-{group}"
        assert known[group]["wakeups_per_second"] > 1000


def test_a_container_without_the_right(capsys: Capture) -> None:
    outcome = verdict(capsys, "container")
    assert (outcome.status, findings_of(outcome)) == (4, ["rd-shared"])
    assert "Run the collector on the host" in outcome.json["findings"][0]["remedy"]
    # There may be other partitions; the container does not see them.
    assert any("part of the cgroup tree" in doubt for doubt in outcome.json["doubts"])


def test_caches_that_are_a_lie(capsys: Capture) -> None:
    outcome = verdict(capsys, "false-caches")
    assert outcome.status == 4
    findings = {finding["id"]: finding for finding in outcome.json["findings"]}
    assert set(findings) == {"rd-shared", "vm-llc"}
    assert "each virtual CPU a last-level cache of its own" in findings["vm-llc"]["summary"]


def test_monitors_of_pressure_beside_push_interrupts(capsys: Capture) -> None:
    outcome = verdict(capsys, "psimon")
    assert outcome.status == 4
    [storm] = [finding for finding in outcome.json["findings"] if finding["id"] == "rt-push-ipi"]
    values = [fact["value"] for fact in storm["evidence"]]
    assert "3 threads psimon" in values
    assert "RT_PUSH_IPI is on" in values
    assert "NO_RT_PUSH_IPI" in storm["command"]
    # Its name says 6.1.0. Debian's changelog has the fix in 6.1.165: it does not end such storms.
    assert values[-1].startswith("6.1.176 has the fix, commit 94894c9c477e: ")


def test_a_container_that_sees_its_own_threads_alone(capsys: Capture) -> None:
    outcome = verdict(capsys, "container-threads")
    assert (outcome.status, outcome.json["findings"]) == (3, [])
    assert "this is a container's view" in outcome.json["sentence"]
    [domain] = outcome.json["root_domains"]
    assert pinned(domain) == GROUPS


@pytest.mark.parametrize("path", TARS, ids=CASES)
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
