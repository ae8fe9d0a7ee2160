# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact --stacks shows the program's calls that led to a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import COMPILERS, HERE, NEEDED, compiled, record
from ways import WAYS, ways

pytestmark = NEEDED


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_calls_are_the_programs(compiler: str, tmp_path: Path) -> None:
    source = HERE.parent / "program" / "ways.c"
    program = compiled(tmp_path / "ways", compiler, str(source))
    done = record(program, "0", options=("--stacks", "--lines", "50"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {name: ways(report, name) for name in WAYS} == WAYS
    again = record(program, "0", options=("--stacks", "--lines", "50"))
    assert again.stdout == done.stdout


def test_stacks_do_not_change_what_happens(tmp_path: Path) -> None:
    program = compiled(tmp_path / "ways", COMPILERS[0], str(HERE.parent / "program" / "ways.c"))
    with_stacks, without = (
        json.loads(record(program, "0", options=options).stdout) for options in (("--stacks",), ())
    )
    assert with_stacks["variants"][0]["model"] == without["variants"][0]["model"]
    assert with_stacks["variants"][0]["hitm_total"] == without["variants"][0]["hitm_total"]
