# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""apply makes all partitions or none, and undo restores the state from any point.

The tree of cgroups has the kernel's rules: a partition is valid only if no other has its CPUs.
"""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from common.errors import UserError
from doctor.facts.values import cpu_list
from doctor.plan.apply import FORMAT, Journal, Kernel, Wanted, apply, read_plan, undo, verify
from doctor_cli import call
from doctor_tree import tar
from model.machines.topo import label
from test_doctor_plan import Capture, services

ALL = frozenset(range(16))


class Power(BaseException):
    """The process ends between two system calls."""


class Tree(Kernel):
    """Cgroups in a folder, with the rules of partitions of Linux 6.7 and later."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.left = 1 << 30
        self.written: list[str] = []
        self.threads = {700 + cpu: frozenset((cpu,)) for cpu in ALL}
        self.file("", "cgroup.subtree_control", "")
        place.mkdir(exist_ok=True)

    def file(self, cgroup: str, name: str, value: str) -> None:
        path = self.path(f"{cgroup}/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")

    def add(self, cgroup: str, cpus: str = "", threads: str = "") -> None:
        self.file(cgroup, "cgroup.subtree_control", "")
        self.file(cgroup, "cgroup.type", "domain")
        self.file(cgroup, "cgroup.threads", threads)
        self.file(cgroup, "cpuset.cpus", cpus)
        self.file(cgroup, "cpuset.cpus.exclusive", "")
        self.file(cgroup, "cpuset.cpus.partition", "member")
        self.file(cgroup, "cpuset.cpus.effective", "0-15")

    def cpus(self, cgroup: str, name: str) -> frozenset[int]:
        return cpu_list(self.read(f"{cgroup}/cpuset.cpus{name}"))

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Power

    def make(self, cgroup: str) -> None:
        self.step()
        self.add(cgroup)

    def remove(self, cgroup: str) -> None:
        self.step()
        for file in self.path(cgroup).iterdir():
            file.unlink()
        self.path(cgroup).rmdir()

    def affinity(self, thread: int) -> frozenset[int]:
        return self.threads[thread]

    def domains(self) -> dict[int, frozenset[int]]:
        roots = [cgroup for cgroup in self.cgroups() if self.state(cgroup) == "root"]
        held = {cpu: self.cpus(cgroup, ".exclusive") for cgroup in roots
                for cpu in self.cpus(cgroup, ".exclusive")}  # fmt: skip
        rest = ALL - held.keys()
        return {cpu: held.get(cpu, rest) for cpu in ALL}

    def state(self, cgroup: str) -> str:
        return self.read(f"{cgroup}/cpuset.cpus.partition")

    def write(self, file: str, value: str) -> None:
        self.step()
        self.written.append(file)
        cgroup, _, name = file.rpartition("/")
        if name == "cgroup.subtree_control":
            held = {*self.read(file).split()} - {value[1:]}
            held |= {value[1:]} if value[0] == "+" else set()
            value = " ".join(sorted(held))
        elif name == "cgroup.threads":
            for other in self.cgroups():
                there = self.read(f"{other}/{name}").split()
                if value in there:
                    self.file(other, name, " ".join(sorted({*there} - {value})))
            value = " ".join(sorted({*self.read(file).split(), value}))
        elif name == "cpuset.cpus.exclusive":
            parent = cgroup.rpartition("/")[0]
            for other in self.cgroups():
                beside = other != cgroup and other.rpartition("/")[0] == parent
                if beside and cpu_list(value) & self.cpus(other, ".exclusive"):
                    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        elif name == "cpuset.cpus.partition" and value == "root":
            wanted = self.cpus(cgroup, ".exclusive")
            used = [root for root in self.cgroups() if self.state(root) == "root"]
            if any(wanted & self.cpus(root, ".exclusive") for root in used):
                value = "root invalid (Cpu list in cpuset.cpus not exclusive)"
            self.file(cgroup, "cpuset.cpus.effective", label(wanted))
        elif name == "cpuset.cpus.partition":
            self.file(cgroup, "cpuset.cpus.effective", "0-15")
        self.file(cgroup, name, value)

    def seen(self) -> dict[str, str]:
        return {str(file): file.read_text() for file in sorted(self.place.rglob("*.*"))
                if file.is_file()}  # fmt: skip


