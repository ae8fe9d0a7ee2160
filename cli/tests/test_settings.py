# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""``run --set``, and variants that run only when they are named."""

from __future__ import annotations

from conftest import Cli
from model.machines.presets import load_machine
from model.run.experiment import load_experiment
from model.run.run import RunRequest, plan_run
from model.run.run_options import with_settings

STEPS = {"stock-waiting", "flat-waiting", "bytes-waiting"}


def test_an_input_that_was_set_is_known() -> None:
    declared = load_experiment("ffmpeg-rt")
    changed = with_settings(declared, ("row_us=42", "threads=18.0", "row_us=43.5"))
    before = {param.name: param for param in declared.params}
    after = {param.name: param for param in changed.params}
    assert list(after) == list(before)
    assert after["row_us"].value == 43.5
    assert before["row_us"].low is not None
    assert after["row_us"].low is None
    assert changed.calibrated is None
    assert after["threads"].source.startswith("--set; ")
    assert after["rows"] == before["rows"]


def test_published_figures_are_of_the_published_conditions() -> None:
    """The published machine had RT_PUSH_IPI on, so a run with it off has none beside it."""
    declared = load_experiment("ffmpeg-rt")
    assert declared.published
    assert not with_settings(declared, ("push_ipi=0",)).published
    assert with_settings(declared, ("push_ipi=1", "row_us=42")).published == declared.published
    twice = with_settings(declared, ("push_ipi=0", "push_ipi=1", "row_us=42", "row_us=43.5"))
    assert twice.published == declared.published
    sources = {param.name: param.source for param in twice.params}
    assert sources["row_us"] == "--set; 41 in ffmpeg-rt.toml"


def test_a_setting_reaches_the_simulator(cli: Cli) -> None:
    data = cli(
        "run", "cyclictest", "--cpus", "8", "--variant", "shard", "--json", "--set", "irq_ns=1600"
    ).json
    assert data["params"]["irq_ns"] == 1600
    assert data["param_sources"]["irq_ns"]["source"] == "--set; 400 in cyclictest.toml"


def test_steps_run_when_they_are_named() -> None:
    experiment = load_experiment("ffmpeg-rt")
    request = RunRequest(experiment, load_machine("xeon-480"), 480)
    usual = {point.variant.name for point in plan_run(request).points}
    assert usual
    assert not usual & STEPS
    assert {variant.name for variant in experiment.variants} >= STEPS
    named = RunRequest(experiment, load_machine("xeon-480"), 480, variants=("bytes-waiting",))
    assert [point.variant.name for point in plan_run(named).points] == ["bytes-waiting"]
