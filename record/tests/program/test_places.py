# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`record` names the place that allocated an object, where one function allocates for many."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.dwarf.die import DIE
from recording import built, hot_lines, recorded

from record.lines.instructions import Code
from record.names.allocators import Pointers, content, may_say
from record.names.locals import Locals
from record.names.modules import Modules
from record.names.variables import DebugInfo, type_name

NODES = r"""
#include <list>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
struct alignas(16) value { long before[2], hits, misses, after[8]; };
static std::map<int, value> tree;
static std::unordered_map<std::string, value> table;
static std::list<value> row;
static std::shared_ptr<value> shared;
static std::unique_ptr<value[]> many;
static std::vector<value *> pointers;
static value *each(int of)
{
	return of == 0 ? &tree[1] : of == 1 ? &table["one"] : of == 2 ? &row.back() : shared.get();
}
static pthread_barrier_t ready;
static void add(long *to)
{
	for (int i = 0; i < 3000; i++)
		__atomic_fetch_add(to, 1, 0);
}
static void work(bool first)
{
	for (int of = 0; of < 4; of++) {
		pthread_barrier_wait(&ready);
		add(first ? &each(of)->hits : &each(of)->misses);
	}
}
int main()
{
	pthread_barrier_init(&ready, nullptr, 2);
	tree[1] = table["one"] = value{};
	row.push_back(value{});
	shared = std::make_shared<value>();
	many = std::make_unique<value[]>(3);
	pointers.push_back(&many[1]);
	std::thread one(work, true), other(work, false);
	one.join();
	other.join();
	return pointers[0] != &many[1];
}
"""
NODE_TYPES = {
    "_Rb_tree_node", "_Hash_node", "_Hash_node_base *", "_List_node", "_Sp_counted_ptr_inplace",
    "value", "value *",
}  # fmt: skip


