# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A gate on the exact recorder needs no tolerance, because nothing is random."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from running import HERE, MACHINE, NEEDED, call, compiled

from common.paths import ROOT, build_dir

pytestmark = NEEDED

SOURCE = HERE / "gated.c"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program, two that are worse, and a baseline of the first."""
    folder = tmp_path_factory.mktemp("gated")
    for name in ("GOOD", "SIDE", "WORSE"):
        compiled(folder / name, "gcc", f"-D{name}", str(SOURCE))
    done = gated(folder / "GOOD", folder, "--update-baseline")
    assert done.returncode == 0, done.stderr
    assert "saved the baseline" in done.stderr
    return folder


def gated(
    program: Path, folder: Path, *options: str, words: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return call(
        *("record", "--exact", "--machine", MACHINE, "--cpus", "16", "--no-advice"),
        *("--baseline", str(folder / "base.json"), *options, "--", str(program), *words),
    )


def test_the_same_program_passes_without_any_tolerance(made: Path) -> None:
    done = gated(made / "GOOD", made)
    assert (done.returncode, done.stdout) == (0, "4 threads\n")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("gate: passed: no line appeared or grew by more than 0% since ")


def test_a_baseline_with_other_flags_is_refused(tmp_path: Path) -> None:
    """Regression: a baseline with -O1 failed with a growth of 92%."""
    one, two, maps = (
        compiled(tmp_path / name, "gcc", "-DGOOD", flag, str(SOURCE))
        for name, flag in (("1", "-O1"), ("2", "-O2"), ("3", "-ffile-prefix-map=/a=/b"))
    )
    assert gated(two, tmp_path, "--update-baseline").returncode == 0
    done = gated(one, tmp_path)
    assert (done.returncode, done.stdout) == (2, "4 threads\n")
    assert "other flags of the compiler (none of its own) than this report (-O1)" in done.stderr
    assert gated(maps, tmp_path).returncode == 0


ON_THE_STACK = """
#include <pthread.h>

static void *work(void *at)
{
	for (int i = 0; i < 200; i++)
		__atomic_fetch_add((long *)at, 1, __ATOMIC_RELAXED);
	return 0;
}

