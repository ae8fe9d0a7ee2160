# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make mutants on a project with one function: one mutant is killed, one survives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "check" / "mutants" / "mutants.py"

SOURCE = """\
/* A comment with order(); and a < b in it is nobody's mutant. */
#define order() ((void)0)
#define weaker() ((void)1)

int clamp(int value, int most);

int clamp(int value, int most)
{
	if (value == 0)
		return most;
	order();
	return value > most ? most : value;
}
"""

TEST = """\
int clamp(int value, int most);

int main(void)
{
	return clamp(0, 7) != 7 || clamp(9, 7) != 7 || clamp(5, 7) != 5;
}
"""

BUILD = """\
project('tiny', 'c')
test('tiny-clamp', executable('clamp', 'clamp.c', 'test.c'), suite: 'unit')
"""

SETTINGS = """\
sources = ["clamp.c"]

[calls.always]
order = ["weaker()"]

[order]
ordering = ["unit"]
logic = ["unit"]

[[stage]]
name = "unit"
tests = ["--suite", "unit"]
seconds = 60
"""

COMPARISON = """
[[survivor]]
file = "clamp.c"
function = "clamp"
change = "value > most: > -> >="
reason = "the two are equal where it makes a difference"
"""

ORDER = """
[[survivor]]
file = "clamp.c"
function = "clamp"
change = "order() -> weaker()"
reason = "nothing is shared"
"""

KILLED = """
[[survivor]]
file = "clamp.c"
function = "clamp"
change = "value == 0: == -> !="
reason = "this is not so"
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tiny")
    (root / "clamp.c").write_text(SOURCE)
    (root / "test.c").write_text(TEST)
    (root / "meson.build").write_text(BUILD)
    (root / ".gitignore").write_text("build\nmutants.toml\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def run(project: Path, settings: str, *options: str) -> subprocess.CompletedProcess[str]:
    (project / "mutants.toml").write_text(settings)
    command = [sys.executable, str(SCRIPT), "--root", str(project)]
    command += ["--settings", str(project / "mutants.toml"), "--jobs", "1", *options]
    env = dict(os.environ, CC="gcc")
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def test_list_is_in_order(project: Path) -> None:
    done = run(project, SETTINGS, "--list")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "clamp.c:11 ordering clamp.c clamp() order() -> weaker() #1",
        "clamp.c:9 logic clamp.c clamp() value == 0: == -> != #1",
        "clamp.c:12 logic clamp.c clamp() value > most: > -> >= #1",
    ]


def test_survivors_without_a_reason_fail(project: Path) -> None:
    before = (project / "clamp.c").read_bytes()
    done = run(project, SETTINGS)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "3 mutants, 1 killed, 0 survived with a reason, 2 without" in done.stdout
    assert "WITHOUT A REASON, clamp.c:12 clamp.c clamp() value > most" in done.stdout
    assert "killed (unit: tiny-clamp)" in done.stderr
    assert (project / "clamp.c").read_bytes() == before


def test_reasons_are_enough_and_results_are_kept(project: Path) -> None:
    done = run(project, SETTINGS + COMPARISON + ORDER)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing is shared" in done.stdout
    assert "3, 3 from before" in done.stderr


def test_a_reason_for_what_is_killed_fails(project: Path) -> None:
    done = run(project, SETTINGS + COMPARISON + ORDER + KILLED)
    assert done.returncode == 1
    assert "is killed, and listed as a survivor: clamp.c clamp() value == 0" in done.stdout


def test_one_group(project: Path) -> None:
    done = run(project, SETTINGS + ORDER, "--group", "ordering")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 mutants, 0 killed, 1 survived with a reason" in done.stdout


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ("sources = 3", (), "order.ordering: None is not a list"),
        ("sources =", (), "Invalid value"),
        (SETTINGS + COMPARISON.replace("reason", "cause"), (), "reason is missing"),
        (SETTINGS.replace('logic = ["unit"]', 'logic = ["rd"]'), (), "no stage is called 'rd'"),
        (SETTINGS, ("--file", "other.c"), "--file other.c: not one of clamp.c"),
    ],
)
def test_bad_settings(project: Path, settings: str, options: tuple[str, ...], message: str) -> None:
    done = run(project, settings, *options)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_a_test_that_fails_anyway(project: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("clamp.c", "meson.build", ".gitignore"):
        (broken / name).write_bytes((project / name).read_bytes())
    (broken / "test.c").write_text("int main(void) { return 1; }\n")
    subprocess.run(["git", "init", "-q", str(broken)], check=True)
    done = run(broken, SETTINGS)
    assert done.returncode == 2
    assert "without any mutant: unit: tiny-clamp" in done.stderr
