# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""``run --set``, and variants that run only when they are named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from common.errors import UserError
from conftest import Cli
from model.machines.presets import load_machine
from model.run.experiment import load_experiment, parse_experiment
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("row_us", "give NAME=VALUE, as in --set row_us=41"),
        ("row_as=1", "did you mean 'row_us'?"),
        ("row_us=", "'' is not a number"),
        ("row_us=nan", "'nan' is not a number"),
        ("row_us=-1", "'-1' is not a number of at least 0"),
        ("pinned=1e308", "--set pinned=1e308: give 0 or 1 (1: an instance runs on its CPUs"),
        ("push_ipi=0.5", "give 0 or 1 (1: pull by a walk"),
        ("threads=1.5", "--set threads=1.5: give a whole number (encoder threads per instance"),
        ("lag_rows=0.1", "give a whole number"),
    ],
)
def test_wrong_settings(text: str, words: str) -> None:
    with pytest.raises(UserError) as error:
        with_settings(load_experiment("ffmpeg-rt"), (text,))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('takes = "switch"', 'takes = "yes"', "param 'pinned' takes 'yes': it must be number or"),
        ("value = 1\n", "value = 2\n", "param 'pinned' takes 'switch': its value is 0 or 1"),
        ("value = 1\n", "value = 1\nlow = 0\nhigh = 1\n", "without a range"),
        ('1\ntakes = "switch"', '1.0\ntakes = "whole"', "takes 'whole': write it without"),
    ],
)
def test_wrong_declarations(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = load_experiment("ffmpeg-rt").path
    entry = 'name = "pinned"\nvalue = 1\ntakes = "switch"\n'
    text = path.read_text()
    assert entry in text
    shutil.copytree(path.parent / "common", tmp_path / "common")
    (tmp_path / "e.toml").write_text(text.replace(entry, entry.replace(old, new)))
    with pytest.raises(UserError, match=words):
        parse_experiment(tmp_path / "e.toml")


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
