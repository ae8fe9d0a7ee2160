# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Doctor notices guests whose last-level caches cannot be those of a machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doctor_tree import Machine, tar
from test_doctor_verdict import groups, ids, judged

Capture = pytest.CaptureFixture[str]
CPUINFO = "vendor_id\t: {}\nmodel name\t: a processor\nflags\t: fpu hypervisor sse\n"


def guest(vendor: str = "AuthenticAMD", **changes: Any) -> Machine:
    files = {"proc/cpuinfo": CPUINFO.format(vendor)}
    return Machine(**{"tasks": groups(500), "files": files, **changes})


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (guest(cpus=64, llc_cpus=64, node_cpus=64), "one last-level cache of 64 CPUs"),
        (guest(llc_cpus=1), "gives each virtual CPU a last-level cache of its own"),
        (guest("GenuineIntel", llc_cpus=16), "span packages"),
    ],
)
def test_a_guest_whose_cache_is_a_lie(
    capsys: Capture, tmp_path: Path, machine: Machine, words: str
) -> None:
    outcome = judged(capsys, tar(tmp_path, machine))
    assert (outcome.status, ids(outcome)) == (4, [("vm-llc", "low")])
    [finding] = outcome.json["findings"]
    assert words in finding["summary"]
    where = [fact["where"] for fact in finding["evidence"]]
    assert where[1:] == ["a virtual machine", "/proc/cpuinfo: model name"]
    assert "host-passthrough" in finding["remedy"]


def test_hidden_caches(capsys: Capture, tmp_path: Path) -> None:
    for name, kept in (("level 3", 2), ("all", 0)):
        gone = [
            f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
            for cpu in range(16)
            for index in range(kept, 3)
        ]
        machine = replace(guest(), hidden=gone)
        outcome = judged(capsys, tar(tmp_path / name, machine))
        assert ids(outcome) == [("vm-llc", "low")]
        assert "hides" in outcome.json["sentence"]


@pytest.mark.parametrize(
    "machine",
    [
        guest(),
        guest(cpus=2, llc_cpus=1, node_cpus=2, tasks=()),
        guest("GenuineIntel", cpus=64, llc_cpus=64, node_cpus=64),
        Machine(cpus=64, llc_cpus=64, node_cpus=64, tasks=groups(500)),
    ],
)
def test_caches_that_can_be_true(capsys: Capture, tmp_path: Path, machine: Machine) -> None:
    assert judged(capsys, tar(tmp_path, machine)).status == 0
