# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Guests made into hosts: the tar file and the kernel's root domains that they return."""

from __future__ import annotations

import base64
import mmap
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedshard.common.errors import UserError
from schedshard.common.paths import ROOT
from schedshard.entry import run
from schedshard.kernel.guest.boot import BootRequest
from schedshard.kernel.guest.ram import DIRECT_MAP, KERNEL_IMAGE, Ram
from schedshard.kernel.guest.topology import usual_shape
from schedshard.kernel.hosts import hosts
from schedshard.kernel.hosts.cases import ROOT_DOMAINS, VERDICTS, Case
from schedshard.kernel.hosts.hosts import HostsRequest, RunQueues, computed, said_by, tar_of
from schedshard.kernel.hosts.hosts_view import row_words, sum_words, words
from schedshard.kernel.layout import Layout

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
        (["ready", "mkdir: no"], "its last line: mkdir: no"),
        ([], "its last line: nothing"),
        (["begin", "QUJD!", "end"], "damaged"),
    ],
)
def test_no_tar_file(said: list[str], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        tar_of(said, "a")


@pytest.mark.parametrize("wraps", [False, True])
def test_root_domains_from_memory(tmp_path: Path, wraps: bool) -> None:
    """Addresses of per-CPU variables begin at 0, or, with ``wraps``, in the image."""
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
    # CPU 3 is offline: doctor does not see it, so the comparison leaves it out.
    assert where.domains(found, [0, 1, 2]) == [("0", True), ("1-2", False)]
    assert where.domains(found, range(4)) == [("0,3", True), ("1-2", False)]


def told(case: str) -> list[str]:
    """The lines of a host that became ready, and of its tar file."""
    data = base64.b64encode((TARS / "16" / f"{case}.tar.gz").read_bytes()).decode()
    said = ["ready", "begin", *(data[at : at + 300] for at in range(0, len(data), 300)), "end"]
    return [f"[    1.000000] # {case}: {words}" for words in said]


class Guest:
    """A boot with a known log; ``late``: the log is complete before any read of memory."""

    def __init__(self, tmp_path: Path, late: int = 0) -> None:
        self.layout = Layout(work=tmp_path)
        self.boots: list[list[str]] = []
        self.late = late
        self.broken = ""
        self.events: list[str] = []

    def __call__(
        self, layout: Layout, request: BootRequest, on_line: Callable[[str], None]
    ) -> SimpleNamespace:
        names = [step.name for step in request.steps]
        self.boots.append(names)
        lines = [line for name in names if name != self.broken for line in told(name)]
        lines += [f"# {self.broken}: no"]
        log = layout.log(request.name)
        log.parent.mkdir(parents=True, exist_ok=True)
        whole = len(self.boots) <= self.late
        log.write_text("\n".join(lines) if whole else "", encoding="utf-8")
        for line in lines:
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
            on_line(line)
            if line.endswith(": end"):
                self.events.append(f"{line.split()[3]} ended")
        return SimpleNamespace(lines=lines)


def all_hosts(
    guest: Guest, monkeypatch: pytest.MonkeyPatch, names: Iterable[str]
) -> dict[str, Any]:
    """Run these hosts; guest.events has what happened in which order."""
    monkeypatch.setattr(hosts, "boot", guest)
    cases = {name: VERDICTS[name] for name in names}
    request = HostsRequest("lab", Path("/bzImage"), None, cases, usual_shape(16))

    def on_row(row: dict[str, Any], so_far: dict[str, Any]) -> None:
        assert row in so_far["cases"]
        assert so_far["partial"]
        guest.events.append(row_words(row).split()[0])

    return hosts.hosts(guest.layout, request, on_row)


def test_each_host_is_reported_when_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = Guest(tmp_path)
    report = all_hosts(guest, monkeypatch, ["idle", "root", "isolated"])
    assert guest.events == [
        "idle", "idle: ended", "root", "root: ended", "isolated", "isolated: ended",
    ]  # fmt: skip
    assert (report["partial"], len(report["cases"])) == (False, 3)
    assert row_words(report["cases"][2]) == "isolated           not read   0-3 | 4-15*"
    assert "3 hosts, the kernel's root domains were read in 0" in sum_words(report)


def test_a_guest_that_was_read_too_late_is_booted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = Guest(tmp_path, late=1)
    report = all_hosts(guest, monkeypatch, ["idle", "root"])
    assert guest.boots == [["idle", "root"], ["idle", "root"]]
    assert [row["case"] for row in report["cases"]] == ["idle", "root"]


def test_a_guest_that_is_always_late_does_not_end_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = Guest(tmp_path, late=3)
    with pytest.raises(UserError, match=r"^idle: the guest's memory was read too late, 3 times"):
        all_hosts(guest, monkeypatch, ["idle", "isolcpus"])
    assert guest.events[-2:] == ["isolcpus", "isolcpus: ended"]


def test_a_host_that_cannot_be_made_does_not_end_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = Guest(tmp_path)
    guest.broken = "root"
    with pytest.raises(UserError, match=r"^root: .* no tar file; its last line: no$"):
        all_hosts(guest, monkeypatch, ["idle", "root", "isolated", "isolcpus"])
    assert [each for each in guest.events if ":" not in each] == ["idle", "isolated", "isolcpus"]
    assert len(guest.boots) == 2


def test_a_difference_is_shown() -> None:
    row = {"case": "root", "equal": False, "doctor": [("0-3", False)], "kernel": [("0-3", True)]}
    assert row_words(row) == "root               DIFFERENT  doctor 0-3; kernel 0-3*"


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
        (["--variant", "shard", "--keep", "/tmp"], "work for one variant only"),
        (["--bzimage", "/nowhere"], "give either --variant or --bzimage"),
    ],
)
def test_wrong_use(args: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kernel", "hosts", "--variant", "stock", *args]) == 2
    assert reason in capsys.readouterr().err