def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "cgroup")
    made.add("/s")
    made.add("/s/a.service", threads=" ".join(str(700 + cpu) for cpu in range(4, 8)))
    made.add("/s/b.service")
    made.add("/guest")
    made.add("/guest/libvirt")
    made.add("/guest/libvirt/emulator")
    made.add("/guest/libvirt/iothread1", cpus="0-3")
    return made


ROWS = [
    Wanted("/s/a.service/cpus-4", "", frozenset((4, 5)), "-", ("4", "5"), None),
    Wanted("/s/b.service", "", frozenset((8, 9, 10, 11)), "member", (), None),
    Wanted("/guest", "", frozenset((12, 13)), "member", (), 13),
]


def test_apply_verify_undo(tmp_path: Path) -> None:
    kernel, journal = tree(tmp_path), tmp_path / "journal"
    before = kernel.seen()
    assert "made 3 of 3 partitions" in apply(ROWS, kernel, journal)
    assert [kernel.state(row.cgroup) for row in ROWS] == ["root"] * 3
    assert kernel.read("/s/a.service/cpus-4/cgroup.threads") == "704 705"
    for name in ("emulator", "iothread1"):
        assert kernel.read(f"/guest/libvirt/{name}/cpuset.cpus") == "13"
    assert kernel.cpus("/s", ".exclusive") == {4, 5, 8, 9, 10, 11}
    assert journal.stat().st_mode & 0o777 == 0o600
    assert verify(kernel, journal) == []
    lone = dict.fromkeys(range(16), frozenset[int]())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "domains", lambda: lone)
        assert len([line for line in verify(kernel, journal) if "no scheduling" in line]) == 3
    with pytest.raises(UserError, match="a plan is applied"):
        apply(ROWS, kernel, journal)
    kernel.file("/s/b.service", "cpuset.cpus.partition", "root invalid (offline)")
    assert "/s/b.service is root invalid (offline)" in verify(kernel, journal)
    undo(kernel, journal)
    assert kernel.seen() == before
    with pytest.raises(UserError, match="no plan is applied"):
        undo(kernel, journal)


@pytest.mark.parametrize("again", [False, True])
def test_undo_restores_from_every_point(tmp_path: Path, again: bool) -> None:
    kernel, journal = tree(tmp_path), tmp_path / "journal"
    before = kernel.seen()
    for writes in range(100):
        if again:
            kernel.left = 1 << 30
            apply(ROWS, kernel, journal)
            kernel.remove("/s/b.service")
            kernel.add("/s/b.service")
        kernel.left = writes
        try:
            apply(ROWS, kernel, journal, again)
            break
        except Power:
            kernel.left = writes // 2
        try:
            undo(kernel, journal)
        except Power:
            kernel.left = 1 << 30
            undo(kernel, journal)
        assert kernel.seen() == before
    assert writes > (1 if again else 15)


def test_the_kernels_reason_and_nothing_else_stays(tmp_path: Path) -> None:
    kernel, journal = tree(tmp_path), tmp_path / "journal"
    kernel.add("/deep")
    for cgroup, words in (("/other", "(?i)invalid argument"), ("/deep/other", "not exclusive")):
        kernel.add(cgroup)
        kernel.file(cgroup, "cpuset.cpus.exclusive", "12-13")
        kernel.file(cgroup, "cpuset.cpus.partition", "root")
        before = kernel.seen()
        kernel.written.clear()
        with pytest.raises(UserError, match=words) as refused:
            apply(ROWS, kernel, journal)
        made = any(file.endswith(".partition") for file in kernel.written)
        assert made == (cgroup == "/deep/other")
        assert "nothing was changed" in str(refused.value)
        assert kernel.seen() == before
        assert not journal.exists()
        kernel.remove(cgroup)


def test_no_cgroup_loses_its_last_cpu(tmp_path: Path) -> None:
    kernel = tree(tmp_path)
    kernel.add("/user", cpus="12-13")
    before = kernel.seen()
    with pytest.raises(UserError, match="/user would have no CPU left"):
        apply(ROWS, kernel, tmp_path / "journal")
    assert kernel.seen() == before


