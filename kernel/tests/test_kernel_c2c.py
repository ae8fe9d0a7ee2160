# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A replay of a cut trace of stock Linux, 16 CPUs under stress-ng --cyclic, reports known lines."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.entry import run
from common.errors import UserError
from common.paths import ROOT
from kernel.guest.workload import WORKLOADS, find_workload, step
from kernel.probe.probe import read_raw
from kernel.profile.c2c_view import c2c_view
from kernel.profile.replay import ReplayRequest, replay
from model.machines.presets import load_machine
from record.shape import usual_shape
from record.trace import names_path

TRACE = ROOT / "record/tests/plugin/data/stock-16cpu.trace"
HOT = {"root_domain.rto_mask", "root_domain", "root_domain.cpupri.pri_to_cpu[99].mask"}


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    machines = ("epyc-7763-2s", "xeon-480")
    return replay(ReplayRequest(TRACE, tuple(map(load_machine, machines)), 5)).to_data()


def test_the_published_fields_are_on_top(report: dict[str, Any]) -> None:
    assert report["partial"] is True
    for variant in report["variants"]:
        assert variant["hitm_total"] > 500
        assert {line["object"] for line in variant["lines"]} == HOT
        fields = {
            access["field"]
            for line in variant["lines"]
            for access in line["accesses"]
            if access["hitm_remote"]
        }
        assert {"rto_count.counter", "cpupri.pri_to_cpu[0].count.counter"} <= fields


def test_a_replay_repeats(report: dict[str, Any]) -> None:
    again = replay(ReplayRequest(TRACE, (load_machine("epyc-7763-2s"),), 5))
    assert again.variants[0].to_data() == report["variants"][0]


def test_another_machine_takes_another_time(report: dict[str, Any]) -> None:
    first, second = report["variants"]
    assert first["model"]["instructions"] == second["model"]["instructions"]
    assert first["model"]["virtual_ns"] != second["model"]["virtual_ns"]


def test_the_command_replays(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["record", "replay", str(TRACE), "--machine", "epyc-7763-2s", "--lines", "1"]) == 0
    captured = capsys.readouterr()
    assert "PARTIAL: the trace is cut" in captured.out
    assert "root_domain" in captured.out


def _copy(folder: Path) -> Path:
    copy = folder / "run.trace"
    shutil.copy(TRACE, copy)
    shutil.copy(names_path(TRACE), names_path(copy))
    return copy


def test_bad_traces(tmp_path: Path) -> None:
    machine = (load_machine("epyc-7763-2s"),)
    with pytest.raises(UserError, match=r"no trace .*none: './schedshard kernel c2c --trace FILE'"):
        replay(ReplayRequest(tmp_path / "none", machine))
    copy = _copy(tmp_path)
    copy.write_bytes(b"no trace at all, nor gzip")
    with pytest.raises(UserError, match=r"run\.trace is not a trace"):
        replay(ReplayRequest(copy, machine))
    copy = _copy(tmp_path)
    data = json.loads(names_path(copy).read_text())
    names_path(copy).write_text(json.dumps(data | {"shape": {"corners": 4}}))
    with pytest.raises(UserError, match="is damaged"):
        replay(ReplayRequest(copy, machine))
    names_path(copy).write_text(json.dumps(data | {"shape": {"packages": 2, "cores": 2}}))
    with pytest.raises(UserError, match="the trace has 16 CPUs"):
        replay(ReplayRequest(copy, machine))
    for place in ("workload", "extra_mb", "partial", "lines", "code"):
        for other in ({}, {place: 7.5}):
            damaged = {key: value for key, value in data.items() if key != place} | other
            names_path(copy).write_text(json.dumps(damaged))
            with pytest.raises(UserError, match=f"is damaged: .*{place}"):
                replay(ReplayRequest(copy, machine))
    names_path(copy).write_text("[]")
    with pytest.raises(UserError, match="does not hold the names"):
        replay(ReplayRequest(copy, machine))


def test_a_machine_that_is_too_small() -> None:
    with pytest.raises(UserError, match="sierra-forest-192 cannot stand for"):
        replay(ReplayRequest(TRACE, (load_machine("sierra-forest-192"),)))


def test_a_guest_that_never_opened_its_window(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the guest ended before the measured window"):
        read_raw(tmp_path / "none")
    (tmp_path / "cut").write_text('{"format": "schedshard/c2c')
    with pytest.raises(UserError, match="is not a complete result"):
        read_raw(tmp_path / "cut")
    (tmp_path / "other").write_text("{}")
    with pytest.raises(UserError, match="is not a result of the plugin"):
        read_raw(tmp_path / "other")


def _variant(name: str, remote: float, wakes: int, report: dict[str, Any]) -> dict[str, Any]:
    return {
        **report["variants"][0],
        "name": name,
        "wake_ups": wakes,
        "wake_ups_a_virtual_ms": wakes / 4,
        "hitm_a_wake_up": {"all": {"hitm_remote": remote, "hitm_local": 1.0}},
        "operations": 0,
        "partial": False,
        "stepping": {
            "instructions": 9, "accesses_reported": 5, "waits": 1000, "timeouts": 10,
            "window_seconds": 1.0,
        },
        "functions": [{"name": "wake_up", "calls": 4, "instructions": 10, "locked": wakes}],
    }  # fmt: skip


def test_kernels_side_by_side(report: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    from cli.commands.options import show
    from model.results.c2c import Kernel

    kernels = {
        **report,
        "quantum": 1000,
        "slow": 10,
        "partial": False,
        "variants": [_variant("stock", 4.5, 100, report), _variant("shard", 0.05, 250, report)],
    }
    show(c2c_view(Kernel.of(kernels)))
    printed = capsys.readouterr().out
    assert "4.500" in printed
    assert "0.050" in printed
    assert "2.50 x" in printed
    row = next(line.split() for line in printed.splitlines() if "wake up" in line)
    assert row == ["wake", "up", "4", "2.5", "25.00", "4", "2.5", "62.50"]
    assert "10 of 1,000" in printed
    assert "PARTIAL" not in printed


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_can_be_planned(name: str) -> None:
    planned = step(name, usual_shape(16), 60)
    assert planned.argv[0] in ("/bin/c2c-run", "/bin/c2c-share")
    assert all(word and "\t" not in word for word in planned.argv)


@pytest.mark.parametrize(
    ("cpus", "firsts"), [(1, [0]), (2, [0]), (5, [0, 2]), (16, range(0, 15, 2))]
)
def test_pi_apart_has_a_process_for_two_cpus(cpus: int, firsts: Sequence[int]) -> None:
    shell, option, script = find_workload("pi-apart").argv(cpus, 7)
    output = subprocess.run(
        [shell, option, script.replace("/bin/pi_stress", "echo").replace("taskset", "echo")],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    begun = sorted(int(line.split()[1].split(",")[0]) for line in output.splitlines())
    assert begun == list(firsts)
