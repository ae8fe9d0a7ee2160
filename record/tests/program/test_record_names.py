# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`record` names objects that share a line, Fortran's variables, and odd files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import running
from elftools.elf.elffile import ELFFile
from recording import Report, built, hitm_of, hot_lines, quiet, record_to, recorded

from common.paths import ROOT
from record.lines.symbols import resolve
from record.names.elf_symbols import elf_symbols
from record.names.modules import Modules
from record.names.variables import DebugInfo, Typed, type_name

# Two functions allocate 24 bytes each, in one line; each thread uses one of the objects.
TWO = r"""
#include <stdint.h>
#include <stdlib.h>
#include "together.h"
struct hits { long n, other; };
struct misses { long last, n; };
static struct hits *hits;
static struct misses *misses;
__attribute__((noinline)) static void make_hits(void) { hits = calloc(1, sizeof(*hits)); }
__attribute__((noinline)) static void make_misses(void) { misses = calloc(1, sizeof(*misses)); }
static void *work(void *me)
{
	pthread_barrier_wait(&ready);
	for (int i = 0; me && i < 3000; i++)
		__atomic_fetch_add(&hits->n, 1, __ATOMIC_RELAXED);
	for (int i = 0; !me && i < 3000; i++)
		__atomic_fetch_add(&misses->n, 1, __ATOMIC_RELAXED);
	return NULL;
}
int main(void)
{
	do {
		make_hits();
		make_misses();
	} while ((uintptr_t)hits / 64 != (uintptr_t)misses / 64);
	together(2, work);
	return 0;
}
"""


@recorded
def test_what_is_another_objects_says_whose_it_is(tmp_path: Path) -> None:
    """Regression: the fields of two objects in a line were shown as fields of the first."""
    owners = {"struct hits": "make_hits", "struct misses": "make_misses"}
    line = hot_lines(built(tmp_path, "gcc -O1 -g -pthread two.c -o two", TWO))[0]
    (other,) = set(owners) - {line["type"]}
    assert {access["field"] for access in line["accesses"][:2]} == {"n", f"{other}.n"}
    (beside,) = line["beside"]
    assert beside["object"].startswith(f"heap: {owners[other]} (two.c:")
    assert beside["allocated"][0]["function"] == owners[other]
    assert line["allocated"][0]["function"] == owners[line["type"]]


@recorded
@pytest.mark.parametrize("exact", [False, True])
def test_a_segment_of_system_v_is_an_object(tmp_path: Path, exact: bool) -> None:
    """Regression: the segment had neither name nor type, and the report predicted no gain."""
    source, made = ROOT / "record" / "tests" / "exact" / "segment.c", tmp_path / "segment"
    if exact:
        running.compiled(made, "gcc", str(source))
    else:
        subprocess.run(["gcc", "-O2", "-g", "-pthread", str(source), "-o", str(made)], check=True)

    def make() -> Report:
        return record_to(tmp_path / "out.json", made, options=("--exact",) if exact else ())[1]

    def holds(report: Report) -> bool:
        line = report["variants"][0]["lines"][0]
        if hitm_of(line) < 100:
            return False
        assert line["object"].startswith("heap: main (record/tests/exact/segment.c:")
        assert line["type"] == "struct score"
        assert {access["field"] for access in line["accesses"]} == {f"[{i}].hits" for i in range(4)}
        return any("struct score" in advice["words"] for advice in report["advice"])

    quiet(make, holds)


@recorded
def test_copies_of_an_unrolled_loop_are_one_access(tmp_path: Path) -> None:
    """Regression: eight copies of one access filled the table, and the other one was missing."""
    text = TWO.replace("\tfor (int i", "#pragma GCC unroll 8\n\tfor (int i")
    assert text.count("unroll") == 2
    built(tmp_path, "gcc -O2 -g -pthread two.c -o two", text)
    code = subprocess.run(["objdump", "-d", tmp_path / "two"], capture_output=True, check=True)
    assert code.stdout.count(b"lock ") >= 16

    def holds(report: Report) -> bool:
        line = report["variants"][0]["lines"][0]
        if hitm_of(line) < 1000:
            return False
        adds = [access for access in line["accesses"] if access["kind"] == "rmw"]
        assert sorted(access["records"] for access in adds) == [3000, 3000]
        return len({access["field"] for access in adds}) == 2

    quiet(lambda: record_to(tmp_path / "out.json", tmp_path / "two")[1], holds)


