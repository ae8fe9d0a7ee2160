# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`record` names memory and code of runtimes, and objects that are large."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from raw_lines import access, line
from recording import Report, built, hitm_of, hot_lines, quiet, record_to, recorded

from model.results.raw import Line
from record.lines.edits import Edit
from record.lines.symbols import Frame
from record.names import modules
from record.names.modules import Modules
from record.names.objects import Objects
from record.names.things import Thing, used_by
from record.names.variables import DebugInfo
from record.program import perf_map
from record.program.program import Program, advice_at_start
from record.report.moving import moves
from record.report.report import as_many
from record.report.waits import waits

C = "cc -g -O1 -pthread p.c -o p"
LARGE = r"""
#include <stdlib.h>
#include "together.h"
static unsigned long *many;
static void *work(void *me)
{
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 3000; i++)
		__atomic_fetch_add(&many[65536 + (long)me], 1, __ATOMIC_RELAXED);
	return NULL;
}
int main(void)
{
	many = calloc(131072, sizeof(*many));
	together(2, work);
	return many[65536] != 3000;
}
"""


@recorded
def test_the_middle_of_a_large_object_has_its_name(tmp_path: Path) -> None:
    """Regression: a large object was forgotten if one thread alone used its first 256 KiB."""
    line = hot_lines(built(tmp_path, C, LARGE))[0]
    assert line["object"] == "heap: main (p.c:14)"
    assert line["offset"] // 64 in (8192, 8191)


MAKES = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "together.h"
static _Alignas(64) unsigned long count[2];
static void (*add)(unsigned long *);
static void *work(void *me)
{
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 3000; i++)
		add(&count[(long)me]);
	return NULL;
}
int main(void)
{
	static const unsigned char code[] = { 0xf0, 0x48, 0xff, 0x07, 0xc3 }; /* lock incq (%rdi) */
	char name[64];
	FILE *map;

	add = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy((void *)add, code, sizeof(code));
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	map = fopen(name, "w");
	fprintf(map, "%lx %zx long made::add(long*)\n", (unsigned long)add, sizeof(code));
	fclose(map);
	puts(name);
	together(2, work);
	return 0;
}
"""


@recorded
def test_code_that_a_program_makes_has_the_names_that_it_tells(tmp_path: Path) -> None:
    program = built(tmp_path, C, MAKES)

    def make() -> Report:
        printed, report = record_to(tmp_path / "out.json", program)
        Path(printed.strip()).unlink()
        return report

    def holds(report: Report) -> bool:
        line = report["variants"][0]["lines"][0]
        if hitm_of(line) < 1000:
            return False
        assert line["object"] == "count"
        assert line["accesses"][0]["symbol"] == "long made::add(long*)"
        return True

    quiet(make, holds)


GO = """
package main

import "sync/atomic"

func main() {
	counts := make([]int64, 8)
	done := make(chan bool)
	var here atomic.Int32
	for i := 0; i < 2; i++ {
		go func(mine *int64) {
			here.Add(1)
			for here.Load() < 2 {
			}
			for k := 0; k < 3000; k++ {
				atomic.AddInt64(mine, 1)
			}
			done <- true
		}(&counts[i])
	}
	<-done
	<-done
}
"""


C_MAKES = """
// #include <stdlib.h>
// static long *make_counts(void) { return aligned_alloc(4096, 4096); }
import "C"
import "unsafe"
"""
C_MADE = "unsafe.Slice((*int64)(unsafe.Pointer(C.make_counts())), 2)"


@recorded
@pytest.mark.parametrize(
    ("with_c", "made", "name"),
    [
        ("", "", "Go's heap: main.main"),
        # Regression: in a program with C, Go's heap was named after the function that maps it.
        ('\nimport "C"\n', "", "Go's heap: main.main"),
        # Regression: a page-aligned object of the C code counted as memory of Go's runtime.
        (C_MAKES, C_MADE, "heap: make_counts (p.go:5)"),
    ],
)
@pytest.mark.skipif(shutil.which("go") is None, reason="needs go")
def test_gos_heap_has_the_name_of_who_uses_it(
    tmp_path: Path, with_c: str, made: str, name: str
) -> None:
    source = GO.replace("package main\n", f"package main\n{with_c}")
    source = source.replace("make([]int64, 8)", made or "make([]int64, 8)")
    (tmp_path / "p.go").write_text(source, encoding="utf-8")
    words = ["go", "build", "-o", str(tmp_path / "p"), str(tmp_path / "p.go")]
    environment = {**os.environ, "GOFLAGS": "", "CGO_ENABLED": str(int(bool(with_c)))}
    subprocess.run(words, check=True, env=environment)

    def holds(report: Report) -> bool:
        lines = report["variants"][0]["lines"]
        return any(line["object"].startswith(name) and hitm_of(line) > 1000 for line in lines)

    quiet(lambda: record_to(tmp_path / "out.json", tmp_path / "p")[1], holds)


GUARDED = """
package main

