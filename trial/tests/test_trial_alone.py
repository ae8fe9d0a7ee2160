# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""schedshard-trial.pyz, one file with its programs, runs on every Python from 3.9 on."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
import trial_alone

from test_doctor_alone import call, pythons
from trial.predict.stored import TITLES

LACKS = [compiler for compiler in trial_alone.COMPILERS.values() if shutil.which(compiler) is None]
pytestmark = pytest.mark.skipif(bool(LACKS), reason=f"no compiler {LACKS}")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    trial_alone.make(folder / "trial.pyz", folder / "tree")
    return folder / "trial.pyz"


@pytest.mark.slow(reason="compiles for two architectures, twice")
def test_the_same_sources_make_the_same_file(made: Path, tmp_path: Path) -> None:
    trial_alone.make(tmp_path / "again.pyz", tmp_path / "tree")
    assert (tmp_path / "again.pyz").read_bytes() == made.read_bytes()


# Two Pythons only, because each measures for half a minute.
@pytest.mark.slow(reason="compiles for two architectures, and measures twice")
@pytest.mark.parametrize("python", sorted({pythons()[0], pythons()[-1]}))
def test_it_runs_on_old_and_new_pythons(
    made: Path, tmp_path: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (python, "-I", "-W", "error", made)
    out = tmp_path / "trial.json"
    with monkeypatch.context() as patched:
        patched.setenv("PATH", "/nowhere")  # nine workloads would take a minute
        done = call(*words, "--minutes", "0.1", "--busy", "--out", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads(out.read_text())
    # Other tests may disturb any figure, but hardly all of them.
    names = {figure["name"] for figure in data["figures"]}
    assert names, done.stdout
    assert names <= set(TITLES)
    assert all(figure["kernel"] == "host" for figure in data["figures"])
    assert (
        call(*words, "show", out, cwd=tmp_path).stdout.splitlines()[0] == done.stdout.split("\n")[0]
    )
    listed = call(*words, "--dry-run", cwd=tmp_path).stdout
    for sum_ in data["tools"].values():
        assert sum_ in listed
    assert "stress-ng --cyclic" in listed
    wrong = call(*words, "show", made, cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trial.json"]


@pytest.mark.slow(reason="compiles for two architectures")
def test_nothing_else_is_inside_and_both_programs_are_static(made: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(made) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    assert {name.split("/")[0] for name in names} == {"__main__.py", "common", "doctor", "trial"}
    assert {name.split("/")[1] for name in names if name.startswith("doctor/") and name[7:]} == {
        "__init__.py", "facts", "predict",
    }  # fmt: skip
    for arch in trial_alone.COMPILERS:
        for program in trial_alone.PROGRAMS:
            path = tmp_path / "trial" / "programs" / arch / program
            words = ["readelf", "-hl", str(path)]
            header = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            assert "INTERP" not in header
            assert ("AArch64" if arch == "aarch64" else "X86-64") in header
