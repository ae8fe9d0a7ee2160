# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The trial of a plan: the guest's output, and its errors. The guests run elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from schedshard.common.errors import UserError
from schedshard.kernel.guest.boot import Ending
from schedshard.kernel.hosts.plan_debian import Disk
from schedshard.kernel.hosts.plan_trial import (
    judge_phase,
    missing_domains,
    planned_cpus,
    spans,
    words,
)

CONSOLE = [
    "[   12.345678] systemd[1]: Started trial.service",
    "vm login: trial: phase apply on Linux 6.1.0",
    "trial: kernel: root domain span: 4-15 (max cpu_capacity = 1024)",
    "trial: kernel: root domain span: 0-3 (max cpu_capacity = 1024)",
    "trial: end of phase apply",
]


def test_a_good_phase() -> None:
    said = words(CONSOLE)
    assert said[0] == "phase apply on Linux 6.1.0"
    assert judge_phase("apply", said, Ending.OFF) == []
    assert missing_domains(["0-3", "4-15"], spans(said)) == []


def test_a_root_domain_that_was_not_made() -> None:
    assert missing_domains(["0-3", "4-7"], spans(words(CONSOLE))) == [
        "the kernel made no root domain of CPUs 4-7"
    ]


def test_what_the_guest_found_wrong() -> None:
    said = [*words(CONSOLE), "verify.sh: wrong: /a: x", "wrong: verify.sh ended with status 1"]
    assert judge_phase("apply", said, Ending.OFF) == ["apply: verify.sh ended with status 1"]


def test_a_guest_that_did_not_end() -> None:
    [wrong] = judge_phase("kept", ["phase kept"], Ending.SILENT)
    assert "did not end (silent)" in wrong
    assert "phase kept" in wrong


def test_what_was_planned(tmp_path: Path) -> None:
    (tmp_path / "partitions").write_text(
        "place\t/sys/fs/cgroup\nrest\t12-15\npartition\t/a\t0-3\t-\tnew\t-\n"
    )
    assert planned_cpus(tmp_path) == ["0-3", "12-15"]


def test_the_disk_between_host_and_guest(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "root.img", tmp_path / "exchange.img")
    disk.exchange.touch()
    os.truncate(disk.exchange, 1 << 20)
    with pytest.raises(UserError, match=r"handed over no host\.tar"):
        disk.take("host.tar", tmp_path / "taken")
    plan = tmp_path / "plan"
    plan.mkdir()
    (plan / "partitions").write_text("x\n")
    disk.give(plan)
    disk.take("plan/partitions", tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "x\n"
