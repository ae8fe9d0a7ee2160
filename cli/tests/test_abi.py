# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""lib/tests/abi.py notices each change of a library that breaks programs, and shows it."""

from __future__ import annotations

import shutil
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
MUTANTS = {
    "a member's type": ("u32 nr;", "int nr;"),
    "two members": ("u32 nr; u32 size;", "u32 size; u32 nr;"),
    "an enumerator": ("BAD = 4", "BAD = 5"),
    "a callback": ("const char *, ...", "const char *, int"),
}
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


def described(folder: Path, source: str, version: str = "MADE_0", *args: str) -> tuple[int, str]:
    """Compile a library and call abi.py with it."""
    (folder / "made.c").write_text(source)
    (folder / "made.map").write_text(f"{version} {{ global: *; }};")
    library = folder / "libmade.so"
    command = ["gcc", "-g", "-O2", "-shared", "-fPIC", "-Wl,--version-script=made.map"]
    subprocess.run([*command, "made.c", "-o", library.name], cwd=folder, check=True)
    done = subprocess.run(
        [sys.executable, ROOT / "lib/tests/abi.py", *args, library, folder / "abi.txt"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    described(tmp_path, SOURCE, "MADE_0", "--write")
    return tmp_path


def test_a_description_is_complete_and_its_library_passes(folder: Path) -> None:
    assert (folder / "abi.txt").read_text() == EXPECTED
    assert described(folder, SOURCE)[0] == 0


@pytest.mark.parametrize("change", MUTANTS.values(), ids=MUTANTS)
def test_a_change_that_breaks_programs_fails(folder: Path, change: tuple[str, str]) -> None:
    assert SOURCE.count(change[0]) == 1
    status, out = described(folder, SOURCE.replace(*change))
    assert status == 1
    assert "Programs that were linked before break" in out
    assert "abi.py --write" in out


def test_a_new_function_must_be_described_but_breaks_nothing(folder: Path) -> None:
    status, out = described(folder, SOURCE + "void more(long n) { (void)n; }\n")
    assert status == 1
    assert out.startswith("+ void more(s64)\nPrograms that were linked before still run.\n")
