# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests verdicts from tar files that the collector wrote in guests (data/guests/README.md)."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path
from typing import Any

import pytest

from doctor.facts.archive import read_tar
from doctor_cli import Outcome
from doctor_tree import archived
from test_doctor_verdict import ids, judged

Capture = pytest.CaptureFixture[str]
GUESTS = Path(__file__).resolve().parent / "data/guests"
CASES = ("container-threads", "idle", "isolated", "isolcpus", "pinned", "psimon", "root")
TARS = [GUESTS / f"{case}.tar.gz" for case in CASES]
GROUPS = ["12-15", "4-7", "8-11"]


def verdict(capsys: Capture, folder: Path, case: str, times: float = 4) -> Outcome:
    """Doctor's verdict at a multiple of the wake-ups; the archive has the guest's 16 CPUs.

    At the guests' own rates partitions would save 0.35%, and from 0.31% on that is a finding.
    """
    lists = read_tar(GUESTS / f"{case}.tar.gz")
    first, last = (float(lists[f"reading-{n}"].split(maxsplit=1)[0][7:]) for n in (1, 2))
    sooner = f"uptime:{first + (last - first) / times:.6f}"
    lists["reading-2"] = lists["reading-2"].replace(f"uptime:{last:.2f}", sooner)
    outcome = judged(capsys, archived(folder, lists))
    assert outcome.json["machine"]["cpus"] == 16
    assert outcome.json["machine"]["hypervisor"] is not None
    return outcome


def findings_of(outcome: Outcome) -> list[str]:
    return [name for name, _ in ids(outcome)]


def domains(outcome: Outcome) -> dict[str, dict[str, Any]]:
    return {domain["cpus"]: domain for domain in outcome.json["root_domains"]}


def pinned(domain: dict[str, Any]) -> list[str]:
    return sorted(group["cpus"] for group in domain["groups"] if not group["roams"])


def test_nothing_to_do(capsys: Capture, tmp_path: Path) -> None:
    outcome = verdict(capsys, tmp_path, "idle")
    assert (outcome.status, outcome.json["findings"], outcome.json["doubts"]) == (0, [], [])
    assert list(domains(outcome)) == ["0-15"]


def test_groups_on_one_root_domain(capsys: Capture, tmp_path: Path) -> None:
    outcome = verdict(capsys, tmp_path, "pinned")
    assert (outcome.status, ids(outcome)) == (4, [("rd-shared", "medium")])
    assert "partition of type root for each group" in outcome.json["findings"][0]["remedy"]
    [domain] = domains(outcome).values()
    assert pinned(domain) == GROUPS
    assert not domain["default"]
    for group in domain["groups"]:
        if not group["roams"]:
            assert group["cgroups"] == [f"/group-{group['cpus']}"]


@pytest.mark.parametrize("case", ["isolcpus", "isolated"])
def test_isolated_cpus_share_the_default_one(capsys: Capture, tmp_path: Path, case: str) -> None:
    outcome = verdict(capsys, tmp_path, case)
    assert findings_of(outcome) == ["rd-isolated"]
    known = domains(outcome)
    assert {cpus: domain["default"] for cpus, domain in known.items()} == {
        "0-3": False,
        "4-15": True,
    }
    assert case in known["4-15"]["because"]
    assert pinned(known["4-15"]) == GROUPS


def test_root_partitions_need_nothing(capsys: Capture, tmp_path: Path) -> None:
    outcome = verdict(capsys, tmp_path, "root")
    assert (outcome.status, outcome.json["findings"], outcome.json["doubts"]) == (0, [], [])
    known = domains(outcome)
    assert sorted(known) == ["0-3", *GROUPS]
    assert not any(domain["default"] for domain in known.values())
    for group in GROUPS:
        assert known[group]["because"] == f"partition /group-{group}"
        assert known[group]["wakeups_per_second"] > 1000


def test_monitors_of_pressure_beside_push_interrupts(capsys: Capture, tmp_path: Path) -> None:
    outcome = verdict(capsys, tmp_path, "psimon", 1)
    assert outcome.status == 4
    [storm] = [finding for finding in outcome.json["findings"] if finding["id"] == "rt-push-ipi"]
    values = [fact["value"] for fact in storm["evidence"]]
    assert "3 threads psimon" in values
    assert "RT_PUSH_IPI is on" in values
    assert "NO_RT_PUSH_IPI" in storm["command"]
    # Its name says 6.1.0. Debian's changelog has the fix in 6.1.165: it does not end such storms.
    assert values[-1].startswith("6.1.176 has the fix, commit 94894c9c477e: ")


def test_a_container_that_sees_its_own_threads_alone(capsys: Capture, tmp_path: Path) -> None:
    outcome = verdict(capsys, tmp_path, "container-threads")
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
