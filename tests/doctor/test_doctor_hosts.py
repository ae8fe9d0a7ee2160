# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The page of hosts and profiles is made of a folder, and names each file in it."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import copy

import doctor_hosts
import pytest

from doctor_tree import Machine
from test_doctor_verdict import DATA, groups, tar


def test_a_page_of_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "hosts"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    throttling = {"proc/sys/kernel/sched_rt_runtime_us": "-1\n"}
    for name, machine in (
        ("costly.tar", Machine(tasks=groups(4_000_000), files=throttling)),
        ("quiet.tar", Machine(tasks=groups(10), isolated="4-7", cmdline="isolcpus=domain,4-7")),
    ):
        (tmp_path / name).mkdir()
        copy(tar(tmp_path / name, machine), folder / name)
    (folder / "broken.tar").write_bytes(b"nothing")
    copy(DATA / "robot-mail.txt", folder / "mail.txt")
    (folder / "other.txt").write_text("a | b\n")
    assert doctor_hosts.main(folder) == 0
    said = capsys.readouterr().out
    rows = {line.split(" | ")[0].strip("| "): line for line in said.splitlines() if "|" in line}
    assert "rd-shared (high)" in rows["costly.tar"]
    assert "throttling off" in rows["costly.tar"]
    assert "isolcpus" in rows["quiet.tar"]
    assert "nothing found" in rows["quiet.tar"]
    assert "refused: " in rows["broken.tar"]
    assert "rd-shared" in rows["mail.txt"]
    assert "refused: " in rows["other.txt"]
    assert str(folder) not in said
    assert "in 1 of 3 archives, and in 1 of 2 profiles." in said
    assert "| nothing found | 1 | 0 |" in said
    assert "| refused | 1 | 1 |" in said
    assert os.path.realpath(".") == os.path.realpath(folder)
