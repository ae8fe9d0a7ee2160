# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: programs behave as natively, runs repeat, costs agree with the simulation."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from recording import hitm_of, simulated
from running import COMPILERS, HERE, MACHINE, NEEDED, call, compiled, each_compiler, record, runs

from common.paths import ROOT
from record.exact.away import in_source_form
from record.exact.blocks import parse

pytestmark = NEEDED


# The program with a part for each kind of waiting.
behave = each_compiler("behave.c")


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The loops of model/primitives/, as an ordinary program."""
    folders = ("core", "port/user", "port", "model/primitives", "kernel/guest")
    sources = [ROOT / "record" / "tests" / "program" / "loops.c"]
    sources += [*ROOT.glob("model/primitives/*.c"), *ROOT.glob("core/*.c")]
    sources.append(ROOT / "port" / "user" / "barrier.c")
    words = [*(f"-I{ROOT / folder}" for folder in folders), *map(str, sources)]
    return compiled(tmp_path_factory.mktemp("loops") / "loops", "gcc", *words)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_checked_variants_of_calls_are_not_linked(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "reads.c"
    source.write_text("#include <unistd.h>\nchar b[9];\nint main(int n) { return read(0, b, n); }")
    made = compiled(tmp_path / "reads", compiler, "-D_FORTIFY_SOURCE=2", str(source))
    names = subprocess.run(["nm", "-D", made], capture_output=True, text=True, check=True).stdout
    assert " read" in names
    assert "_chk" not in names


@pytest.mark.parametrize("threads", [5, 24])
@pytest.mark.parametrize(
    "kind",
    [
        "mutex", "rwlock", "barrier", "spin", "cond", "sem", "key", "c11", "types", "robust",
        "thread-exit", "timed-join", "cancel", "user", "pool",
    ],
)  # fmt: skip
def test_programs_do_what_they_do_natively(
    behave: Path, kind: str, threads: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also with more threads than CPUs."""
    native = subprocess.run(
        [behave, kind, str(threads)], capture_output=True, text=True, check=True
    )
    done = runs(behave, tmp_path, kind, str(threads))
    assert (done.status, capfd.readouterr().out) == (0, native.stdout)


