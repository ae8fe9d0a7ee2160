# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""An installed command has no laboratory, and says so in one line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from schedshard.common.paths import ROOT

LABORATORY = ["fetch", "build", "boot", "test", "series", "deb"]
IMPORT_ALL = """
import importlib, pkgutil, schedshard
for each in pkgutil.walk_packages(schedshard.__path__, "schedshard."):
    if not each.name.endswith("__main__"):
        importlib.import_module(each.name)
"""


def left_out(name: str) -> list[str]:
    """Return a list of cli/meson.build."""
    text = (ROOT / "cli/meson.build").read_text(encoding="utf-8")
    found = re.search(rf"^{name} = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return re.findall(r"'([^']+)'", found[1])


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package as cli/meson.build installs it, without machines and tools."""
    package = tmp_path_factory.mktemp("lib") / "schedshard"
    source = ROOT / "cli/schedshard"
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in left_out("laboratory_folders"):
        shutil.rmtree(package / folder)
    for file in left_out("laboratory_files"):
        (package / file).unlink()
    (package / "installed").mkdir()
    shutil.copy(ROOT / "VERSION", package / "installed")
    shutil.copytree(ROOT / "machines", package / "installed/machines")
    return package


def run(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    argv = [sys.executable, "-B", str(installed / "__main__.py"), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_nothing_imports_the_laboratory(installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", IMPORT_ALL],
        env={"PYTHONPATH": str(installed.parent)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_no_command_needs_the_laboratory_when_it_runs(installed: Path) -> None:
    """Commands import their stages when they run; these two files register the laboratory."""
    gone = [
        "schedshard." + name.removesuffix(".py").replace("/", ".")
        for name in (*left_out("laboratory_folders"), *left_out("laboratory_files"))
    ]
    asked = {
        (str(path.relative_to(installed)), module)
        for path in installed.rglob("*.py")
        for module in re.findall(
            r"^ *from (schedshard[\w.]+) import", path.read_text(), re.MULTILINE
        )
        if any(module == name or module.startswith(f"{name}.") for name in gone)
    }
    assert asked == {("commands/c2c/cost.py", "schedshard.c2c.program.cost")}


@pytest.mark.parametrize("verb", LABORATORY)
def test_a_verb_of_the_laboratory_is_refused_in_one_line(installed: Path, verb: str) -> None:
    done = run(installed, "kernel", verb)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "schedshard: 'kernel' needs a checkout of the project: run ./schedshard kernel there\n"
    )


def test_the_first_help_and_the_other_verbs(installed: Path) -> None:
    done = run(installed, "bench", "record")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "unknown command of 'schedshard bench' 'record'" in done.stderr
    out = installed.parent / "a.parquet"
    words = ("--experiment", "mutex", "--machine", "xeon-480", "--out", str(out))
    done = run(installed, "sweep", *words, "--scheduler", "tcp://a:1")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--scheduler needs a checkout" in done.stderr
    assert "--scheduler" not in run(installed, "sweep", "--help").stdout
    for group in ((), ("kernel",), ("bench",)):
        done = run(installed, *group, "--help")
        assert done.returncode == 0, done.stderr
        shown = re.findall(r"^  ([a-z+-]+)  ", done.stdout, re.MULTILINE)
        assert not set(shown) & {*LABORATORY, "record"}
