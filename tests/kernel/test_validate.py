# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Results that c2c-validate accepts, and results that it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedshard.common.errors import UserError
from schedshard.entry import run
from schedshard.kernel.guest.topology import usual_shape
from schedshard.kernel.layout import Layout
from schedshard.kernel.profile import validate as module
from schedshard.kernel.profile.c2c import C2cRequest, Kernel
from schedshard.kernel.profile.validate import (
    ValidateRequest,
    Validation,
    each,
    machine_like,
    near,
    simulated,
    validate,
    wake_checks,
)
from schedshard.machines.presets import cpu_count, load_machine


def variant(remote: float, wakes: int = 3000, field: str = "rto_mask") -> dict[str, Any]:
    lines = [{"accesses": [{"field": ""}, {"field": f"{field}.bits[0]"}]}]
    groups = {"root domain": {"hitm_remote": remote, "hitm_local": 9.0}}
    return {
        "wake_ups": wakes, "hitm_a_wake_up": groups, "lines": lines, "partial": False,
        "hitm_total": 980, "operations": 1000,
    }  # fmt: skip


def test_within_a_fifth() -> None:
    assert near(1.0, 0.81)
    assert near(1.0, 1.19)
    assert not near(1.0, 0.79)
    assert not near(1.0, 1.21)
    # Where nothing is expected, next to nothing may be found.
    assert near(0.0, 0.009)
    assert not near(0.0, 0.02)
    # A program that did nothing does not pass.
    assert not near(0.0, each({"hitm_total": 0, "operations": 0}))


def test_what_the_series_is_for() -> None:
    good = list(wake_checks({"stock": variant(4.0), "shard": variant(0.1)}))
    assert [check.good for check in good] == [True] * 4
    assert good[-1].expected == "at most 0.200"
    worse = wake_checks({"stock": variant(4.0), "shard": variant(0.3)})
    assert [check.good for check in worse] == [True, True, True, False]
    # Without stock, a twentieth of a line.
    assert [check.good for check in wake_checks({"shard": variant(0.04)})] == [True, True]
    assert [check.good for check in wake_checks({"shard": variant(0.06)})] == [True, False]
    # 12 wake-ups are too few: the check of the window fails.
    assert [check.good for check in wake_checks({"shard": variant(0.0, 12)})] == [False, True]
    other = wake_checks({"stock": variant(4.0, field="nr_running")})
    assert [check.good for check in other] == [True, False]


def test_a_machine_as_small_as_the_guest(tmp_path: Path) -> None:
    machine = machine_like(load_machine("epyc-7763-2s"), usual_shape(16), tmp_path)
    assert cpu_count(machine) == 16
    found = simulated(machine, 16)
    # One mask is contended, two are less, and plain stores of bytes find no line modified.
    assert 0.8 < found["yield-global"] <= 1.0
    assert found["yield-half"] < found["yield-global"]
    assert found["yield-byte"] == 0.0
    # Nearly each operation finds the line elsewhere; sometimes a CPU does two before it loses it.
    assert 0.8 < found["share-true"] <= 1.0
    assert 0.8 < found["share-false"] <= 1.0
    odd = tmp_path / "odd.toml"
    odd.write_text(machine.path.read_text().replace("llcs_per_node = 1", "llcs_per_node=1"))
    with pytest.raises(UserError, match="expected one line 'llcs_per_node = N'"):
        machine_like(load_machine(str(odd)), usual_shape(16), tmp_path)


def run_with(
    found: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Validation:
    """Validate two kernels; guests find the given figures by workload, else the expected ones."""
    small = machine_like(load_machine("epyc-7763-2s"), usual_shape(16), tmp_path)
    expected = simulated(small, 16) | {"share-none": 0.0, "yield-byte": 0.001}
    usual = {name: variant(0) | {"hitm_total": 1000 * share} for name, share in expected.items()}

    def one(layout: Layout, request: C2cRequest, kernel: Kernel, *_: object) -> dict[str, Any]:
        key = f"{kernel.name} {request.workload}"
        default = usual.get(request.workload, variant(4.0 if kernel.name == "stock" else 0.01))
        return found.get(key, default)

    monkeypatch.setattr(module, "one_kernel", one)
    kernels = tuple(Kernel(name, tmp_path, tmp_path) for name in ("stock", "shard"))
    request = ValidateRequest(kernels, load_machine("epyc-7763-2s"))
    return validate(Layout(work=tmp_path), request, lambda line: None)


def test_all_checks_and_a_missed_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    report = run_with({}, monkeypatch, tmp_path)
    assert report.good is True
    assert len(report.checks) == 10
    missed = {"stock yield-global": variant(0) | {"hitm_total": 500}}
    report = run_with(missed, monkeypatch, tmp_path)
    assert report.good is False
    assert [c.what for c in report.checks if not c.good] == ["yield-global"]
    with pytest.raises(UserError, match="cyclic on shard was cut short"):
        run_with({"shard cyclic": variant(0) | {"partial": True}}, monkeypatch, tmp_path)


def test_the_command_validates(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from schedshard.kernel.profile import c2c

    report = run_with({"shard cyclic": variant(1.0)}, monkeypatch, tmp_path)
    monkeypatch.setattr(c2c, "built_kernels", lambda *_: ())
    monkeypatch.setattr(module, "validate", lambda *_: report)
    assert run(["kernel", "c2c-validate", "--variant", "shard"]) == 1
    captured = capsys.readouterr()
    assert "MISSED" in captured.out
    assert captured.err == "schedshard: c2c's figures differ from the known ones\n"
    report = run_with({}, monkeypatch, tmp_path)
    assert run(["kernel", "c2c-validate", "--variant", "shard"]) == 0
    assert "MISSED" not in capsys.readouterr().out