def test_what_is_done_once_is_done_before_others_go_on(
    behave: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    runs(behave, tmp_path, "once", "6")
    assert capfd.readouterr().out == "0 6 1\n"


def test_sleeps_take_the_machines_time(
    behave: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """15 threads sleep at once, each up to 15 ms: none sleeps longer, whatever the host does."""
    done = runs(behave, tmp_path, "sleep", "15")
    assert capfd.readouterr().out == "0 120 0\n"
    assert 15e6 < done.raw.model.virtual_ns < 16e6


def test_the_program_sees_the_machine(behave: Path) -> None:
    assert record(behave, "machine", cpus=48).stderr.startswith("48 48 0\n")


def test_a_child_runs_as_always(behave: Path) -> None:
    done = record(behave, "fork")
    assert done.stderr.startswith("4\n")
    assert any("1 child process ran" in note for note in json.loads(done.stdout)["notes"])


def test_a_thread_may_end_the_program(behave: Path) -> None:
    done = record(behave, "exit", "2")
    assert done.returncode == 5
    assert json.loads(done.stdout)["program"]["status"] == 5


@pytest.mark.parametrize(
    ("kind", "name", "status"),
    [("crash", "SIGSEGV", 139), ("abort", "SIGABRT", 134), ("overflow", "SIGSEGV", 139)],
)
def test_a_signal_that_ends_the_program_leaves_the_report(
    behave: Path, kind: str, name: str, status: int
) -> None:
    done = record(behave, kind, "4")
    assert done.returncode == status
    report = json.loads(done.stdout)
    assert (report["program"]["status"], report["program"]["signal"]) == (status, name)
    if kind != "overflow":
        assert report["variants"][0]["hitm_total"] > 0


def written(run: Path) -> tuple[bytes, Any, Any]:
    """Return what a run wrote, without the host's process ids, thread ids and clock."""
    meta, process = (json.loads((run / name).read_text()) for name in ("meta.json", "meta.json.0"))
    for host in ("images", "away_host", "ticks_per_second"):
        del meta[host]
    del process["pid"]
    process["threads"] = [(number, cpu) for number, _, cpu in process["threads"]]
    process["stacks"] = [places for _, *places in process["stacks"]]
    return (run / "result.json").read_bytes(), meta, process


def test_two_runs_have_one_result(behave: Path, tmp_path: Path) -> None:
    """Two runs with one seed write the same; another seed has another result."""
    results = []
    for number, seed in enumerate((1, 1, 2)):
        folder = tmp_path / str(number)
        folder.mkdir()
        runs(behave, folder, "mutex", "24", seed=seed)
        results.append(written(folder / "run-000001"))
    assert results[0] == results[1]
    assert results[0][0] != results[2][0]


def test_seeds_give_intervals(behave: Path) -> None:
    report = json.loads(record(behave, "mutex", "8", options=("--seeds", "3")).stdout)
    interval = report["variants"][0]["interval"]["hitm_total"]
    assert report["seeds"] == interval["samples"] == 3
    assert interval["low"] <= interval["median"] <= interval["high"]


@pytest.mark.parametrize(
    ("operation", "machine"),
    [
        *((op, MACHINE) for op in ("cas-loop", "rwlock-glibc-read", "list-refcount")),
        *((op, "epyc-9654-2s") for op in ("atomic-inc", "cas-loop", "refcount", "spinlock")),
        ("rwlock-glibc-read", "epyc-9654-2s"),
        *((op, "xeon-8358-2s") for op in ("cas-loop", "rwlock-read", "rwsem-read")),
        ("rwlock-glibc-read", "xeon-8358-2s"),
    ],
)  # fmt: skip
def test_loops_agree_with_the_experiment(loops: Path, operation: str, machine: str) -> None:
    threads, times = 8, 100 if operation.startswith("list") else 1000
    expected = simulated(operation, threads, machine, "--set", "measured_ops=2000")
    # A lock's threads may fall into several rhythms: the median of ten orders.
    orders = ("--seeds", "10") if operation == "spinlock" else ()
    ran = call(
        *("record", "--exact", "--machine", machine, "--no-advice", *orders, "--json"),
        *("--", str(loops), operation, str(threads), str(times), "pinned"),
    )
    variant = json.loads(ran.stdout)["variants"][0]
    hot = sum(hitm_of(line) for line in variant["lines"] if line["hitm_share"] > 0.02)
    if orders:
        hot = variant["interval"]["hitm_total"]["median"]
    assert hot / (threads * times) == pytest.approx(expected, rel=0.05)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of record/tests/program whose transfers are known."""
    source = str(ROOT / "record" / "tests" / "program" / "known.c")
    into = tmp_path_factory.mktemp("known") / "known"
    return compiled(into, "gcc", f"-I{ROOT / 'kernel' / 'guest'}", source)


@pytest.mark.parametrize(
    ("case", "threads", "think", "expected"),
    [
        ("one", 4, 400, 4000), ("side", 4, 400, 4000), ("heap", 4, 400, 4000),
        ("queue", 4, 400, 16000), ("readers", 4, 400, 8000),
        ("ring", 2, 0, 3000), ("packed", 2, 0, 2000), ("apart", 6, 400, 0),
    ],
)  # fmt: skip
def test_exact_cases(
    known: Path, case: str, threads: int, think: int, expected: int, tmp_path: Path
) -> None:
    """Each thread does 1,000 operations; up to 20 more transfers belong to the start."""
    raw = runs(known, tmp_path, case, str(threads), "1000", str(think)).raw
    assert expected <= raw.hitm <= expected + 20


def test_false_sharing_is_found_and_named(known: Path) -> None:
    done = call(
        *("record", "--exact", "--machine", MACHINE, "--json", "--"),
        *(str(known), "heap", "8", "3000", "400"),
    )
    report = json.loads(done.stdout)
    line = report["variants"][0]["lines"][0]
    assert line["object"].startswith("heap: main (")
    assert line["sharing"] == "false"
    assert {access["field"][-7:] for access in line["accesses"]} == {"].count"}
    advice = [edit for edit in report["advice"] if "pad `struct worker` (16 b" in edit["words"]]
    assert advice[0]["machines"][MACHINE]["fewer"] > 0.01


def test_refusals(tmp_path: Path, known: Path) -> None:
    plain = tmp_path / "plain"
    source = str(HERE / "behave.c")
    words = ["-D_GNU_SOURCE", "-pthread", source, "-o", str(plain)]
    subprocess.run(["gcc", *words], check=True)
    done = record(plain)
    assert (done.returncode, done.stdout) == (2, "")
    assert "was not built with 'schedshard cc'" in done.stderr.replace("./", "")
    subprocess.run(["gcc", "-fsanitize=thread", *words], check=True)
    assert "has the sanitizer's own runtime" in record(plain).stderr
    mixed, part = tmp_path / "mixed", tmp_path / "part.so"
    words = ["-fsanitize=thread", "-shared", "-fPIC", "-Dmain=part", "-D_GNU_SOURCE"]
    subprocess.run(["gcc", *words, source, "-o", str(part)], check=True)
    done = record(compiled(mixed, "gcc", "-Wl,--no-as-needed", str(part), source))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"a library of {mixed} has the sanitizer's own runtime" in done.stderr
    changes = tmp_path / "changes"
    shutil.copy(known, changes)
    changes.chmod(0o4755)
    assert "is setuid or setgid" in record(changes).stderr
    own = call("cc", "--version", CC=f"{ROOT / 'schedshard'} cc")
    assert (own.returncode, "Free Software" in own.stdout or "clang" in own.stdout) == (0, True)
    done = call("cc", "x.c", CC="no-such-compiler")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no compiler no-such-compiler" in done.stderr
    done = record(known, options=("--runs", "2"))
    assert done.returncode == 2
    assert "--runs" in done.stderr


def test_instructions_of_a_block() -> None:
    """Hooks, their arguments, saved registers and code after a jump do not count for a block."""
    text = """
    10:\tcall   20 <__sanitizer_cov_trace_pc@plt>
    15:\tadd    $0x4,%rbx
    19:\tmov    %rbx,%rdi
    1c:\tcall   30 <__tsan_read4@plt>
    21:\tmov    (%rbx),%eax
    23:\tnop
    24:\tje     40 <f+0x30>
    26:\tcall   20 <__sanitizer_cov_trace_pc@plt>
    2b:\tmov    %r12,%rdi
    2e:\tmov    $0x5,%edx
    33:\tmov    %eax,%esi
    35:\tcall   30 <__tsan_atomic32_fetch_add@plt>
    3a:\tmov    %eax,%ebp
    3b:\tmov    %ebp,0x8(%rsp)
    3c:\tpause
    3e:\tcall   50 <puts@plt>
    43:\tcall   60 <friend@plt>
    48:\tcall   70 <g>
    4d:\tadd    $0x18,%rsp
    51:\tpop    %rbx
    52:\tjmp    80 <free@plt>
    57:\tadd    $0x4,%rbx
    """
    first, second = parse(text.splitlines(), {"friend"})
    assert (first.begin, first.count, first.after, first.outside) == (0x15, 3, {0x21: 2}, [])
    assert (second.begin, second.count, second.pauses) == (0x2B, 6, 1)
    assert (second.after, second.outside) == ({0x3A: 5}, ["puts", "free"])


@pytest.mark.parametrize("jump", ["jmp    *%rax", "notrack jmp *%rax", "bnd jmp *%rax"])
def test_a_block_ends_at_a_jump(jump: str) -> None:
    hook = "10:\tcall   20 <__sanitizer_cov_trace_pc@plt>"
    text = [hook, "15:\tadd    $0x4,%rbx", f"19:\t{jump}", "1c:\tadd    $0x4,%rbx"]
    (only,) = parse(text, set())
    assert only.count == 2


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flag", ["-mno-cx16", "-mcx16"])
def test_atomic_operations_of_16_bytes(
    compiler: str, flag: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """No node of a stack whose head contains a count is lost, natively and recorded."""
    ignored = () if compiler == "gcc" else ("-Wno-atomic-alignment",)
    made = compiled(tmp_path / "wide", compiler, flag, *ignored, str(HERE / "wide.c"))
    assert subprocess.run([made, "4"], capture_output=True, check=True).stdout == b"0 1 1\n"
    done = runs(made, tmp_path, "8")
    assert (done.status, capfd.readouterr().out) == (0, "0 1 1\n")
    assert done.raw.model.locked > 8 * 200 * 4
    assert done.raw.hitm > 1000


OUTSIDE = """
#include <stdio.h>
#include <stdlib.h>

static int less(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
	static int all[100];

	for (int i = 0; i < 100; i++)
		all[i] = i * 7 % 100;
	for (int i = 0; i < 3; i++)
		qsort(all, 100, sizeof(*all), less);
	return puts("done") < 0;
}
"""


ASSEMBLY = """
static int word;

__attribute__((noinline)) static void adds(void)
{
	for (int i = 0; i < 30; i++)
		__asm__ volatile("lock; addl $1, %0" : "+m"(word));
	__asm__ volatile("lock; addl $0, (%%rsp)" : : : "memory");
}

int main(void)
{
	adds();
	return word != 30;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_note_counts_locked_assembly(compiler: str, tmp_path: Path) -> None:
    """The recorder cannot see the lines of assembly. A locked operation on the stack is a fence."""
    source = tmp_path / "assembly.c"
    source.write_text(ASSEMBLY)
    report = json.loads(record(compiled(tmp_path / "assembly", compiler, str(source))).stdout)
    note = next(note for note in report["notes"] if "inline assembly" in note)
    assert note.startswith("30 locked instructions of inline assembly ran outside of the model")
    assert "adds 30" in note


@pytest.mark.parametrize("compiler", COMPILERS)
def test_calls_of_other_code_are_reported(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "outside.c"
    source.write_text(OUTSIDE)
    made = compiled(tmp_path / "outside", compiler, str(source))
    done = record(made)
    report = json.loads(done.stdout)
    outside = report["recording"]["outside"]
    assert outside["functions"] == [["qsort", 3], ["puts", 1]]
    assert (outside["calls"], 0 < outside["share"] < 1) == (4, True)
    assert any("4 calls of code without instrumentation" in note for note in report["notes"])
    # This time is measured, so reports do not contain it: two of them would differ.
    assert "measured on this host" not in done.stdout + done.stderr
    words = ("record", "--exact", "--machine", MACHINE, "--no-advice", "--", str(made))
    assert "code without instrumentation ran " in call(*words).stderr


POINTED = """
#include <stdlib.h>

static __attribute__((noinline)) int own(const char *text) { return *text - 48; }
int main(int argc, char **argv)
{
	int (*volatile by)(const char *) = atoi;
	int sum = 0;

	for (int i = 0; i < 5 * argc; i++)
		sum += by("7");
	by = own;
	for (int i = 0; i < 9 * argc; i++)
		sum += by("1");
	return sum != 44;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_calls_by_pointer_of_other_code_are_counted(compiler: str, tmp_path: Path) -> None:
    """Calls of the program's own functions are not counted."""
    source = tmp_path / "pointed.c"
    source.write_text(POINTED)
    done = record(compiled(tmp_path / "pointed", compiler, str(source)))
    assert done.returncode == 0
    outside = json.loads(done.stdout)["recording"]["outside"]
    assert outside["functions"] == [["a call by pointer", 5]]


def test_other_code_has_the_names_of_the_source() -> None:
    names = in_source_form([("_ZNSt6vectorIiSaIiEE9push_backERKi", "puts"), ()])
    assert names == [("std::vector::push_back", "puts"), ()]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_instructions_are_those_of_the_plain_program(compiler: str, tmp_path: Path) -> None:
    """The count for a program that sorts is within 10% of what it executes without hooks."""
    tool = shutil.which("valgrind")
    if tool is None:
        pytest.skip("needs valgrind")
    source, plain = str(ROOT / "record" / "tests" / "program" / "little.c"), tmp_path / "plain"
    subprocess.run([compiler, "-O2", "-pthread", source, "-o", plain], check=True)
    words = [tool, "--tool=callgrind", "--callgrind-out-file=/dev/null", str(plain), "2", "3"]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=240)
    native = int(ran.stderr.partition("Collected :")[2].split()[0])
    made = compiled(tmp_path / "little", compiler, source)
    counted = runs(made, tmp_path, "2", "3").raw.model.instructions
    assert counted == pytest.approx(native, rel=0.1)
