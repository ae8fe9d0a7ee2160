# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""schedshard-doctor runs on every Python from 3.9 on, as one file and as a wheel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import doctor_alone
import pytest
import trial_alone

from doctor_tree import Machine, tar
from test_doctor_predict import big
from test_doctor_verdict import DATA, groups, partitions

NUMBERS = "import sys; print(*sys.version_info[:2], sys.executable)"
# Packages of the lock file; everything else comes with Python.
THIRD_PARTY = {"click", "jinja2", "rich", "tomli"}


def pythons() -> list[str]:
    """Return an interpreter of each version from 3.9 on that is on the path."""
    paths: dict[tuple[int, int], str] = {}
    names = ["python3", *(f"python3.{minor}" for minor in range(9, 30))]
    folders = [*os.get_exec_path(), *(str(p.parent) for p in Path.home().glob(".pyenv/v*/*/bin/*"))]
    # In one order: each process of the tests must find the same.
    for candidate in sorted({str(Path(folder) / name) for folder in folders for name in names}):
        if os.access(candidate, os.X_OK):
            done = subprocess.run([candidate, "-Ic", NUMBERS], capture_output=True, text=True)
            if done.returncode == 0:
                major, minor, path = done.stdout.split(maxsplit=2)
                paths.setdefault((int(major), int(minor)), path.strip())
    return [path for version, path in sorted(paths.items()) if version >= (3, 9)]


@pytest.fixture(scope="module")
def made() -> dict[str, Path]:
    """Return the files that `make doctor` makes, by their suffixes."""
    subprocess.run([sys.executable, doctor_alone.__file__], check=True, stdout=subprocess.DEVNULL)
    return {path.suffix: path for path in doctor_alone.made()}


@pytest.mark.slow(reason="makes the file twice")
def test_the_same_sources_make_the_same_file(made: dict[str, Path], tmp_path: Path) -> None:
    doctor_alone.make_pyz(sys.executable, tmp_path / "again.pyz")
    assert (tmp_path / "again.pyz").read_bytes() == made[".pyz"].read_bytes()


def call(*argv: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program outside of the checkout, without what could help it to find the checkout."""
    environment = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    words = [str(word) for word in argv]
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("less", "message"),
    [
        ("sys.version_info = (3, 6, 8)", "this is Python 3.6, and 3.9 or later is needed"),
        ("sys.modules['shutil'] = None", "install the package python3, not only python3-minimal"),
    ],
)
@pytest.mark.parametrize("main", [doctor_alone.MAIN, trial_alone.MAIN], ids=["doctor", "trial"])
def test_an_older_or_smaller_python_gets_one_line(
    tmp_path: Path, main: str, less: str, message: str
) -> None:
    """On RHEL 8, whose Python is 3.6, a program imports none of its modules before it refuses."""
    (tmp_path / "main.py").write_text(f"import sys\n{less}\nexec({main!r})\n")
    done = call(sys.executable, "-I", tmp_path / "main.py", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("schedshard-")
    assert message in done.stderr


@pytest.mark.slow(reason="some runs on each Python of this machine")
@pytest.mark.parametrize("python", pythons())
def test_one_file_on_every_python(made: dict[str, Path], tmp_path: Path, python: str) -> None:
    machine = Machine(tasks=groups(1_000_000), cgroups=partitions("isolated"))
    host = tar(tmp_path, machine)
    program = (python, "-I", "-W", "error", made[".pyz"])
    page, metrics = tmp_path / "page.html", tmp_path / "metrics"
    done = call(*program, host, "--html", page, cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    assert "more: schedshard-doctor.pyz explain" in done.stdout
    assert page.read_text().count('class="scroll machine"') == 1

    done = call(*program, "--json", host, "--perf", DATA / "c2c-mail.txt", cwd=tmp_path)
    assert [profile["kind"] for profile in json.loads(done.stdout)["profiles"]] == [
        "perf c2c report"
    ]
    assert call(*program, host, "--batch", "nagios", cwd=tmp_path).returncode == 2
    done = call(*program, host, "--batch", "prometheus", "--out", metrics, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "schedshard_doctor_verdict 4" in metrics.read_text()

    live = call(*program, "--seconds", "1", cwd=tmp_path)
    assert live.returncode in (0, 3, 4), live.stderr
    assert "this host: Linux" in live.stdout


@pytest.mark.long
def test_the_stored_table_serves(made: dict[str, Path], tmp_path: Path) -> None:
    host = tar(tmp_path, big("AMD EPYC 7763 64-Core Processor"))
    done = call(pythons()[0], "-I", made[".pyz"], host, cwd=tmp_path)
    assert "predicted on machine file epyc-7763-2s" in " ".join(done.stdout.split())


def test_what_it_says_of_what_it_lacks(made: dict[str, Path], tmp_path: Path) -> None:
    program = (sys.executable, "-I", made[".pyz"])
    done = call(*program, "--predict", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("schedshard-doctor: --predict needs the simulator")
    assert done.stderr.count("\n") == 1
    version = doctor_alone.ROOT.joinpath("VERSION").read_text()
    assert call(*program, "--version", cwd=tmp_path).stdout == f"schedshard-doctor {version}"
    script = call(*program, "collect", cwd=tmp_path).stdout
    assert script == made[".sh"].read_text()


def test_nothing_compiled_and_nothing_else_inside(made: dict[str, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(made[".pyz"]) as archive:
        names = archive.namelist()
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
    packages = {name.split("/")[0] for name in names if "/" in name and ".dist-info" not in name}
    assert packages == {*THIRD_PARTY, "markupsafe", "cli", "common", "doctor", "model"}
    code = (
        "import sys, cli.alone, doctor.verdict.html\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    # -S -P: neither this environment's packages nor this folder.
    argv = [sys.executable, "-SPc", code]
    done = subprocess.run(
        argv, env={"PYTHONPATH": str(made[".pyz"])}, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert not {"numpy", "pandas", "matplotlib", "elftools"} & set(done.stdout.split())


def test_wheel(made: dict[str, Path], tmp_path: Path) -> None:
    assert made[".whl"].name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(made[".whl"]) as archive:
        archive.extractall(tmp_path / "lib")
    # The packages that it needs are those of the one file.
    path = f"{tmp_path / 'lib'}:{doctor_alone.OUT / 'pyz'}"
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from schedshard_doctor import start; start()", "--version"],
        env={"PYTHONPATH": path}, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout.startswith("schedshard-doctor "), done.stderr
    (metadata,) = (tmp_path / "lib").glob("*.dist-info/METADATA")
    assert "Requires-Python: >=3.9" in metadata.read_text()


@pytest.mark.parametrize("start", [doctor_alone.START, trial_alone.START])
def test_sources_keep_to_python_3_9(start: str) -> None:
    vermin = Path(sys.executable).with_name("vermin")
    argv = [str(vermin), "--eval-annotations", "--violations", "-t=3.9-"]
    argv += map(str, doctor_alone.modules(start))
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