import "sync"

type guarded struct {
	count int64
	lock  sync.RWMutex
}

var one guarded

func main() { one.lock.Lock(); one.count++ }
"""


@pytest.mark.skipif(shutil.which("go") is None, reason="needs go")
def test_a_lock_of_go_is_one_object(tmp_path: Path) -> None:
    """Regression: the advice was a line for each of a lock's own words."""
    (tmp_path / "p.go").write_text(GUARDED, encoding="utf-8")
    words = ["go", "build", "-o", str(tmp_path / "p"), str(tmp_path / "p.go")]
    subprocess.run(words, check=True, env={**os.environ, "GOFLAGS": "", "CGO_ENABLED": "0"})
    module = Modules([(0, 0, 0, str(tmp_path / "p"))]).modules[0]
    (at,) = (symbol.address for symbol in module.objects if symbol.name == "main.one")
    typed = DebugInfo(tmp_path / "p").variables({at})[at]
    assert typed.whole(0) is None
    assert typed.whole(8 + 20) == (8, 24, ".lock")


def test_memory_that_a_library_of_the_system_divides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: the report showed the memory as one object, named after a library function."""
    source = tmp_path / "alloc.c"
    source.write_text("void *refill(void *at) { return at; }\n", encoding="utf-8")
    library = tmp_path / "liballoc.so"
    words = ["gcc", "-g", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(words, check=True)
    (module,) = Modules([(0x100000, 0x200000, 0, str(library))]).modules
    (refill,) = {f.address for f in module.functions if f.name == "refill"}
    at, size = 0x700000, 0x100000
    meta = {
        "objects": [[at, size, 1, 0, False, 4097]],
        "sites": [{"site": 1, "frames": [0x100000 + refill + 5]}], "regions": [[at, size, False]],
        "threads": [], "stacks": [],
    }  # fmt: skip

    def name() -> str:
        thing = Objects(meta, Modules([(0x100000, 0x200000, 0, str(library))])).name_of(at + 64)
        assert thing is not None
        return thing.name

    assert name() == "heap: refill (alloc.c:1)"
    monkeypatch.setattr(modules, "_SYSTEM", (str(tmp_path),))
    assert name() == "memory of liballoc.so"
    meta["regions"] = []  # as of an exact run, where only the address was its name
    assert name() == "memory of liballoc.so"
    # Regression: an object that an allocator aligned to a page counted as such memory.
    meta["objects"] = [[at, size, 1, 0, False, 4096]]
    assert name() == "heap: refill (alloc.c:1)"


def test_a_map_of_another_time_or_user_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perf_map, "FOLDER", tmp_path)
    path = tmp_path / "perf-7.map"
    path.write_bytes(b"0x10 0x8 int a(b)\nffff 4 plain\nno entry\n20 8 \x1b\xff\n")
    began = path.stat().st_mtime
    assert perf_map.perf_map(7, began)[:2] == [(16, 8, "int a(b)"), (65535, 4, "plain")]
    assert perf_map.perf_map(7, began + 1) == []
    assert perf_map.perf_map(8, began) == []
    (tmp_path / "perf-9.map").symlink_to(path)
    assert perf_map.perf_map(9, began) == []
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert perf_map.perf_map(7, began) == []


@pytest.mark.parametrize(
    ("functions", "name"),
    [
        (["void a.B.c(int, a.B)"], "area: a.B.c"),
        (["std::__atomic_base::load", "operator()"], "area: operator()"),
        (["sync/atomic.(*Int32).Add", "sync.(*RWMutex).RLock", "main.(*s).get"], "main.(*s).get"),
        (["runtime.pMask.read", "runtime.stealWork"], "area: runtime.pMask.read"),
    ],
)
def test_an_area_is_named_by_the_function_that_uses_it(functions: list[str], name: str) -> None:
    used = line(*(access(pc=hex(n), hitm_remote=n) for n in (1, 3, 2)))
    frames = {
        3: (Frame("Interpreter", "?"),),
        2: tuple(Frame(function, "?") for function in functions),
        1: (Frame("other", "?"),),
    }
    named = used_by(Thing("area", "mapped", 0, 1, area=True), used, frames)
    assert named is not None
    assert named.name.endswith(name)
    other = Thing("object", "heap", 0, 1)
    assert used_by(other, used, frames) is other


def _line(*offsets: int, hitm: int = 20) -> Line:
    """Make a line whose words at these offsets are each written by another CPU."""
    accesses = (
        access(at, (cpu,), stores=1, records=1, hitm_remote=1) for cpu, at in enumerate(offsets)
    )
    return line(*accesses, hitm_remote=hitm, avg_load_cycles=1, loads=2)


def test_what_an_allocator_notes_beside_an_object_is_not_advised_about() -> None:
    """Regression: the report advised to separate an object from 'mapped memory'."""
    own = Thing("own", "heap", 0x1010, 0x30)
    notes = Thing("mapped memory at 0x0", "mapped", 0, 0x100000)

    def at(byte: int) -> Thing:
        return own if byte >= own.address else notes

    tried = moves([(_line(0, 16, 32), own)], at)
    assert [move.words for move in tried] == [
        "separate the words of own that different threads use: a line each"
    ]
    assert (0x1000, 0x1008) not in tried[0].ranges


def test_an_area_is_advised_about_by_the_name_of_who_uses_it() -> None:
    area = Thing("Go's heap", "mapped", 0, 0x100000, area=True)
    named = Thing("Go's heap: main.f", "mapped", 0, 0x100000, area=True)
    tried = moves([(_line(0, 16), named)], lambda _: area)
    assert [move.words for move in tried] == [
        "separate the words of Go's heap: main.f that different threads use: a line each"
    ]


def test_nothing_is_advised_about_what_only_a_runtime_uses() -> None:
    area = Thing("Go's heap", "mapped", 0, 0x100000, area=True)
    thing = used_by(area, _line(0, 16), {1: (Frame("runtime.pMask.read", "proc.go:7319"),)})
    assert thing is not None
    assert (thing.name, thing.foreign) == ("Go's heap: runtime.pMask.read (proc.go:7319)", True)
    assert moves([(_line(0, 16), thing)], lambda _: area) == []
    both = line(access(pc="0x1", hitm_remote=2), access(pc="0x2", hitm_remote=1))
    frames = {1: (Frame("runtime.pMask.read", "?"),), 2: (Frame("main.f", "?"),)}
    shared = used_by(area, both, frames)
    assert shared is not None
    assert not shared.foreign


def test_objects_of_one_type_in_a_line_are_padded() -> None:
    """Regression: the report advised a line for a field, as it does for fields of variables."""

    def words(kind: str, field: str) -> list[str]:
        both = [Thing("a shard", kind, at, 32, "shard", lambda _: field) for at in (0x1000, 0x1020)]

        def at(byte: int) -> Thing:
            return both[byte >= 0x1020]

        return [move.words for move in moves([(_line(0, 32), both[0])], at)]

    assert words("heap", ".lock") == ["pad `shard` (32 bytes, a shard) to a line"]
    assert words("heap", "") == [
        "separate the words of a shard that different threads use: a line each"
    ]
    assert words("variable", ".lock") == ["give `shard.lock` a line of its own"]


def test_bytes_that_are_hardly_used_are_not_moved() -> None:
    """Regression: the report also advised a line for a vector that only main had filled."""
    own = Thing("own", "variable", 0x1000, 64, "own", lambda at: f"own.at_{at}")
    used = _line(0, 16, 32)
    for entry in used.accesses[1:]:
        entry.records = entry.hitm_remote = 1000
    used.accesses[0].records, used.accesses[0].hitm_remote = 2, 0
    tried = moves([(used, own)], lambda _: own)
    assert [move.ranges for move in tried] == [((0x1020, 0x1028),)]


def test_an_object_with_a_few_transfers_is_not_advised_about() -> None:
    """Regression: three increments of a counter gained 8%, because the replay reordered threads."""
    own = Thing("own", "variable", 0x1000, 64, "own", lambda at: f"own.at_{at}")
    assert moves([(_line(0, 32), own)], lambda _: own)
    assert moves([(_line(0, 32, hitm=9), own)], lambda _: own) == []


# One thread allocates, another one frees: both take the lock of the first one's arena.
ARENA = r"""
#include <stdlib.h>
#include "together.h"
struct item { long before[4], n, after[11]; };
static struct item *_Atomic last;
static void one(void)
{
	for (int i = 0; i < 2000; i++) {
		struct item *item = malloc(sizeof(*item));

		item->n = 0;
		while (last)
			;
		last = item;
		for (int k = 0; k < 20 && last == item; k++)
			__atomic_fetch_add(&item->n, 1, __ATOMIC_RELAXED);
	}
}
static void other(void)
{
	for (int i = 0; i < 2000; i++) {
		struct item *item;

		while (!(item = last))
			;
		for (int k = 0; k < 20; k++)
			__atomic_fetch_add(&item->n, 1, __ATOMIC_RELAXED);
		last = NULL;
		if (i % 2)
			free(item);
	}
}
static void *work(void *me)
{
	me ? other() : one();
	return NULL;
}
int main(void)
{
	free(malloc(1));
	together(2, work);
	return 0;
}
"""


@recorded
def test_an_arena_of_a_thread_has_its_name(tmp_path: Path) -> None:
    """Regression: the report called the arena mapped memory, and advised to separate its words."""
    built(tmp_path, "gcc -O1 -g -static -pthread arena.c -o arena", ARENA)

    def holds(report: Report) -> bool:
        lines = [line for line in report["variants"][0]["lines"] if hitm_of(line) >= 20]
        assert not [line["object"] for line in lines if line["object"].startswith("mapped")]
        assert not [edit for edit in report["advice"] if "arena" in edit["words"]]
        names = {line["object"].split(":")[0] for line in lines}
        return {"malloc's arena", "program's heap"} <= names

    quiet(lambda: record_to(tmp_path / "out.json", tmp_path / "arena")[1], holds)


def test_an_object_of_many_lines_is_advised_about() -> None:
    """Regression: each of 512 equally costly lines was below the limit, so none was tried."""
    own = Thing("own", "variable", 0x10000, 64 * 512, "own[]", lambda at: f"[{at // 8}]")
    lines = [(line(*_line(0, 32).accesses, address=0x10000 + 64 * n), own) for n in range(512)]
    for raw_line, _ in lines:
        raw_line.hitm_remote = 100
    (move,) = moves(lines, lambda _: own)
    assert len(move.ranges) == 512


def test_a_thread_for_each_cpu_is_noted() -> None:
    assert [bool(as_many(threads, 64)) for threads in (9, 63, 64, 65, 66, 67)] == [
        *(False, False), *(True, True, True), False,
    ]  # fmt: skip
    assert as_many(2, 2) == []


def test_objects_of_one_type_are_one_piece_of_advice() -> None:
    """Regression: the edit aligned two arrays, and the gain was that of moving one of them."""

    def array(name: str, address: int, edit: str) -> Thing:
        return Thing(
            name, "variable", address, 64, "cell[]", lambda at: f"[{at // 8}]", ("cell", 8),
            edit=lambda _, aligned: Edit(edit if aligned == "element" else ""),
        )  # fmt: skip

    def advised(*edits: str) -> list[tuple[str, int]]:
        things = {0x1000 * n: array(f"a{n}", 0x1000 * n, edit) for n, edit in enumerate(edits, 1)}
        used = [(line(*_line(0, 32).accesses, address=at, hitm_remote=20, loads=2,
                      avg_load_cycles=1), thing) for at, thing in things.items()]  # fmt: skip
        tried = moves(used, lambda at: things[at & ~0xFFF])
        return [(move.words, len(move.ranges)) for move in tried if "pad" in move.words]

    both = "pad `cell` (8 bytes, an element of a1, and of a2) to a line"
    assert advised("align cell", "align cell") == [(both, 2)]
    assert len(advised("align cell", "align other")) == 2
    assert len(advised("", "")) == 2


def test_waits_for_a_word_that_all_write_are_those_of_its_object() -> None:
    """All lines of the object count, and a line of one CPU does not."""
    own = Thing("own", "variable", 0x1000, 256, "own", lambda at: f".at_{at}")
    costs = {"stores": 10, "loads": 10, "avg_load_cycles": 30, "hitm_remote": 10, "hitm_true": 10}
    shared = [
        line(access(0, (0, 1), **costs), address=0x1000 + 64 * n, **{**costs, "hitm_true": 10})
        for n in range(2)
    ]
    alone = line(access(0, (0,), **costs), address=0x1080, **costs)
    named = {"m": [(raw_line, own) for raw_line in (*shared, alone)]}
    (wait,) = waits(named, {"m": 1000.0}, {})
    assert (wait.field, wait.writers, wait.share) == ("own.at_0", 2, 0.6)
    assert "60.0% of all cycles on m wait for `own.at_0`, which 2 CPUs write" in wait.words
    assert "padding cannot help" in wait.words
    # Advice leaves what it does not gain.
    (left,) = waits(named, {"m": 1000.0}, {"own": {"m": 0.4}})
    assert left.share == pytest.approx(0.2)
    assert waits(named, {"m": 1000.0}, {"own": {"m": 0.58}}) == []
    assert waits(named, {"m": 100_000.0}, {}) == []


def test_threads_that_only_add_are_told_to_count_apart() -> None:
    """A lock, a word that threads also read, or bytes of an unknown type are no counter."""
    costs = {"stores": 99, "loads": 99, "records": 99, "avg_load_cycles": 30, "hitm_true": 99}
    adds = access(0, (0, 1), kind="rmw", hitm_remote=99, **costs)
    reads = access(0, (0, 1), kind="load", records=50, loads=50, avg_load_cycles=1)
    word = Thing("own", "variable", 0x1000, 8, "long", lambda _: "")
    lock, unknown = replace(word, whole=lambda _: (0, 8, "")), replace(word, size=640, type="")
    shown = [
        waits({"m": [(line(*used, **costs), thing)]}, {"m": 3000.0}, {})[0].counter
        for thing, used in (
            (word, (adds,)), (lock, (adds,)), (unknown, (adds,)), (word, (adds, reads)),
        )
    ]  # fmt: skip
    assert shown == [True, False, False, False]


def test_a_slow_collector_of_java_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def advice(*argv: str) -> str | None:
        return advice_at_start(Program(Path("/usr/bin", argv[0]), argv, dynamic=True, debug=False))

    assert "-XX:+UseSerialGC" in (advice("java", "-Xmx1g", "Main") or "")
    assert advice("java", "-XX:+UseParallelGC", "Main") is None
    assert advice("javac", "Main.java") is None
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC")
    assert advice("java", "Main") is None