def test_a_journal_of_others_is_not_used(tmp_path: Path) -> None:
    kernel, journal = tree(tmp_path), tmp_path / "journal"
    apply(ROWS, kernel, journal)
    whole = journal.read_text()
    journal.chmod(0o622)
    with pytest.raises(UserError, match="may have been changed by other users"):
        undo(kernel, journal)
    journal.chmod(0o600)
    journal.write_text(whole.replace("/guest/", "/s/"))
    with pytest.raises(UserError, match="damaged"):
        undo(kernel, journal)
    journal.rename(tmp_path / "other")
    journal.symlink_to(tmp_path / "other")
    with pytest.raises(UserError, match="may have been changed by other users"):
        Journal.read(journal)


def test_an_invalid_partition_and_a_guest_without_systemd(tmp_path: Path) -> None:
    kernel = tree(tmp_path)
    (kernel.path("/guest/libvirt")).rename(tmp_path / "other")
    kernel.add("/guest/emulator", cpus="0-3")
    kernel.file("/s/b.service", "cpuset.cpus.partition", "root invalid (Parent is invalid)")
    apply(ROWS[1:], kernel, tmp_path / "journal")
    assert (kernel.state("/s/b.service"), kernel.read("/guest/emulator/cpuset.cpus")) == (
        "root", str(ROWS[2].emulator),
    )  # fmt: skip
    undo(kernel, tmp_path / "journal")
    assert kernel.state("/s/b.service").startswith("root")
    assert kernel.read("/s/b.service/cpuset.cpus.exclusive") == ""
    assert kernel.read("/guest/emulator/cpuset.cpus") == "0-3"


def test_plans_are_read_or_refused(capsys: Capture, tmp_path: Path) -> None:
    host = tar(tmp_path, services(3))
    call(capsys, "doctor", host, "--plan", tmp_path / "plan.txt")
    path = tmp_path / "plan.json"
    rows = read_plan(path, "6.12.10")
    assert [row.cgroup for row in rows] == [f"/system.slice/a{n}.service" for n in range(3)]
    assert rows[0].chain == ["/system.slice", "/system.slice/a0.service"]
    with pytest.raises(UserError, match=r"for a host with Linux 6\.12\.10"):
        read_plan(path, "6.12.11")
    good = json.loads(path.read_text())
    assert good["format"] == FORMAT
    for name, value in (
        ("cgroup", "/a/../../etc"), ("cgroup", "a"), ("cpus", "x"), ("cpus", ""), ("was", "root"),
        ("emulator", 99), ("masks", 7), ("base", "/other"),
    ):  # fmt: skip
        path.write_text(json.dumps({**good, "rows": [{**good["rows"][0], name: value}]}))
        with pytest.raises(UserError, match="is not a plan"):
            read_plan(path, "6.12.10")
    path.write_text("[" * 100_000)
    with pytest.raises(UserError, match="is not a plan"):
        read_plan(path, "6.12.10")


def test_again_makes_what_a_manager_made_anew(tmp_path: Path) -> None:
    kernel, journal = tree(tmp_path), tmp_path / "journal"
    before = kernel.seen()
    kernel.path("/guest").rename(tmp_path / "later")
    assert "2 of 3" in apply(ROWS, kernel, journal, again=True)
    (tmp_path / "later").rename(kernel.path("/guest"))
    with pytest.raises(UserError, match="a plan is applied"):
        apply(ROWS[1:], kernel, journal, again=True)
    assert "1 of 3" in apply(ROWS, kernel, journal, again=True)
    whole = journal.read_text()
    for name in ("/s/a.service/cpus-4", "/s/a.service", "/s/b.service"):
        kernel.remove(name)
    kernel.add("/s/a.service", threads="704 705 706 707")
    kernel.add("/s/b.service")
    kernel.threads[705] = ALL
    kernel.add("/s/other")
    kernel.file("/s/other", "cpuset.cpus.exclusive", "8")
    made = kernel.seen()
    with pytest.raises(UserError, match=r"b\.service.*nothing was changed"):
        apply(ROWS, kernel, journal, again=True)
    assert (kernel.seen(), journal.read_text()) == (made, whole)
    kernel.remove("/s/other")
    assert "1 of 3" in apply(ROWS, kernel, journal, again=True)
    kernel.threads[705] = frozenset((5,))
    assert "1 of 3" in apply(ROWS, kernel, journal, again=True)
    assert verify(kernel, journal) == []
    assert len(journal.read_text()) == len(whole)
    undo(kernel, journal)
    assert kernel.seen() == before
