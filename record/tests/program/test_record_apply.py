# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --apply-check makes the edit in a copy of the source, and reports the two gains."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from recording import built, needs, run

from common.paths import ROOT, build_dir
from record.apply import edited

HERE = Path(__file__).parent
EXACT = ("--exact", "--cpus", "16", "--machine", "epyc-7763-2s")
C, CXX = "_Alignas(64)", "alignas(64)"

# A source, the edit (what, whether of the first member, name, line), and the edited source.
EDITS = [
    ("struct a { long x; };", (C, True, "a", 1), f"struct a {{ {C} long x; }};"),
    ("struct a\n/* { */\n{\n};", (C, True, "a", 1), f"struct a\n/* {{ */\n{{ {C}\n}};"),
    ("struct a { int x;\nlong y; };", (C, False, "y", 2), f"struct a {{ int x;\n{C} long y; }};"),
    ("#define T 1; 2\nstatic T n[2];", (C, False, "n", 2), f"#define T 1; 2\n{C} static T n[2];"),
    ("struct { int x; } one;", (C, False, "one", 1), f"struct {{ int x; }} {C} one;"),
    ("long f(int, int), n;", (C, False, "n", 1), None),
    ("long n = f(1, 2), *m;", (C, False, "n", 1), None),
    ("long f; // n", (C, False, "n", 1), None),
    ("long m;", (C, False, "m", 2), None),
    ("struct a;", (C, True, "a", 1), None),
    ("struct a : b { };", (CXX, False, "a", 1), f"struct {CXX} a : b {{ }};"),
    ("class alignas(8) a { };", (CXX, False, "a<long>", 1), f"class alignas(8) {CXX} a {{ }};"),
    ("long m, n{7}, o;", (CXX, False, "n", 1), f"long m, n {CXX}{{7}}, o;"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "edit", "changed"), EDITS)
def test_a_declaration_is_aligned(
    source: str, edit: tuple[str, bool, str, int], changed: str | None
) -> None:
    assert edited(source, *edit) == changed


def made(name: str) -> str:
    return f"{ROOT}/schedshard cc -O2 -g -pthread {name}.c -o {name}"


def checked(folder: Path, name: str, *words: str, build: str = "") -> tuple[int, str]:
    """Check the advice for a program in a folder; return status and the last line of errors."""
    shutil.copy(HERE / "together.h", folder)
    built(folder, made(name), (folder / f"{name}.c").read_text(encoding="utf-8"))
    done = run("record", *EXACT, "--apply-check", build or made(name), "--", f"./{name}", *words,
               cwd=folder)  # fmt: skip
    return done.returncode, done.stderr.splitlines()[-1]


@needs(build_dir() / "record" / "exact" / "libschedshard-exact.so")
def test_the_promise_is_what_the_edited_program_saves(tmp_path: Path) -> None:
    source = shutil.copy(HERE / "published.c", tmp_path)
    before = Path(source).read_bytes()
    status, message = checked(tmp_path, "published", "o", "300")
    assert status == 0, message
    match = re.fullmatch(
        r"apply-check: `_Alignas\(64\)` on the first member of `object` \(published\.c:\d+\): "
        r"fewer cycles: promised ([\d.]+)%, got ([\d.]+)% on epyc-7763-2s",
        message,
    )
    assert match is not None, message
    assert float(match[1]) > 50
    assert float(match[2]) == pytest.approx(float(match[1]), abs=3)
    assert Path(source).read_bytes() == before
    # Without a change of the structure there is nothing to gain, so the check can fail.
    undone = f"sed -i 's/_Alignas(64)/ /' published.c && {made('published')}"
    status, message = checked(tmp_path, "published", "o", "300", build=undone)
    assert status == 0, message
    assert abs(float(message.rpartition("got ")[2].partition("%")[0])) < 3


ROW = r"""
#include "together.h"
static _Alignas(64) unsigned long row[8];
static void *work(void *me)
{
	for (int i = 0; i < 300; i++)
		__atomic_fetch_add(&row[(long)me], 1, __ATOMIC_RELAXED);
	return NULL;
}
int main(void) { together(2, work); return 0; }
"""


@needs(build_dir() / "record" / "exact" / "libschedshard-exact.so")
def test_what_cannot_be_edited_or_built_is_refused(tmp_path: Path) -> None:
    (tmp_path / "row.c").write_text(ROW, encoding="utf-8")
    status, message = checked(tmp_path, "row")
    assert status == 1
    assert "--apply-check: only an alignment can be applied, not the edit: elements of" in message
    shutil.copy(HERE / "published.c", tmp_path)
    status, message = checked(tmp_path, "published", "o", "300", build="echo none")
    assert status == 1
    assert message.endswith("'echo none' ended with no published in the copy")
    (tmp_path / "more").mkdir()
    shutil.copy(HERE / "published.c", tmp_path / "more")
    status, message = checked(tmp_path, "published", "o", "300")
    assert status == 1
    assert "this folder has 2 files named published.c, not one" in message
