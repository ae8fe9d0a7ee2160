# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plans on hosts of several kinds: what a guest said, and what is wrong with it."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from schedshard.common.paths import ROOT
from schedshard.entry import run
from schedshard.kernel.guest.boot import Booted, BootRequest, Ending
from schedshard.kernel.hosts import plan_cases
from schedshard.kernel.hosts.plan_cases import (
    PLAN_CASES,
    CasesRequest,
    CaseTried,
    judge,
    try_cases,
)
from schedshard.kernel.layout import Layout

SCRIPTS = ROOT / "kernel/guest/plan"
TAR = ROOT / "tests/doctor/data/guests"
SAID = [
    "trial: apply.sh: right: /schedshard0: a root domain of its own, CPUs 4-7",
    "trial: probe: in time: real-time 2, ordinary 1: /schedshard0",
    "trial: kernel: root domain span: 4-7",
    "trial: kernel: root domain span: 0-3",
    "begin", "{tar}", "end",
    "trial: undone: no difference in 97 lines",
    "trial: end of phase try",
]  # fmt: skip


def judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str], seen: list[str]
) -> CaseTried:
    """Judge a guest's words; ``seen`` are the root domains that doctor finds afterwards."""
    coded = base64.b64encode(b"archive").decode()
    monkeypatch.setattr(plan_cases, "domains_after", lambda host: seen)
    tried = CaseTried("throttled", planned=["4-7", "0-3"])
    lines = [line.format(tar=coded) for line in said]
    judge(tried, lines, Booted(tmp_path / "log", Ending.OFF, 1.0), tmp_path / "after")
    return tried


def test_a_plan_that_worked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = judged(tmp_path, monkeypatch, SAID, ["0-3", "4-7"])
    assert tried.wrong == []
    assert tried.probes == 1
    assert (tmp_path / "after").read_bytes() == b"archive"


