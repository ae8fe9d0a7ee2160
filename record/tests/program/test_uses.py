# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Objects get their types from the pointers that instructions use."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from elftools.dwarf.die import DIE
from recording import built, hot_lines, recorded

from record.lines.instructions import Code, Function
from record.names.locals import Locals
from record.names.memory import Memory
from record.names.modules import Module, Modules
from record.names.uses import Use, Uses, agreed, apart
from record.names.variables import DebugInfo
from record.report.notes import notes

SOURCE = r"""
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>
struct base { long kind; };
struct block : base { long hits; long misses[4]; };
struct owner { int id; block *plain; std::unique_ptr<block> own; };
struct counter { std::atomic<long> value; char rest[56]; };
struct node { node *next; long count; };
struct outer { long before[3]; node link; };
struct queue { long head, tail; node slots[]; };
union either { block *one; owner *other; };
// The debug information only declares the base class, whose size is then unknown.
struct by_derived : std::thread::_State {
	block *todo;
	void _M_run() override;
};
void by_derived::_M_run() { __atomic_fetch_add(&todo->hits, 1, 0); }
extern block *many;
block *many;
__attribute__((noinline)) void by_member(owner *o) { __atomic_fetch_add(&o->plain->hits, 1, 0); }
__attribute__((noinline)) void by_owner(owner *o) { __atomic_fetch_add(&o->own->misses[1], 1, 0); }
__attribute__((noinline)) void by_global(int i) { __atomic_fetch_add(&many[i].misses[2], 1, 0); }
__attribute__((noinline)) void by_vector(std::vector<owner *> &all)
{
	__atomic_fetch_add(&all[3]->plain->hits, 1, 0);
}
__attribute__((noinline)) void by_loop(block *from, int n)
{
	for (int i = 0; i < n; i++)
		__atomic_fetch_add(&from[i].misses[3], 1, 0);
}
__attribute__((noinline)) void by_base(base *b) { __atomic_fetch_add(&b->kind, 1, 0); }
__attribute__((noinline)) void by_number(long *n) { __atomic_fetch_add(n, 1, 0); }
__attribute__((noinline)) void by_bytes(char *c) { __atomic_fetch_add(c, 1, 0); }
__attribute__((noinline)) void by_atomic(std::vector<counter> &all)
{
	for (auto &each : all)
		each.value++;
}
__attribute__((noinline)) void around(node *n)
{
	__atomic_fetch_add(&((outer *)((char *)n - offsetof(outer, link)))->before[1], 1, 0);
}
__attribute__((noinline)) void derived(base *b)
{
	__atomic_fetch_add(&static_cast<block *>(b)->hits, 1, 0);
}
__attribute__((noinline)) void by_queue(queue *q) { __atomic_fetch_add(&q->tail, 1, 0); }
__attribute__((noinline)) void behind(queue *q) { __atomic_fetch_add(&q->slots[1].count, 1, 0); }
__attribute__((noinline)) void inside(block *b, long i) { __atomic_fetch_add(&b->misses[i], 1, 0); }
__attribute__((noinline)) void any_of(either *e) { __atomic_fetch_add(&e->other->id, 1, 0); }
__attribute__((noinline)) void table(int kind, block *b, owner *o)
{
	long *to = &b->hits;

	switch (kind) {
	case 0: to = &b->misses[0]; break;
	case 1: to = &b->misses[1]; break;
	case 2: to = &o->plain->misses[2]; break;
	case 3: to = &many->misses[0]; break;
	case 4: to = &many->misses[3]; break;
	case 5: to = &b->kind; break;
	}
	__atomic_fetch_add(to, 1, 0);
}
// Bytes that are no instruction, which a jump leaves out.
__attribute__((noinline)) void no_code(block *b)
{
	asm volatile("jmp 1f\n.byte 0x06, 0x07, 0x0e, 0xea\n1:");
	__atomic_fetch_add(&b->misses[2], 1, 0);
}
__attribute__((noinline)) void wide(block *b)
{
	asm volatile("movups %%xmm0, 16(%0)" : : "r"(b) : "memory");
}
int main(int argc, char **)
{
	owner o{1, new block{}, std::make_unique<block>()};
	std::vector<owner *> all(4, &o);

	many = new block[4]{};
	by_member(&o);
	by_owner(&o);
	by_global(argc);
	by_vector(all);
	by_loop(many, argc);
	by_base(many);
	by_number(&many->hits);
	by_bytes((char *)many);
	std::vector<counter> counters(argc);
	static long space[16];
	outer out{};
	either e;
	e.other = &o;
	by_atomic(counters);
	around(&out.link);
	derived(many);
	behind((queue *)space);
	by_queue((queue *)space);
	inside(many, argc);
	any_of(&e);
	table(argc, many, &o);
	no_code(many);
	wide(many);
	by_derived task;
	task.todo = many;
	task._M_run();
	return 0;
}
"""
FOUND = {
    "by_member": ("block", ".hits"),
    "by_owner": ("block", ".misses[1]"),
    "by_global": ("block", ".misses[2]"),
    "by_vector": ("block", ".hits"),
    "by_loop": ("block", ".misses[3]"),
    "by_base": ("base", ".kind"),
    "by_derived": ("block", ".hits"),
    "by_number": ("long int", ""),
    "by_bytes": None,
    "by_queue": ("queue", ".tail"),
    "by_atomic": ("counter", ".value"),
    # An access to memory around or behind an object gives no type, nor does a pointer that can
    # point to one of several objects.
    "around": None,
    "derived": None,
    "behind": None,
    "inside": None,
    "any_of": None,
    "table": ("long int", ""),
    "no_code": ("block", ".misses[2]"),
    # The emulator reports an access of 16 bytes as two, so the offset of each is not known.
    "wide": None,
}
WORDS = [
    ("g++", "-O2", "-gdwarf-5"),
    ("g++", "-O2", "-gdwarf-4"),
    ("g++", "-O1", "-fno-omit-frame-pointer"),
    ("clang++", "-O2", "-gdwarf-5"),
    ("clang++", "-O2", "-gdwarf-4"),
    # Each type has its own unit.
    ("g++", "-O2", "-gdwarf-5", "-fdebug-types-section"),
    ("g++", "-O2", "-gdwarf-4", "-fdebug-types-section"),
    ("clang++", "-O2", "-gdwarf-5", "-fdebug-types-section"),
    ("clang++", "-O2", "-gdwarf-4", "-fdebug-types-section"),
]


