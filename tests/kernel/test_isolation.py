# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Ways to isolate CPUs: their groups and boot options, and reports of runs that were cut short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedshard.commands.options import show
from schedshard.common.errors import UserError
from schedshard.entry import run
from schedshard.kernel.guest.topology import usual_shape
from schedshard.kernel.guest.workload import ISOLATION, find_workload, isolated_groups, step
from schedshard.kernel.layout import Layout
from schedshard.kernel.profile import isolation as module
from schedshard.kernel.profile.c2c import Kernel
from schedshard.kernel.profile.isolation import (
    Discarded,
    Isolation,
    IsolationRequest,
    Way,
    isolation,
    plan_files,
    run_of,
)
from schedshard.kernel.profile.isolation_view import isolation_view
from schedshard.machines.presets import load_machine
from schedshard.results.c2c import KernelVariant


def found(rate: float, remote: float, busy_ns: float = 65e6) -> dict[str, Any]:
    lines = {"hitm_remote": remote, "hitm_local": 2 * remote}
    return {
        "name": "stock", "cpus": 16, "lines_total": 0, "hitm_total": 0, "lines": [],
        "operations": 0, "partial": False,
        "hitm_a_wake_up": {"root domain": lines, "all": lines},
        "wake_ups_a_virtual_ms": rate,
        "wake_ups": 5000,
        "stepping": {"waits": 100, "timeouts": 2, "accesses_reported": 9, "window_seconds": 1.0},
        "model": {"virtual_ns": 5e6, "busy_ns": busy_ns, "instructions": 30_000_000},
        "load_cycles": 90e6,
    }  # fmt: skip


def test_groups_leave_one_for_other_things() -> None:
    assert isolated_groups(16) == ("4-7", "8-11", "12-15")
    assert isolated_groups(64) == tuple(f"{cpu}-{cpu + 7}" for cpu in range(8, 64, 8))
    # CPUs that do not fill a group stay free.
    assert isolated_groups(18) == ("4-7", "8-11", "12-15")


def test_only_one_way_needs_a_boot_option() -> None:
    options = {way: find_workload(f"isolation-{way}").parameters(64) for way in ISOLATION}
    assert options == {
        "none": (),
        "isolcpus": ("isolcpus=domain,8-63",),
        "isolated": (),
        "root": (),
    }


def test_a_plan_is_made_before_the_window() -> None:
    argv = step("isolation-plan", usual_shape(16), None, 60).argv
    assert argv[:6] == ("/bin/isolation.sh", "plan", *isolated_groups(16), "--")
    assert argv[6] == "/bin/c2c-run"
    group = "4-7:/sys/fs/cgroup/group-4-7"
    assert argv[argv.index("/bin/rt-groups") + 1 :][:2] == ("3333", group)


def test_what_a_guest_gets_of_a_plan(tmp_path: Path) -> None:
    for name in ("apply.sh", "common.sh", "verify.sh", "steps"):
        (tmp_path / name).write_text(name)
    with pytest.raises(UserError, match="is not a plan of doctor: it has no partitions"):
        plan_files(tmp_path)
    (tmp_path / "partitions").write_text("rest\t0-3\n")
    assert sorted(plan_files(tmp_path)) == [
        "/plan/apply.sh",
        "/plan/common.sh",
        "/plan/partitions",
        "/plan/steps",
        "/plan/verify.sh",
    ]


def test_all_cpus_together_wake_up_as_often_as_480() -> None:
    argv = step("isolation-root", usual_shape(16), None, 60).argv
    assert argv[argv.index("/bin/isolation.sh") + 1 :] == ("root", "3333", "4-7", "8-11", "12-15")


def test_rounds_over_all_ways(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rates = {"none": 1000.0, "isolcpus": 990.0, "isolated": 1010.0, "root": 1800.0}
    order: list[str] = []

    def one(*args: Any) -> dict[str, Any]:
        way = args[1].workload.removeprefix("isolation-")
        order.append(way)
        return found(rates[way] + len(order), 4.0 if way != "root" else 0.0)

    monkeypatch.setattr(module, "one_kernel", one)
    kernel = Kernel("stock", tmp_path, tmp_path)
    plan = IsolationRequest((kernel,), usual_shape(16), load_machine("epyc-7763-2s"), repeat=2)
    parts: list[int] = []
    report = isolation(
        Layout(), plan, lambda _: None,
        lambda so_far: parts.append(sum(len(row.runs) for row in so_far.rows)),
    )  # fmt: skip
    assert order == [*ISOLATION, *ISOLATION]
    assert parts == list(range(1, 9))
    assert report.partial is False
    assert [len(row.runs) for row in report.rows] == [2, 2, 2, 2]


def test_a_run_cut_short_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "one_kernel", lambda *_: {**found(1.0, 1.0), "partial": True})
    kernel = Kernel("stock", tmp_path, tmp_path)
    plan = IsolationRequest((kernel,), usual_shape(16), load_machine("epyc-7763-2s"))
    report = isolation(Layout(), plan, lambda _: None, lambda _: None)
    assert report.partial is True
    assert not any(row.runs for row in report.rows)


def test_a_guest_that_stood_still_runs_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = iter([found(34.0, 4.5, 120e6), found(930.0, 4.5)])
    monkeypatch.setattr(module, "one_kernel", lambda *_: next(runs))
    kernel = Kernel("stock", tmp_path, tmp_path)
    machine = load_machine("epyc-7763-2s")
    plan = IsolationRequest((kernel,), usual_shape(16), machine, ("none",), repeat=1)
    report = isolation(Layout(), plan, lambda _: None, lambda _: None)
    assert [round(run.accounted, 2) for run in report.discarded] == [0.55]
    assert [run.wake_ups_a_virtual_ms for run in report.rows[0].runs] == [930.0]

    monkeypatch.setattr(module, "one_kernel", lambda *_: found(34.0, 4.5, 120e6))
    with pytest.raises(UserError, match="the host is too busy"):
        isolation(Layout(), plan, lambda _: None, lambda _: None)


def test_the_table_compares_with_no_isolation(capsys: pytest.CaptureFixture[str]) -> None:
    none = [run_of(KernelVariant.of(found(rate, 4.5)), 1.0) for rate in (900, 1000, 1300)]
    root = [run_of(KernelVariant.of(found(rate, 0.0)), 1.0) for rate in (1900, 2000)]
    report = Isolation(
        format="", machine="m", guest="g", groups=["4-7"], partial=False, provenance={},
        discarded=[Discarded(kernel="stock", accounted=0.5)],
        rows=[
            Way(kernel="stock", mode="none", runs=none),
            Way(kernel="stock", mode="root", runs=root),
            Way(kernel="shard", mode="root", runs=[]),
        ],
    )  # fmt: skip
    show(isolation_view(report))
    said = capsys.readouterr().out
    # The median of two runs, compared with the median of three.
    for word in ("1,950", "1.95 x", "4.500", "9.000", "2.0%", "without 1 runs"):
        assert word in said
    assert "shard" not in said


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--mode", "pinned"], "unknown way to isolate 'pinned'"),
        (["--out", "/nowhere/x.json"], "no directory /nowhere"),
        (["--plan", "/nowhere"], "/nowhere is not a plan of doctor"),
    ],
)
def test_wrong_use(args: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kernel", "isolation", "--variant", "stock", *args]) == 2
    assert words in capsys.readouterr().err
