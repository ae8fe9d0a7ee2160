# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Guests made into hosts: how the tar file and the kernel's root domains come out of them."""

from __future__ import annotations

import base64
import mmap
import struct
from pathlib import Path

import pytest

from schedshard.entry import run
from schedshard.errors import UserError
from schedshard.kernel.hostcases import ROOT_DOMAINS, VERDICTS, Case
from schedshard.kernel.hosts import RunQueues, computed, said_by, tar_of
from schedshard.kernel.hosts_view import words
from schedshard.kernel.ram import DIRECT_MAP, KERNEL_IMAGE, Ram
from schedshard.kernel.topology import usual_shape
from schedshard.paths import ROOT

TARS = ROOT / "tests/doctor/data/guests"
SETUPS = (ROOT / "kernel/guest/host.sh").read_text(encoding="utf-8")


def test_a_tar_file_from_a_log() -> None:
    coded = base64.b64encode(bytes(range(200))).decode()
    log = ["[ 1.000000] # a: ready", f"[ 1.000001] # b: {coded}", "[ 1.000002] # a: begin"]
    log += [f"[ 1.000003] # a: {coded[i : i + 60]}" for i in range(0, len(coded), 60)]
    log += ["[ 1.000004] random: crng init done", "[ 1.000005] # a: end"]
    assert tar_of(said_by(log, "a"), "a") == bytes(range(200))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (["ready", "mkdir: no"], "its last words: mkdir: no"),
        ([], "its last words: nothing"),
        (["begin", "QUJD!", "end"], "damaged"),
    ],
)
def test_no_tar_file(said: list[str], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        tar_of(said, "a")


@pytest.mark.parametrize("wraps", [False, True])
def test_root_domains_from_memory(tmp_path: Path, wraps: bool) -> None:
    """Per-CPU variables are numbered from 0, or have addresses of the image."""
    size, table, default, rd = 1 << 16, 0x1000, KERNEL_IMAGE + 0x9000, 24
    runqueues = KERNEL_IMAGE + 0x2000 if wraps else 0x100
    first = [0x4000, 0x5000, 0x6000, 0x7000]
    pointers = [default, DIRECT_MAP + 0x8000, DIRECT_MAP + 0x8000, default]
    path = tmp_path / "node0"
    path.write_bytes(bytes(size))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        for cpu, place in enumerate(first):
            offset = (DIRECT_MAP + place - runqueues) & ((1 << 64) - 1)
            struct.pack_into("<Q", memory, table + 8 * cpu, offset)
            struct.pack_into("<Q", memory, place + rd, pointers[cpu])
    where = RunQueues(KERNEL_IMAGE + table, runqueues, rd, default)
    with Ram(tmp_path) as ram:
        found = where.read(ram, 4)
    assert [found[cpu] for cpu in range(4)] == pointers
    # CPU 3 is off line: doctor does not know it, and neither must the other side.
    assert where.domains(found, [0, 1, 2]) == [("0", True), ("1-2", False)]
    assert where.domains(found, range(4)) == [("0,3", True), ("1-2", False)]


def test_default_domains_have_a_star() -> None:
    assert words([("0-3", False), ("4-15", True)]) == "0-3 | 4-15*"


@pytest.mark.parametrize("case", [*ROOT_DOMAINS.values(), *VERDICTS.values()])
def test_every_setup_exists(case: Case) -> None:
    assert f"host_{case.setup}() {{" in SETUPS
    assert "{" not in "".join(case.parameters(16))


def test_boot_options_fit_the_guest() -> None:
    assert VERDICTS["isolcpus"].parameters(64) == ("isolcpus=domain,8-63",)
    assert ROOT_DOMAINS["isolcpus-short"].parameters(16) == ("isolcpus=8-15",)
    assert VERDICTS["false-caches"].shape(usual_shape(16)).packages == 16


def test_the_other_side_is_doctors_own() -> None:
    domains, online = computed(TARS / "16" / "isolated.tar.gz")
    assert domains == [("0-3", False), ("4-15", True)]
    assert online == frozenset(range(16))


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--case", "pinned"], "unknown case 'pinned'"),
        (["--set", "verdicts", "--case", "nested"], "unknown case 'nested'"),
        (["--keep", "/nowhere"], "--keep /nowhere: no such directory"),
        (["--variant", "shard", "--keep", "/tmp"], "hold one variant"),
    ],
)
def test_wrong_use(args: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kernel", "hosts", "--variant", "stock", *args]) == 2
    assert reason in capsys.readouterr().err