def uses_of(program: Path) -> dict[str, list[Use]]:
    """Return what the locked instructions of each function access, by function."""
    module = Modules([(0, 0, 0, str(program))]).modules[0]
    assert module.debug is not None
    info = DebugInfo(module.debug)
    uses, code = Uses(module, info, Locals(info)), Code(program)
    by_function: dict[str, list[Use]] = {}
    for symbol in module.functions:
        name = next((name for name in FOUND if name in symbol.name), None)
        if name is None or symbol.size == 0 or "cold" in symbol.name:
            continue
        locked = [
            use
            for insn in code.function(symbol.address, symbol.size).all
            if insn.place is not None and insn.name in ("add", "inc", "xadd", "sub", "movups")
            for use in (uses.at(insn.address - module.bias),)
            if use is not None
        ]
        by_function.setdefault(name, []).extend(locked)
    return by_function


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uses")
    return built(folder, "g++ -O2 -g p.cc -o p", SOURCE)


@pytest.fixture(scope="module")
def used(program: Path) -> dict[str, list[Use]]:
    return uses_of(program)


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_pointers_say_what_instructions_access(tmp_path: Path, words: tuple[str, ...]) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"needs {words[0]}")
    uses = uses_of(built(tmp_path, f"{' '.join(words)} -g p.cc -o p", SOURCE))
    assert set(uses) == set(FOUND)
    for name, expected in FOUND.items():
        assert fields_of(uses[name]) == wanted(expected), name


def fields_of(uses: list[Use]) -> set[tuple[str, str]]:
    """Types and fields; clang calls one type "long", gcc "long int"."""
    fields = {(use.typed.name, use.typed.field(use.offset)) for use in uses}
    return {(what.replace("long int", "long"), field) for what, field in fields}