FORTRAN = """
module counts
  implicit none
  integer(8) :: table(3,0:4)
end module
program p
  use counts
  implicit none
  integer(8) :: hits(8), total(2:3)
  common /counters/ hits, total
  hits = 1
  total = 2
  table = 3
  print *, sum(hits), sum(total), sum(table)
end program
"""


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="needs gfortran")
def test_variables_of_fortran(tmp_path: Path) -> None:
    """Regression: common blocks had no fields, module variables no types.

    Arrays were too long.
    """
    (tmp_path / "p.f90").write_text(FORTRAN, encoding="ascii")
    made = tmp_path / "p"
    words = ["gfortran", "-O1", "-g", str(tmp_path / "p.f90"), "-J", str(tmp_path), "-o", str(made)]
    subprocess.run(words, check=True)
    with made.open("rb") as file:
        all_of_it = list(elf_symbols(ELFFile(file), ".symtab"))
    info = DebugInfo(made)

    def variable(name: str) -> Typed:
        (address,) = {symbol.address for symbol in all_of_it if symbol.name == name}
        return info.variables({address})[address]

    common = variable("counters_")
    assert (common.name, common.size, common.element) == ("common /counters/", 80, None)
    assert [common.field(at) for at in (0, 56, 64, 72, 80)] == [
        ".hits[1]", ".hits[8]", ".total[2]", ".total[3]", "",
    ]  # fmt: skip
    assert common.row(16) == ("integer(kind=8)", 8, ".hits")
    assert (common.row(80), common.whole(0)) == (None, None)
    table = variable("__counts_MOD_table")
    assert (table.name, table.size) == ("integer(kind=8)[]", 120)
    assert [table.field(at) for at in (0, 16, 24, 112)] == ["[1][0]", "[3][0]", "[1][1]", "[3][4]"]
    info.close()


@pytest.mark.parametrize("name", ["pro\ngram", r"pro\012gram"])
def test_a_file_with_a_line_feed_in_its_name(tmp_path: Path, name: str) -> None:
    """The kernel's list escapes the line feed; a file's real name may look like that as well."""
    shutil.copy("/proc/self/exe", tmp_path / name)
    entry = str(tmp_path / name).replace("\n", r"\012")
    (module,) = Modules([(0x400000, 0x401000, 0, entry)]).modules
    assert module.path == tmp_path / name
    (gone,) = Modules((), gone=[(0, 0x400000, 0x401000, 0, entry)]).modules
    assert gone.path == tmp_path / name


@pytest.mark.parametrize("tool", ["addr2line", "llvm-addr2line"])
@pytest.mark.parametrize("folder", [b"two\nlines", b"two\n0\nlines", b"caf\xe9"])
def test_a_source_in_a_folder_with_an_odd_name(tmp_path: Path, folder: bytes, tool: str) -> None:
    """Regression: the report had '?', or nothing, for the sources of all functions there."""
    if shutil.which(tool) is None:
        pytest.skip(f"no {tool}")
    where = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + folder))
    where.mkdir()
    (where / "p.c").write_text("int main(void)\n{\n\treturn 0;\n}\n", encoding="utf-8")
    # An endbr64 would take four bytes of the function's first line.
    words = ["gcc", "-g", "-fcf-protection=none", "p.c", "-o", "p"]
    subprocess.run(words, check=True, cwd=where)
    with (where / "p").open("rb") as file:
        symbols = list(elf_symbols(ELFFile(file), ".symtab"))
    (main,) = (symbol.address for symbol in symbols if symbol.name == "main")
    frames = resolve(where / "p", [main, main + 4], tool)
    assert [[(f.function, f.source) for f in frames[at]] for at in (main, main + 4)] == [
        [("main", "p.c:2")], [("main", "p.c:3")],
    ]  # fmt: skip


COROUTINE = """
#include <coroutine>
struct task {
	struct promise_type {
		task get_return_object() { return {}; }
		std::suspend_never initial_suspend() { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
};
namespace jobs { task count(long &n) { n++; co_return; } }
"""


def test_the_frame_of_a_coroutine_has_its_functions_name(tmp_path: Path) -> None:
    """Regression: the frame's type had the mangled name '_ZN4jobs5countERl.Frame'."""
    built(tmp_path, "g++ -std=c++20 -g -shared -fPIC c.cc -o c.so", COROUTINE)
    info = DebugInfo(tmp_path / "c.so")
    names = {
        type_name(die, cplusplus=True)
        for unit in info.units()
        for die in unit.iter_DIEs()
        if die.tag == "DW_TAG_structure_type"
    }
    info.close()
    assert {name for name in names if name.endswith(".Frame")} == {"jobs::count.Frame"}
