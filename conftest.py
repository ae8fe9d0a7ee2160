# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Lets tests run the command line with stand-ins for the C tools or, if built, the real ones."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from calling import Outcome as Outcome
from calling import call
from common.paths import EXPERIMENTS, ROOT

FAKES = ROOT / "cli/tests/fakes"
FIGURES = ROOT / "model/tests/command/figures.toml"
REAL_BUILD = Path(os.environ.get("SCHEDSHARD_BUILD") or ROOT / "build" / "release")


Cli = Callable[..., Outcome]
Golden = Callable[[str, str], None]


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Stand-ins for the tools, no measured host, and a narrow plain terminal."""
    monkeypatch.setenv("SCHEDSHARD_BUILD", str(FAKES))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data-home"))
    monkeypatch.delenv("FAKE_SIM", raising=False)


@pytest.fixture
def cli(stand_ins: None, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Call the command line in this process."""

    def made(*args: str | Path) -> Outcome:
        return call(capsys, *args)

    return made


@pytest.fixture
def real(stand_ins: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The build tree with the real tools."""
    if not (REAL_BUILD / "model" / "experiments" / "schedshard-sim").is_file():
        pytest.skip(f"nothing is built in {REAL_BUILD}")
    monkeypatch.setenv("SCHEDSHARD_BUILD", str(REAL_BUILD))
    return REAL_BUILD


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that run the real tools: they depend on what is compiled."""
    for item in items:
        if "real" in getattr(item, "fixturenames", ()):
            item.add_marker("real")


@pytest.fixture
def yield_result(cli: Cli, tmp_path: Path) -> Path:
    """A saved result of the yield experiment."""
    path = tmp_path / "yield.json"
    assert cli("run", "cpumask-yield", "--out", path).status == 0
    return path


@pytest.fixture
def curve_result(cli: Cli, tmp_path: Path) -> Path:
    """A saved result of the counter's curve."""
    path = tmp_path / "curve.json"
    assert cli("run", "atomic-inc", "--cpus", "16", "--out", path).status == 0
    return path


def assert_user_error(outcome: Outcome, *words: str, status: int = 2) -> None:
    """One line on stderr, nothing on stdout, the promised status, and the words in the line."""
    assert outcome.status == status
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("schedshard: ")
    assert "Traceback" not in lines[0]
    for word in words:
        assert word in lines[0], lines[0]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Copy the experiments, add one with several figures, and return the file of that one."""
    directory = tmp_path / "experiments"
    shutil.copytree(EXPERIMENTS, directory, ignore=shutil.ignore_patterns("*.c", "*.h", "rt"))
    monkeypatch.setattr("model.run.experiment.EXPERIMENTS", directory)
    return Path(shutil.copy(FIGURES, directory))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden, which writes the files in folders `golden` beside the tests."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare an output with the golden file of a name."""

    def same(name: str, text: str) -> None:
        path = request.path.parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{path.name}: pytest --update-golden"

    return same
