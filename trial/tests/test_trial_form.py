# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests the limits of each member of trial.json, and errors that name the wrong member."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from trial import form
from trial.form import Costs, Cpu, Figure, Host, Kernel, Predicted, State, Trial

CPUS = (Cpu(0, 0, 0, 0, 0, 0), Cpu(1, 0, 0, 0, 1, 1), Cpu(2, 1, 1, 1, 2, 2))
TRIAL = Trial(
    version="1.2",
    host=Host("AMD EPYC 9654", "x86_64", False, False, CPUS, {"meltdown": "Not affected"}),
    kernels=(Kernel("host", "6.12.48", {"RT_PUSH_IPI": False}),),
    state=State(0.01, 0.02, battery=False),
    figures=(
        Figure(
            "atomic-inc", "host", "ns per operation", (100.0, 101.0, 99.0, 100.5, 130.0), 2,
            predicted=Predicted(90.0, 60.0, 140.0, "epyc-9654-2s"),
        ),
        Figure("cas", "host", "ns per operation", (40.0, 50.0, 45.0), 2, "llc"),
    ),
    tools={"schedshard-live": "0" * 64},
    costs=Costs({"cycle": 0.3}, ((0, 1, 20.5),), (210.0,)),
)  # fmt: skip


def data() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(form.trial_text(TRIAL))
    return made


def refusal(raw: bytes) -> str:
    with pytest.raises(UserError) as caught:
        form.read_trial(raw, "theirs.json")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    text = form.trial_text(TRIAL)
    path = tmp_path / "trial.json"
    path.write_text(text)
    assert form.load_trial(path) == TRIAL
    assert form.trial_text(form.load_trial(path)) == text


def test_figures_with_a_wide_spread_and_marked_trials_judge_nothing() -> None:
    first, second = TRIAL.figures
    assert (first.wide, second.wide) == (False, True)  # of five runs the worst is left out
    assert replace(first, runs=(100.0, 100.0)).wide
    assert TRIAL.usable == (first,)
    for state in (State(0.2, 0, False), State(0, 0.2, False), State(0, 0, True)):
        marked = replace(TRIAL, state=state)
        assert len(marked.marks) == 1
        assert marked.usable == ()
    assert replace(TRIAL, ended="interrupted").usable == (first,)
    assert replace(TRIAL, host=replace(TRIAL.host, emulated=True)).usable == ()


def put(*keys: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(into: Any) -> None:
        for key in keys[:-1]:
            into = into[key]
        into[keys[-1]] = value

    return change


BAD = [
    (put("hostname", value="db1"), "the file has an unknown member 'hostname'"),
    (put("host", "user", value="x"), "the file.host has an unknown member 'user'"),
    (put("host", "processor", value="\x1b[2J"), "the file.host.processor must be at most 160"),
    (put("host", "processor", value="x" * 161), "the file.host.processor must be at most 160"),
    (put("host", "arch", value="mips"), 'must be one of "x86_64", "aarch64"'),
    (put("host", "cpus", value=[]), "the file.host.cpus must be a list of 1 to 8192"),
    (put("host", "cpus", 1, 0, value=0), "the host names a CPU twice"),
    (put("host", "cpus", 1, 0, value=1.0), "the file.host.cpus[1][0] must be a whole number"),
    (put("host", "cpus", 1, 0, value=True), "the file.host.cpus[1][0] must be a whole number"),
    (put("host", "cpus", 2, 5, value=0), "the host has CPUs of one core with different l2"),
    (put("kernels", 0, "release", value="6.12.48-db1"), "only the numbers of a release"),
    (put("kernels", 0, "features", value={"a b": True}), "a name in the file.kernels[0].features"),
    (put("kernels", 0, "features", value={"A": 1}), "features.A must be true or false, not 1"),
    (put("kernels", value=[data()["kernels"][0]] * 2), "kernels must have different names"),
    (put("state", "load_before", value=-0.1), "the file.state.load_before must be 0 to 1"),
    (put("state", "battery", value=0), "the file.state.battery must be true or false"),
    (put("figures", 0, "runs", value=[]), "the file.figures[0].runs must be a list of 1 to 100"),
    (put("figures", 0, "runs", 1, value="9"), "the file.figures[0].runs[1] must be a number"),
    (put("figures", 0, "runs", 1, value=1e300), "the file.figures[0].runs[1] must be 0 to 1e+15"),
    (put("figures", 0, "name", value="../x"), "the file.figures[0].name must be a short name"),
    (put("figures", 0, "unit", value="furlongs"), "the file.figures[0].unit must be one of"),
    (put("figures", 0, "kernel", value="other"), "a figure's kernel must be one of host"),
    (put("figures", value=[data()["figures"][0]] * 2), "figures must differ in name"),
    (
        put("figures", 0, "predicted", "low", value=95),
        "a prediction must be between low and high, not 90",
    ),
    (
        put("costs", "pairs", 0, value=[0, 7, 1]),
        "a pair of costs must be two CPUs of the host, not 0 and 7",
    ),
    (put("tools", "schedshard-live", value="0"), "must be a SHA-256"),
    (put("ended", value="tired"), "the file.ended must be one of"),
    (put("format", value=2), 'its format must be one of "schedshard/trial/1", not 2'),
]


@pytest.mark.parametrize(("change", "words"), BAD)
def test_each_wrong_member_is_named(change: Callable[[Any], None], words: str) -> None:
    changed = data()
    change(changed)
    assert words in refusal(json.dumps(changed).encode())


@pytest.mark.parametrize("key", ["version", "host", "kernels", "state", "figures"])
def test_a_missing_member_is_named(key: str) -> None:
    changed = data()
    del changed[key]
    assert f"lacks '{key}'" in refusal(json.dumps(changed).encode())


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"\xff", "it is not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "its format must be"),
        (b'{"format": NaN}', "NaN is not a number"),
        (b'{"a": ' + b"9" * 4000 + b"}", "a number of more than 18 digits"),
        (b" " * (form.MAX_BYTES + 1), "theirs.json is larger than 16 MiB"),
    ],
)
def test_files_that_are_no_json_of_ours(raw: bytes, words: str) -> None:
    assert words in refusal(raw)
