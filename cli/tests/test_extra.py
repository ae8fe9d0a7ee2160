# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verbs without the packages of the extra 'sweep': those that need them say how to get them."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import qmc

from common import extra
from common.paths import ROOT
from conftest import Cli
from model.run.uncertain.draws import latin_hypercube

# Modules that import the extra's packages: need_sweep() runs before each of them is imported.
BEHIND = {
    "model.run.sweep.compare",
    "model.run.sweep.file",
    "model.run.sweep.prepare",
    "model.run.sweep.run",
    "model.run.sweep.swept",
    "report.sweep",
    "model.tables.compare",
    "model.tables.sweep",
}
WITHOUT = """\
import importlib, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
for name in sys.argv[2:]:
    importlib.import_module(name)
"""
MACHINE = "epyc-7763-2s"


def test_modules_import_without_the_extra() -> None:
    rooms = ("cli", "common", "doctor", "kernel", "model", "record", "report")
    found = (
        module for room in rooms for module in pkgutil.walk_packages([str(ROOT / room)], f"{room}.")
    )
    names = {module.name for module in found} - BEHIND - {"cli.__main__"}
    absent = ",".join(("dask", *extra._PACKAGES))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, absent, *sorted(names)],
        env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_verbs_say_how_to_get_it(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = tmp_path / "a.parquet"
    parquet.write_bytes(b"PAR1")
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    for args in (
        ("sweep", "--experiment", "cpumask-yield", "--out", tmp_path / "s.parquet"),
        ("compare", tmp_path / "a.json", tmp_path / "b.json"),
        ("report", parquet, "--out", tmp_path / "page.html"),
        ("run", "cpumask-yield", "--uncertainty", "64"),
        ("machine", "measure", "--out", tmp_path / "m.toml"),
    ):
        outcome = cli(*args)
        assert (outcome.status, outcome.out) == (2, ""), args
        assert outcome.err.endswith(" run 'cli/environment --sweep'\n"), outcome.err
        assert outcome.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet"]
    monkeypatch.setattr(extra, "INSTALLED", True)
    assert "pip install 'schedshard[sweep]'" in cli("compare", "a", "b").err


def test_draws_are_those_of_scipy() -> None:
    for count, inputs, seed in ((20, 1, 1), (20, 9, 7), (128, 3, 4_000_000_000)):
        theirs = qmc.LatinHypercube(inputs, rng=np.random.default_rng(seed)).random(count)
        assert np.array_equal(latin_hypercube(count, inputs, seed), theirs)
