# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""c2c record --exact: latent false sharing, in runs with lines that begin elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from running import COMPILERS, HERE, MACHINE, NEEDED, call, compiled, runs

pytestmark = NEEDED

FOUND = {
    "moves": {("heap: by_luck", 64)},
    "pairs": {("heap: aligned", 128)},
    "fixed": {("fixed", 128)},
    "alone": {("heap: aligned", 128)},
    "apart": set(),
}


def record(program: Path, how: str) -> Any:
    return call("c2c", "record", "--exact", "--machine", MACHINE, "--json", "--", str(program), how)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_sleeps_is_found(compiler: str, tmp_path: Path) -> None:
    source = HERE.parent / "record" / "latent.c"
    program = compiled(tmp_path / "latent", compiler, str(source))
    first = compiler == COMPILERS[0]
    for how, known in FOUND.items():
        # Each kind takes six runs or more, so the other compiler gets only one kind.
        if not first and how != "moves":
            continue
        done = record(program, how)
        assert done.returncode == 0, done.stderr
        latent = json.loads(done.stdout)["latent"]
        found = {(each["object"].partition(" (")[0], each["line_bytes"]) for each in latent}
        # With "moves" the elements also share a pair of lines.
        assert {each for each in found if how != "moves" or each[1] == 64} == known
        assert not first or how != "moves" or record(program, how).stdout == done.stdout


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("size", [64, 128])
def test_halves_of_a_line_keep_their_values(size: int, compiler: str, tmp_path: Path) -> None:
    program = compiled(tmp_path / "halves", compiler, str(HERE / "halves.c"))
    assert runs(program, tmp_path, lines=(0, size)).status == 0