int main(void)
{
	long a[2] = { 0, 0 };
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, work, &a[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return a[0] + a[1] != 400;
}
"""


def test_the_length_of_the_environment_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment lies on the stack, and would move main()'s data within their lines."""
    source = tmp_path / "stack.c"
    source.write_text(ON_THE_STACK, encoding="utf-8")
    made = compiled(tmp_path / "stack", "gcc", str(source))
    assert gated(made, tmp_path, "--update-baseline").returncode == 0
    for length in (8, 40):
        monkeypatch.setenv("PADDING", "x" * length)
        monkeypatch.setenv("MORE", "x")
        done = gated(made, tmp_path)
        assert done.returncode == 0, done.stderr
        monkeypatch.delenv("MORE")
    longer = tmp_path / "a-folder-with-a-longer-name"
    longer.mkdir()
    shutil.copy(tmp_path / "base.json", longer)
    done = gated(Path(shutil.copy(made, longer)), longer, words=("and", "more", "words"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["SIDE", "WORSE"])
def test_a_worse_one_closes_the_gate_at_its_line(made: Path, tmp_path: Path, name: str) -> None:
    files = ("--sarif", str(tmp_path / "s"), "--junit", str(tmp_path / "j"), "--annotate")
    done = gated(made / name, made, "--fail-above", "5%", *files)
    assert (done.returncode, done.stdout) == (4, "4 threads\n")
    assert done.stderr.splitlines()[-1].startswith("gate: failed: 1 line ")
    log: Any = json.loads((tmp_path / "s").read_text(encoding="utf-8"))
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {
        "uri": "record/tests/exact/gated.c",
        "uriBaseId": "SRCROOT",
    }
    line = SOURCE.read_text(encoding="utf-8").splitlines()[place["region"]["startLine"] - 1]
    assert "atomic_fetch_add" in line
    assert (
        f"::error file=record/tests/exact/gated.c,line={place['region']['startLine']},"
        in done.stderr
    )
    assert ElementTree.parse(tmp_path / "j").find(".//failure") is not None


def test_a_program_that_fails_is_not_judged(made: Path, tmp_path: Path) -> None:
    """The command has the program's status, and replaces the verdict of an earlier run."""
    files = ("--sarif", str(tmp_path / "s"), "--junit", str(tmp_path / "j"))
    gated(made / "WORSE", made, *files)
    done = gated(made / "WORSE", made, *files, words=("4", "3"))
    assert done.returncode == 3
    message = "gate: not judged: the program ended with status 3"
    assert done.stderr.splitlines()[-1] == message
    run = json.loads((tmp_path / "s").read_text(encoding="utf-8"))["runs"][0]
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": False, "exitCode": 3}]
    assert ElementTree.parse(tmp_path / "j").find(".//error") is not None


def test_a_failing_program_is_no_baseline(made: Path, tmp_path: Path) -> None:
    shutil.copy(made / "base.json", tmp_path / "base.json")
    before = (tmp_path / "base.json").read_bytes()
    done = gated(made / "GOOD", tmp_path, "--update-baseline", words=("4", "3"))
    assert done.returncode == 3
    assert (tmp_path / "base.json").read_bytes() == before


def test_several_seeds_have_an_interval(made: Path) -> None:
    done = gated(made / "WORSE", made, "--seeds", "3", "--fail-above", "5%")
    assert done.returncode == 4
    assert "%, +" in done.stderr.splitlines()[-1]


# ---- the recipe of docs/gate.md ----


def block(language: str, mark: str) -> str:
    """Return the one code block of docs/gate.md that contains ``mark``."""
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    blocks = page.split("```")[1::2]
    texts = [text for text in blocks if text.startswith(f"{language}\n") and mark in text]
    assert len(texts) == 1
    return texts[0].removeprefix(f"{language}\n")


@pytest.mark.skipif(shutil.which("ctest") is None, reason="needs CMake")
@pytest.mark.parametrize(("name", "passes"), [("GOOD", True), ("WORSE", False)])
def test_the_recipe_for_ctest_runs(made: Path, tmp_path: Path, name: str, passes: bool) -> None:
    at = tmp_path / "at"
    at.mkdir()
    source = SOURCE.read_text(encoding="utf-8")
    (at / "server.c").write_text(f"#define {name}\n{source}", encoding="utf-8")
    (at / "CMakeLists.txt").write_text(block("cmake", "add_test"), encoding="utf-8")
    command = tmp_path / "schedshard"
    python = shlex.quote(sys.executable)
    command.write_text(f'#!/bin/sh\nexec {python} -m cli "$@"\n', encoding="ascii")
    command.chmod(0o755)
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), "CC": "gcc",
        "SCHEDSHARD_BUILD": str(build_dir().resolve()),
    }  # fmt: skip

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240, check=False
        )

    done = run("cmake", "-S", str(at), "-B", "built", f"-DSCHEDSHARD={command}")
    assert done.returncode == 0, done.stderr
    done = run("cmake", "--build", "built")
    assert done.returncode == 0, done.stdout
    good = run("cmake", "--build", "built", "--target", "contention-baseline")
    assert good.returncode == 0, good.stdout
    base = json.loads((at / "contention.json").read_text(encoding="utf-8"))
    if not passes:
        # Halve the transfers, as if the good program had been recorded.
        for variant in base["variants"]:
            for line in variant["runs"][0]["lines"]:
                line["hitm"] /= 2
        (at / "contention.json").write_text(json.dumps(base), encoding="utf-8")
    done = run("ctest", "--test-dir", "built", "--output-on-failure")
    assert (done.returncode == 0) == passes, done.stdout
    assert passes or "gate: failed: " in done.stdout
