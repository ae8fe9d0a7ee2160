# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact records a program in Rust, or says in a line that Rust is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from running import HERE, NEEDED, call, record

pytestmark = NEEDED


@pytest.fixture(scope="module")
def adds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program made with the stable compiler and --rustflags."""
    if shutil.which("rustc") is None:
        pytest.skip("needs rustc")
    asked = call("cc", "--rustflags")
    if asked.returncode == 2 and "lacks an option" in asked.stderr:
        pytest.skip("needs a newer rustc")
    assert asked.returncode == 0, asked.stderr
    made = tmp_path_factory.mktemp("rust") / "adds"
    subprocess.run(
        ["rustc", "-O", "-g", *asked.stdout.split(), str(HERE / "adds.rs"), "-o", made],
        env={**os.environ, "RUSTC_BOOTSTRAP": "1"},
        check=True,
    )
    return made


def test_a_program_in_rust(adds: Path) -> None:
    """The output is the native one, lines have names, and two reports are the same."""
    native = subprocess.run([adds], capture_output=True, text=True, check=True).stdout
    assert native == "4000 4000 8\n"
    first, second = (record(adds) for _ in range(2))
    assert (first.returncode, first.stderr, first.stdout) == (0, native, second.stdout)
    lines = json.loads(first.stdout)["variants"][0]["lines"]
    assert "adds::SUM" in {line["object"] for line in lines}
    assert sum(line["hitm_local"] + line["hitm_remote"] for line in lines) > 4000


def test_no_rust_is_one_line() -> None:
    done = call("cc", "--rustflags", RUSTC="no-such-rustc")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "no compiler no-such-rustc" in done.stderr
