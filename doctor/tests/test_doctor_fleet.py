# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the table of many hosts, and the comparison of one host before and after a remedy."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from shutil import copy

import pytest

from doctor.fleet import survey as survey_of
from doctor_cli import assert_refused, call
from doctor_tree import Machine, archived, listed, tar
from test_doctor_verdict import groups, partitions

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """A folder with a costly host, twice, a cheap one in a folder below, and one that is broken."""
    folder = tmp_path / "hosts"
    (folder / "more").mkdir(parents=True)
    machines = {
        "costly.tar": Machine(tasks=groups(4_000_000)),
        "more/cheap.tar": Machine(tasks=groups(500), release="6.6.1"),
    }
    for number, (name, machine) in enumerate(machines.items()):
        copy(tar(tmp_path / str(number), machine), folder / name)
    copy(folder / "costly.tar", folder / "twin.tar")
    (folder / "broken.tar.gz").write_bytes(b"\x1f\x8bnothing")
    (folder / "README").write_text("no archive")
    return folder


def test_a_fleet(capsys: Capture, hosts: Path) -> None:
    outcome = call(capsys, "doctor", "fleet", hosts, "--json", "--jobs", "1")
    assert outcome.status == 4
    data = outcome.json
    names = [Path(host["file"]).name for host in data["hosts"]]
    assert names == ["costly.tar", "twin.tar", "cheap.tar"]
    costs = [host["cost"]["value"] for host in data["hosts"]]
    assert costs == sorted(costs, reverse=True)
    assert [Path(host["file"]).name for host in data["unread"]] == ["broken.tar.gz"]
    [kind] = data["findings"]
    assert (kind["id"], kind["hosts"], kind["severities"]["high"]) == ("rd-shared", 2, 2)
    assert kind["cost_cpus"] == pytest.approx(2 * costs[0] * 16)
    assert [(group["kernel"], group["hosts"]) for group in data["groups"]] == [
        ("6.12", 2),
        ("6.6", 1),
    ]
    assert data["cost_cpus"] == pytest.approx(sum(costs) * 16)
    assert data["sentence"].startswith("2 of 3 hosts with findings")
    text = call(capsys, "doctor", "fleet", hosts, "--jobs", "1")
    assert text.out.startswith("2 of 3 hosts with findings")
    assert text.out.index("costly.tar") < text.out.index("not read: ")
    assert "broken.tar.gz" in text.out


def test_side_by_side_is_the_same(capsys: Capture, hosts: Path) -> None:
    alone, parallel = (
        call(capsys, "doctor", "fleet", hosts, "--json", "--jobs", jobs).json for jobs in ("1", "2")
    )
    assert alone == parallel


def test_files_and_folders_are_counted_once(hosts: Path) -> None:
    archives = survey_of.archives([hosts, hosts / "twin.tar"])
    assert len(archives) == 4


def test_the_status_of_a_fleet(capsys: Capture, hosts: Path) -> None:
    assert call(capsys, "doctor", "fleet", hosts / "more").status == 0
    unread = call(capsys, "doctor", "fleet", hosts / "more", hosts / "broken.tar.gz")
    assert unread.status == 3
    assert_refused(call(capsys, "doctor", "fleet", hosts / "broken.tar.gz"), "broken.tar.gz")
    empty = hosts / "empty"
    empty.mkdir()
    assert_refused(call(capsys, "doctor", "fleet", empty), "no archive", ".tar.gz")


@pytest.mark.slow(reason="a thousand archives")
def test_a_thousand_archives(hosts: Path, tmp_path: Path) -> None:
    """Archives are judged in parallel, in bounded memory, with progress; JSON has all of them."""
    for number in range(997):
        (hosts / f"{number}.tar").symlink_to(hosts / "more" / "cheap.tar")
    cli = Path(__file__).resolve().parents[2]
    # A line of progress at each step, however quick the machine is.
    start = (
        "import sys; from common import progress; progress.LINE_EVERY_SECONDS = 0; "
        "from cli.entry import run; sys.exit(run())"
    )
    argv = [sys.executable, "-c", start, "doctor", "fleet", str(hosts), "--jobs", "2"]
    done = subprocess.run(
        [*argv, "--json"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(cli)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20)),
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    data = json.loads(done.stdout)
    assert (len(data["hosts"]), len(data["unread"])) == (1000, 1)
    assert "of 1001" in done.stderr or "/1001" in done.stderr
    assert [group["hosts"] for group in data["groups"]] == [2, 998]


def busy(machine: Machine, ticks: int) -> Machine:
    """Make the CPUs of a machine busy for ``ticks`` of the 200 ticks between two readings."""
    lines = ["ctxt 1000", *(f"cpu{n} {ticks} 0 0 {200 - ticks} 0 0 0 0 0 0" for n in range(16))]
    return replace(machine, files={**machine.files, "proc/stat": "\n".join(lines) + "\n"})


def archive(folder: Path, machine: Machine, ticks: int) -> Path:
    early = replace(machine, tasks=[replace(task, voluntary=0) for task in machine.tasks])
    start = "\n".join(["ctxt 1000", *(f"cpu{n} 0 0 0 0 0 0 0 0 0 0" for n in range(16))]) + "\n"
    first = replace(early, files={**early.files, "proc/stat": start})
    second = replace(busy(machine, ticks), uptime=machine.uptime + 2)
    return archived(folder, listed(first, second))


def test_before_and_after_partitions(capsys: Capture, tmp_path: Path) -> None:
    tasks = groups(2_000_000)
    before = archive(tmp_path / "before", Machine(tasks=tasks), 160)
    after = archive(
        tmp_path / "after", Machine(tasks=tasks, cgroups=partitions("root")), 130
    )  # fmt: skip
    outcome = call(capsys, "doctor", "diff", before, after, "--json")
    assert outcome.status == 0
    data = outcome.json
    assert data["cost_after"]["value"] < data["cost_before"]["value"]
    assert "this was reached" in data["sentence"]
    # 16 CPUs, 80% busy at 2 million wake-ups per second, and then 65%.
    assert "went from 6.4 to 5.2 us" in data["sentence"]
    # A cost below the prediction does not count as a missing gain.
    rare = archive(
        tmp_path / "rare", Machine(tasks=groups(20_000), cgroups=partitions("root")), 130
    )
    less = call(capsys, "doctor", "diff", before, rare, "--json").json["sentence"]
    assert "the cost is even lower now" in less
    changes = {change["what"]: (change["before"], change["after"]) for change in data["changes"]}
    assert changes["root domains"] == ("0-15", "0-3, 12-15, 4-7, 8-11")
    assert changes["findings"] == ("rd-shared (high)", "none")
    assert "/app0 root" in changes["partitions"][1]
    back = call(capsys, "doctor", "diff", after, before)
    assert back.status == 4
    assert "Nothing was gained." in " ".join(back.out.split())


def test_a_gain_that_was_not_measured(capsys: Capture, hosts: Path) -> None:
    same = call(capsys, "doctor", "diff", hosts / "costly.tar", hosts / "twin.tar")
    assert same.status == 0
    assert "nothing changed" in same.out
    other = call(capsys, "doctor", "diff", hosts / "costly.tar", hosts / "more/cheap.tar", "--json")
    assert "Nothing was measured" in json.loads(other.out)["sentence"]
    assert_refused(call(capsys, "doctor", "diff", hosts / "costly.tar", hosts / "no.tar"), "no.tar")