def wanted(expected: tuple[str, str] | None) -> set[tuple[str, str]]:
    return set() if expected is None else {(expected[0].replace("long int", "long"), expected[1])}


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_types_in_units_of_their_own_in_split_files(tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    (tmp_path / "p.cc").write_text(SOURCE, encoding="utf-8")
    words = (compiler, "-gdwarf-5", "-O2", "-gsplit-dwarf", "-fdebug-types-section")
    subprocess.run([*words, "-c", "p.cc"], check=True, cwd=tmp_path)
    subprocess.run([compiler, "p.o", "-o", "p"], check=True, cwd=tmp_path)
    uses = uses_of(tmp_path / "p")
    for name in ("by_member", "by_owner", "by_global", "by_vector", "by_base", "around", "any_of"):
        assert fields_of(uses[name]) == wanted(FOUND[name]), name


def test_an_allocation_has_the_type_that_all_uses_agree_on(used: dict[str, list[Use]]) -> None:
    block, base, number = used["by_member"][0], used["by_base"][0], used["by_number"][0]
    assert (block.size, base.size, number.size) == (48, 8, 8)

    def name(
        *uses: tuple[int, Use], size: int = 48, by: Use | None = None, alignment: int = 0
    ) -> str | None:
        typed, _ = agreed(uses, by.typed if by is not None else None, size, alignment)
        return typed.name if typed is not None else None

    assert name((0, block)) == "block"
    assert name((0, block), (0, base), (8, number), (40, number)) == "block"
    # A base class at the start may begin any type. It does not show an array of base classes.
    assert name((0, base)) is None
    assert name((0, base), by=block) == "block"
    # Numbers at several offsets do not make an array of numbers.
    assert name((0, number), (8, number)) is None
    # The type has no member at that offset, or a member of another type.
    assert name((0, block), (4, number)) is None
    assert name((0, block), (8, base)) is None
    # An allocation is an array only if an element other than the first was accessed too.
    assert name((0, block), size=96) is None
    assert name((0, block), (48, block), size=96) == "block"
    assert name((0, block), (48, block), size=100) is None
    # The size may be rounded up to the alignment. A flexible array may have any length.
    assert name((0, block), size=64, alignment=64) == "block"
    assert name((0, block), size=64, alignment=16) is None
    queue = used["by_queue"][0]
    assert name((0, queue), (32, number), size=16 + 7 * 16) == "queue"
    assert name((0, queue), (33, number), size=16 + 7 * 16) is None
    assert queue.typed.field(16 + 3 * 16 + 8) == ".slots[3].count"
    # Without uses the type of the allocating line's pointer counts, unless a use contradicts it.
    assert name(by=block) == "block"
    assert name((12, number), by=block) is None


def test_a_call_gives_what_is_assigned(program: Path) -> None:
    module = Modules([(0, 0, 0, str(program))]).modules[0]
    assert module.debug is not None
    info = DebugInfo(module.debug)
    uses = Uses(module, info, Locals(info))
    main = next(function for function in module.functions if function.name == "main")
    code = Code(program).function(main.address, main.size).all
    calls = [insn.address + insn.size for insn in code if insn.name == "call"]
    assert "block" in {typed.name for typed in map(uses.stored, calls) if typed is not None}


def test_objects_without_allocations_lie_where_no_use_contradicts(
    used: dict[str, list[Use]],
) -> None:
    block, number, base = used["by_member"][0], used["by_number"][0], used["by_base"][0]
    assert [at for at, _ in apart([(100, block), (148, block)])] == [100, 148]
    assert apart([(100, block), (108, number), (100, base)]) == [(100, block)]
    assert apart([(100, block), (124, block)]) == []
    assert apart([(100, block), (104, number)]) == []


def uses_by_member(module: Module) -> tuple[list[Use], DebugInfo]:
    """Return what the instructions of by_member() access, and the debug information."""
    assert module.debug is not None
    info = DebugInfo(module.debug)
    locked = next(f for f in module.functions if "by_member" in f.name)
    uses = Uses(module, info, Locals(info))
    found = map(uses.at, range(locked.address, locked.address + locked.size))
    return [use for use in found if use is not None], info


def test_a_damaged_program_has_no_uses(program: Path, tmp_path: Path) -> None:
    """A segment that is longer than the file, then a file that ends in the middle."""
    module = Modules([(0, 0, 0, str(program))]).modules[0]
    assert uses_by_member(module)[0]
    whole = program.read_bytes()
    first = struct.unpack_from("<Q", whole, 32)[0]
    entry, count = struct.unpack_from("<HH", whole, 54)
    damaged = bytearray(whole)
    for number in range(count):
        struct.pack_into("<Q", damaged, first + number * entry + 32, 1 << 60)
    for data in (bytes(damaged), whole[:100]):
        module.path = tmp_path / "damaged"
        module.path.write_bytes(data)
        assert not uses_by_member(module)[0]


def test_bytes_that_are_no_instruction_hide_what_is_behind_them_and_no_more() -> None:
    load, add, end = b"\x48\x8b\x07", b"\xf0\x48\xff\x40\x08", b"\xc3"

    def names(data: bytes, *begins: int) -> list[str]:
        return [insn.name for insn in Function(data, 0x1000, (), set(begins)).all]

    assert names(load + add + end) == ["mov", "inc", "ret"]
    assert names(load + b"\x06" + add + end) == ["mov", "??"]
    assert names(load + b"\x06" + add + end, 0x1004) == ["mov", "??", "inc", "ret"]
    # A stretch of undecodable bytes ends where an instruction is known to begin.
    assert names(load + b"\x48" + add + end, 0x1004) == ["mov", "??", "inc", "ret"]
    # The target of a jump is the beginning of an instruction.
    assert names(b"\xeb\x01\x06" + add + end) == ["jmp", "??", "inc", "ret"]
    hidden = Function(load + b"\x06" + add + end, 0x1000, (), {0x1004})
    assert hidden.writer("rax", 2) is None
    assert hidden.writer("rax", 1) is None  # the bytes may have a jump to it


def test_what_is_not_read_or_not_understood_is_noted(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (module,) = Modules([(0, 0, 0, str(program))]).modules
    uses, info = uses_by_member(module)
    assert uses
    assert (info.cut, info.damaged) == (False, False)
    with monkeypatch.context() as patched:
        patched.setattr("record.names.locals.MOST_BYTES", 0)
        uses, info = uses_by_member(module)
    assert not uses
    assert (info.cut, info.damaged) == (True, False)
    with monkeypatch.context() as patched:
        patched.delattr(DIE, "get_DIE_from_attribute")
        uses, info = uses_by_member(module)
    assert not uses
    assert (info.cut, info.damaged) == (False, True)
    nothing = {"pages": [], "processes": [], "images": [], "lost_accesses": 0}
    monkeypatch.setattr(Memory, "cut", ["/p"])
    monkeypatch.setattr(Memory, "damaged", ["/q"])
    cut, damaged = sorted(notes(True, nothing, Memory(nothing), []))
    assert cut == "/p has more than 24 MB of debug information: types may be missing"
    assert "/q could not be read whole" in damaged


RUST = """
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
struct Totals { name: [u8; 16], hits: AtomicU64, misses: AtomicU64 }
#[inline(never)]
fn work(totals: Arc<Totals>, ready: Arc<Barrier>, hit: bool) {
    ready.wait();
    for _ in 0..3000 {
        let of = if hit { &totals.hits } else { &totals.misses };
        of.fetch_add(1, Ordering::Relaxed);
        totals.hits.load(Ordering::Relaxed);
    }
}
fn main() {
    let zero = || AtomicU64::new(0);
    let totals = Arc::new(Totals { name: [7; 16], hits: zero(), misses: zero() });
    let ready = Arc::new(Barrier::new(2));
    let one = |hit| { let (t, r) = (totals.clone(), ready.clone());
                      std::thread::spawn(move || work(t, r, hit)) };
    let both = [one(true), one(false)];
    for each in both { each.join().unwrap(); }
    println!("{} {:?}", totals.name[0], totals.hits);
}
"""


@recorded
@pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")
def test_an_arc_has_the_fields_of_what_it_counts(tmp_path: Path) -> None:
    """The allocating line declares an Arc; its memory begins with two counts."""
    line = hot_lines(built(tmp_path, "rustc -g -O p.rs -o p", RUST))[0]
    assert line["type"] == "ArcInner<p::Totals>"
    fields = {access["field"] for access in line["accesses"]}
    assert any(field.startswith("data.hits") for field in fields)
    assert any(field.startswith("data.misses") for field in fields)