def types_of(program: Path) -> set[str]:
    """Return the types for which the allocating functions that a program calls are made."""
    module = Modules([(0, 0, 0, str(program))]).modules[0]
    assert module.debug is not None
    code, locals_of = Code(program), Locals(DebugInfo(module.debug))
    types = set()
    for symbol in module.functions:
        for insn in code.function(symbol.address, symbol.size).all if symbol.size else ():
            of = content(locals_of.calls(insn.address)) if insn.name == "call" else None
            if of is not None:
                types.add(type_name(of, True).partition("<")[0])
    return types


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("options", ["-O0", "-O2 -gdwarf-5", "-O2 -fdebug-types-section"])
def test_functions_that_allocate_say_for_what(tmp_path: Path, compiler: str, options: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    built(tmp_path, f"{compiler} -g {options} p.cc -o p", NODES)
    types = types_of(tmp_path / "p")
    assert types >= NODE_TYPES
    # The library itself allocates strings and the states of threads.
    assert types - NODE_TYPES <= {"char", "thread", "_State_impl"}


@recorded
def test_nodes_of_containers_have_the_fields_of_what_they_hold(tmp_path: Path) -> None:
    """A node declares its contents as bytes; the program has only pointers into the node."""
    path = {
        "_Rb_tree_node": "_M_storage.second.", "_Hash_node": "_M_storage.second.",
        "_List_node": "_M_storage.", "_Sp_counted_ptr_inplace": "_M_impl._M_storage.",
    }  # fmt: skip
    lines = hot_lines(built(tmp_path, "g++ -O2 -g -pthread p.cc -o p", NODES), lines=4)
    fields = {
        line["type"].partition("<")[0]: {
            access["field"] for access in line["accesses"] if access["records"] > 1000
        }
        for line in lines
    }
    for name, before in path.items():
        assert fields[name] >= {f"{before}hits", f"{before}misses"}


RUST = """
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
#[derive(Clone)]
struct Totals { name: [u8; 16], hits: u64 }
fn one(hits: u64) -> Totals { Totals { name: [1; 16], hits } }
fn main() {
    let boxed = Box::new(one(1));
    let counted = Arc::new(Mutex::new(one(2)));
    let mut row = Vec::new();
    for n in 0..std::env::args().len() { row.push(one(n as u64)); }
    let mut tree = BTreeMap::new();
    tree.insert(row.len(), one(3));
    println!("{} {}", boxed.hits + row[0].hits, tree[&1].hits);
    println!("{} {}", counted.lock().unwrap().hits, boxed.name[0]);
}
"""


@pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")
@pytest.mark.parametrize("level", ["0", "2"])
def test_rusts_functions_that_allocate_say_for_what(tmp_path: Path, level: str) -> None:
    built(tmp_path, f"rustc -g -C opt-level={level} p.rs -o p", RUST)
    assert types_of(tmp_path / "p") >= {"Totals", "ArcInner", "LeafNode"}


def test_only_units_of_functions_that_may_say_it_are_read() -> None:
    between = ["alloc::alloc::alloc", "alloc::alloc::Global::alloc_impl"]
    assert may_say(["operator new"]) is None
    assert may_say(["std::__new_allocator::allocate", "std::vector::push_back", "main"])
    assert may_say(["__gnu_cxx::new_allocator::allocate"])
    assert may_say(["operator new", "my::pool_allocator::allocate"])
    assert may_say(["std::make_unique", "main"])
    assert may_say(["make", "std::make_unique"]) is False
    assert may_say(between) is None
    assert may_say([*between, "alloc::boxed::Box::new", "p::main"])
    assert may_say(["alloc::raw_vec::RawVecInner::finish_grow"]) is None
    assert may_say(["alloc::raw_vec::RawVec::grow_one", "p::main"])
    assert may_say([*between, "alloc::boxed::Box::new", "std::thread::spawn"]) is False
    assert may_say([]) is None


HEADER = """
#include <stdlib.h>
struct told { long one, two; };
extern void *volatile kept;
static inline struct told *made(int n)
{
	struct told *all = calloc(n, sizeof(*all));
	kept = all;
	return all;
}
"""
MAIN = """
#include "made.h"
void *volatile kept;
struct told *elsewhere(int n);
int main(int argc, char **argv)
{
	return made(argc)->two == 0 && elsewhere(argc)->two == 0 ? 0 : 1;
}
"""
OTHER = """
#include "made.h"
struct told *elsewhere(int n) { return made(n + 1); }
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    "options", ["-O0", "-O2 -gdwarf-4", "-O2 -flto", "-O2 -gdwarf-5 -gsplit-dwarf"]
)
def test_only_units_that_allocate_are_read(tmp_path: Path, compiler: str, options: str) -> None:
    """Regression: every unit that includes the header was read."""
    lld = compiler == "clang" and "-flto" in options
    if shutil.which(compiler) is None or (lld and not shutil.which("ld.lld")):
        pytest.skip(f"needs {compiler}, and lld for clang")
    for name, text in {"made.h": HEADER, "main.c": MAIN, "other.c": OTHER}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    linker = ["-fuse-ld=lld"] if lld else []
    words = [compiler, "-g", *options.split(), *linker, "main.c", "other.c", "-o", "p"]
    subprocess.run(words, check=True, cwd=tmp_path)
    module = Modules([(0, 0, 0, str(tmp_path / "p"))]).modules[0]
    info = DebugInfo(tmp_path / "p")
    functions, read, unchanged = Locals(info), set(), info.whole

    def whole(top: DIE) -> DIE:
        read.add(top.offset)
        return unchanged(top)

    info.whole = whole  # type: ignore[method-assign]
    main = next(f for f in module.functions if f.name == "main")
    calls = Code(tmp_path / "p").function(main.address, main.size).all
    pcs = {insn.address for insn in calls if insn.name == "call"}
    # Without optimisation the header's function is not inlined.
    own = [f for f in module.functions if f.name == "made"]
    pcs |= {own[0].address + 8} if own else set()
    targets = Pointers(info, functions).targets({("made.h", 7): pcs})
    assert [typed.name for typed in targets.values()] == ["struct told"]
    if "-flto" not in options:
        assert read == {next(info.units()).get_top_DIE().offset}


# Frames whose sizes differ each time, and more of them than the recorder follows.
FRAMES = r"""
#include <alloca.h>
#include <stdlib.h>
#include <string.h>
#include "together.h"
#define APART __attribute__((noinline, noclone))
static unsigned long *word[2];
APART static void *make(void)
{
	return aligned_alloc(64, 64);
}
APART static void *some(int n)
{
	volatile char *space = alloca(16 + 48 * n);
	void *made;

	space[0] = (char)n;
	made = make();
	return space[0] == (char)n ? made : NULL;
}
APART static void *even(int n)
{
	_Alignas(64) volatile char space[64];
	void *made;

	space[0] = (char)n;
	made = make();
	return space[0] == (char)n ? made : NULL;
}
APART static void *deep(int n)
{
	return n ? deep(n - 1) : make();
}
static void *work(void *me)
{
	for (int of = 0; of < 2; of++) {
		pthread_barrier_wait(&ready);
		for (int i = 0; i < 3000; i++)
			__atomic_fetch_add(&word[of][(long)me], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}
int main(void)
{
	for (int i = 0; i < 200; i++) {
		free(some(i));
		free(even(i));
		free(deep(i));
	}
	word[0] = memset(some(77), 0, 64);
	word[1] = memset(even(77), 0, 64);
	together(2, work);
	return word[0][0] + word[1][1] != 6000;
}
"""


@recorded
def test_frames_of_different_sizes_lead_to_the_right_callers(tmp_path: Path) -> None:
    program = built(tmp_path, "gcc -O1 -fno-optimize-sibling-calls -g -pthread p.c -o p", FRAMES)
    lines = hot_lines(program, lines=2)
    ways = {tuple(f["function"] for f in line["allocated"][:3]) for line in lines}
    assert ways == {("make", "some", "main"), ("make", "even", "main")}
