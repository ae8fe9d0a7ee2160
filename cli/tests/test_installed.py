# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests an installed command, with and without the packages of the extra 'sweep'."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from common import extra
from common.paths import ROOT
from conftest import Cli, assert_user_error

ROOMS = ("cli", "common", "doctor", "kernel", "model", "record", "report", "trial")
# Modules that import the extra's packages: need_sweep() runs before each of them is imported.
BEHIND = {
    "model.run.sweep.compare", "model.run.sweep.file", "model.run.sweep.prepare",
    "model.run.sweep.run", "model.tables.compare", "model.tables.sweep",
}  # fmt: skip
IMPORT_ALL = """
import importlib, pkgutil, sys
root, absent, behind, *rooms = sys.argv[1:]
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent.split(","):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
for room in rooms:
    for module in pkgutil.walk_packages([f"{root}/{room}"], f"{room}."):
        if not module.name.endswith("__main__") and module.name not in behind.split(","):
            importlib.import_module(module.name)
sys.meta_path.pop(0)
for name in behind.split(","):
    importlib.import_module(name)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package as cli/meson.build installs it, without machines and tools."""
    package = tmp_path_factory.mktemp("lib") / "schedshard"
    for room in ROOMS:
        ignored = shutil.ignore_patterns("__pycache__", "tests", "*.c", "*.h")
        shutil.copytree(ROOT / room, package / room, ignore=ignored)
    shutil.copy(ROOT / "VERSION", package / "common")
    shutil.copytree(ROOT / "machines", package / "machines")
    return package


def run(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    argv = [sys.executable, "-B", str(installed / "cli/__main__.py"), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_all_modules_import_and_few_need_the_extra(installed: Path) -> None:
    absent = ",".join(("dask", *extra._PACKAGES))
    words = (str(installed), absent, ",".join(sorted(BEHIND)), *ROOMS)
    done = subprocess.run(
        [sys.executable, "-B", "-c", IMPORT_ALL, *words],
        env={"PYTHONPATH": str(installed)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_verbs_say_how_to_get_the_extra(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    for args in (
        ("sweep", "--experiment", "cpumask-yield", "--out", tmp_path / "s.parquet"),
        ("compare", tmp_path / "a.json", tmp_path / "b.json"),
        ("machine", "measure", "--out", tmp_path / "m.toml"),
    ):
        assert_user_error(cli(*args), " run 'cli/environment --sweep'")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(extra, "INSTALLED", True)
    assert "pip install 'schedshard[sweep]'" in cli("compare", "a", "b").err


def test_the_verbs_of_kernel_are_refused_in_one_line(installed: Path) -> None:
    done = run(installed, "kernel", "build")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "schedshard: 'kernel' needs a checkout of the project: run ./schedshard kernel there\n"
    )


def test_the_first_help_and_the_other_verbs(installed: Path) -> None:
    out = installed.parent / "a.parquet"
    words = ("--experiment", "mutex", "--machine", "xeon-480", "--out", str(out))
    done = run(installed, "sweep", *words, "--scheduler", "tcp://a:1")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--scheduler needs a checkout" in done.stderr
    assert "--scheduler" not in run(installed, "sweep", "--help").stdout
    for group in ((), ("kernel",)):
        done = run(installed, *group, "--help")
        assert done.returncode == 0, done.stderr


def test_packages_beside_an_installed_command_are_found(installed: Path) -> None:
    """Regression: the Debian package did not find click, which lies beside schedshard."""
    beside = installed.parent / "click"
    beside.mkdir()
    (beside / "__init__.py").write_text("raise SystemExit('the one beside')\n")
    argv = [sys.executable, "-I", "-B", str(installed / "cli/__main__.py"), "--version"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    shutil.rmtree(beside)
    assert done.stderr == "the one beside\n"
