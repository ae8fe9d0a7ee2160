# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""lib/tests/abi.py notices each change of a library that breaks programs, and shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from common.paths import ROOT

SOURCE = """
typedef unsigned int u32;
enum why { FINE, BAD = 4 };
struct inner { char text[8]; short flag : 3; union { int a; float b; }; };
struct set { u32 nr; u32 size; struct inner *in; long at[]; } __attribute__((aligned(16)));
u32 count(const struct set *s, int from) { return s->nr + (u32)from; }
enum why check(void (*say)(const char *, ...), struct set *const *all)
{
	say("x", all);
	return BAD;
}
u32 unused(void) { return 1; }
"""
EXPECTED = """\
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
MADE_0:
enum why check(void (*)(const char *, ...), struct set *const *)
u32 count(const struct set *, s32)
u32 unused(void)
enum why, 4 bytes: FINE=0, BAD=4
struct inner, 16 bytes: 0 char text[8], 8.0 s16 flag:3, 12 union {0 s32 a, 0 float b}
struct set, 16 bytes aligned to 16: 0 u32 nr, 4 u32 size, 8 struct inner *in, 16 s64 at[]
"""
# Changes of the source, and whether they break programs that were linked before.
CHANGES = [
    ("", "", None),
    ("u32 nr;", "int nr;", True),
    ("u32 nr; u32 size;", "u32 size; u32 nr;", True),
    ("BAD = 4", "BAD = 5", True),
    ("const char *, ...", "const char *, int", True),
    ("u32 unused", "void more(long n) { (void)n; }\nu32 unused", False),
]


def described(folder: Path, source: str, *args: str) -> tuple[int, str]:
    """Compile a library and call abi.py with it."""
    (folder / "made.c").write_text(source)
    (folder / "made.map").write_text("MADE_0 { global: *; };")
    command = ["gcc", "-g", "-O2", "-shared", "-fPIC", "-Wl,--version-script=made.map", "made.c"]
    subprocess.run([*command, "-o", "libmade.so"], cwd=folder, check=True)
    words = [sys.executable, str(ROOT / "lib/tests/abi.py"), *args, str(folder / "libmade.so")]
    done = subprocess.run(
        [*words, str(folder / "abi.txt")], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.mark.parametrize(("old", "new", "breaks"), CHANGES)
def test_changes_of_a_library(tmp_path: Path, old: str, new: str, breaks: bool | None) -> None:
    described(tmp_path, SOURCE, "--write")
    assert (tmp_path / "abi.txt").read_text() == EXPECTED
    assert old in SOURCE
    status, out = described(tmp_path, SOURCE.replace(old, new, 1))
    assert status == (breaks is not None)
    assert ("Programs that were linked before break" in out) is bool(breaks)
    assert ("Programs that were linked before still run" in out) is (breaks is False)