@pytest.mark.parametrize(
    ("said", "seen", "reason"),
    [
        (["trial: wrong: apply.sh: a probe did not run within a second", *SAID], ["0-3", "4-7"],
         "try: apply.sh: a probe did not run within a second"),
        ([line for line in SAID if "probe" not in line], ["0-3", "4-7"], "no probe ran"),
        ([line for line in SAID if "span: 4-7" not in line], ["0-3", "4-7"],
         "the kernel made no root domain of CPUs 4-7"),
        (SAID, ["0-7"], "doctor sees the root domains 0-7 with the plan in force"),
        (SAID[:-1], ["0-3", "4-7"], "try: the guest did not end"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str], seen: list[str], reason: str
) -> None:
    assert judged(tmp_path, monkeypatch, said, seen).wrong[0].startswith(reason)


def test_a_root_domain_that_was_there_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel keeps a domain whose CPUs stay the same, and drops one that another overlaps."""
    before = ["trial: kernel: root domain span: 0-7", "trial: kernel: root domain span: 0-3"]
    said = before + [line for line in SAID if "span: 0-3" not in line]
    assert judged(tmp_path, monkeypatch, said, ["0-3", "4-7"]).wrong == []
    undone = [*said[:-2], "trial: kernel: root domain span: 0-7", *said[-2:]]
    assert judged(tmp_path, monkeypatch, undone, ["0-3", "4-7"]).wrong == []
    wrong = judged(tmp_path, monkeypatch, [*before[::-1], *said[2:]], ["0-3", "4-7"]).wrong
    assert wrong == ["the kernel made no root domain of CPUs 0-3"]


def test_each_guest_boots_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real archive goes through doctor; the second guest gets the plan's files."""
    boots: list[BootRequest] = []
    archive = base64.b64encode((TAR / "16/pinned.tar.gz").read_bytes()).decode()

    def boot(layout: Layout, wanted: BootRequest) -> Booted:
        boots.append(wanted)
        lines = [f"# throttled: {line}" for line in ("begin", archive, "end")]
        return Booted(tmp_path / "log", Ending.OFF, 1.0, lines=lines)

    monkeypatch.setattr(plan_cases, "boot", boot)
    request = CasesRequest("k", tmp_path / "bz", {"throttled": PLAN_CASES["throttled"]})
    [tried] = try_cases(Layout(), request, lambda each: None)
    assert [wanted.steps[0].argv[-2:] for wanted in boots] == [
        ("throttled", "collect"), ("throttled", "try"),
    ]  # fmt: skip
    assert tried.planned
    assert "/plans/throttled/apply.sh" in boots[1].files
    assert "the guest did not end" in tried.wrong[0]


def test_every_host_is_a_function_of_the_script() -> None:
    text = (SCRIPTS / "case.sh").read_text(encoding="utf-8")
    assert set(re.findall(r"^host_(\w+)\(\)", text, re.MULTILINE)) == set(PLAN_CASES)


def test_an_unknown_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kernel", "plans", "--bzimage", "/dev/null", "--case", "none"]) == 2
    assert "throttled" in capsys.readouterr().err


def test_the_probe_names_threads_that_lost_a_cpu(tmp_path: Path) -> None:
    """The script's own rules, on files like those of /proc."""
    text = (SCRIPTS / "probe.sh").read_text(encoding="utf-8")
    proc = tmp_path / "proc"
    (tmp_path / "home").mkdir()
    allowed = []
    for tid, policy, before, now in ((10, 1, "4-7", "4-5"), (11, 1, "4-7", "0-7"),
                                     (12, 0, "4-7", "4-5"), (13, 2, "4-7", "4-7")):  # fmt: skip
        task = proc / f"{tid}/task/{tid}"
        task.mkdir(parents=True)
        fields = ["0"] * 50
        fields[38] = str(policy)
        (task / "stat").write_text(f"{tid} (a) b) S {' '.join(fields[1:])}\n")
        (task / "status").write_text(f"Cpus_allowed_list:\t{now}\n")
        allowed.append(f"{task}/status:Cpus_allowed_list:\t{before}\n")
    (proc / "uptime").write_text("100.50 1.0\n")
    (tmp_path / "home/allowed").write_text("".join(allowed))
    for word, by in (("/var/lib/trial", str(tmp_path / "home")), ("/proc/", f"{proc}/"),
                     ("chrt -f 1 ", "")):  # fmt: skip
        text = text.replace(word, by)
    subprocess.run(["sh", "-c", text, "probe", "a change"], check=True)
    said = (tmp_path / "home/probes").read_text().splitlines()
    assert said[0] == "in time: real-time 0, ordinary 0: a change"
    assert said[1:] == [f"lost: {proc}/10/task/10: had 4-7, has 4-5"]


Threads = tuple[tuple[int, str, bool | None, str], ...]


def compared(tmp_path: Path, before: Threads, after: Threads) -> list[str]:
    """Return compare()'s words on threads: number, name, kernel's or not (None: unread), CPUs."""
    proc = tmp_path / "proc"
    text = (SCRIPTS / "shared.sh").read_text(encoding="utf-8")
    text = text.replace("/var/lib/trial", str(tmp_path)).replace("/proc/", f"{proc}/")
    (tmp_path / "cgroups").mkdir()
    names = dict.fromkeys(("share", "plan", "workload"), "x") | {
        "cgroups": str(tmp_path / "cgroups"), "PATH": os.environ["PATH"],
    }  # fmt: skip
    said = ""
    for threads, command in ((before, "remember"), (after, "compare")):
        shutil.rmtree(proc, ignore_errors=True)
        for tid, name, kernel, cpus in threads:
            task = proc / f"{tid}/task/{tid}"
            task.mkdir(parents=True)
            flags = 0x00200040 if kernel else 0x40
            if kernel is not None:
                (task / "stat").write_text(f"{tid} ({name}) S 1 0 0 0 0 {flags} 0\n")
            (task / "status").write_text(
                f"Name:\t{name}\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0\n"
            )
        done = subprocess.run(
            ["sh", "-c", f"{text}\n{command}"],
            env=names,
            capture_output=True,
            text=True,
            check=True,
        )
        said += done.stdout
    return said.splitlines()


def test_kernel_threads_may_come_and_go(tmp_path: Path) -> None:
    before = (
        (2, "kworker/u32:3", True, "0-15"),
        (3, "kswapd0", True, "0-7"),
        (10, "a", False, "4"),
    )
    after = ((2, "kworker/u32:9", True, "0-3"), (3, "kswapd0", True, "0-7"), (10, "a", False, "4"))
    [said] = compared(tmp_path, before, after)
    assert said.startswith("trial: undone: no difference")


def test_a_thread_that_was_born_while_they_are_read_is_none(tmp_path: Path) -> None:
    known = (10, "a", False, "4")
    [said] = compared(tmp_path, (known,), (known, (11, "kworker/3:1", None, "3")))
    assert said.startswith("trial: undone: no difference")


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (((3, "kswapd0", True, "0-15"), (10, "a", False, "4")), "kernel kswapd0 0-15 0"),
        (((3, "kswapd0", True, "0-7"), (10, "a", False, "0-15")), "thread a 0-15 0"),
        (((3, "kswapd0", True, "0-7"),), "thread a 4 0"),
    ],
)
def test_other_threads_may_not_change(tmp_path: Path, after: Threads, told: str) -> None:
    said = compared(tmp_path, ((3, "kswapd0", True, "0-7"), (10, "a", False, "4")), after)
    assert said[-1].startswith("trial: wrong: undo.sh left differences: <")
    assert told in said[-1]
    assert any(line.startswith("trial: difference: ") and told in line for line in said)
