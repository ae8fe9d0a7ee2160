# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`record` handles what programs of distributions and of other languages require of it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from raw_lines import access, line
from recording import MACHINE, PROGRAMS, Report, built, hitm_of, quiet, record_to, recorded, run

from model.results.raw import Line
from record.names.allocators import ALLOCATORS
from record.names.modules import _load
from record.names.readable import short as shortened
from record.report.variant import bytes_named

pytestmark = recorded
NO_ADVICE = ("--no-advice",)


def compile_c(folder: Path, name: str, source: str, *flags: str) -> Path:
    return built(folder, f"cc -g -O1 -pthread {name}.c -o {name} {' '.join(flags)}", source)


def test_a_constructor_of_a_library_allocates_as_much_as_it_wants(tmp_path: Path) -> None:
    """Libraries' constructors (GnuTLS has one) may allocate before the recorder's has run."""
    library = compile_c(
        tmp_path,
        "libearly.so",
        r"""
#include <stdlib.h>
#include <string.h>
int early_failed;
__attribute__((constructor)) static void begin(void)
{
	char *grown = malloc(1);

	for (int i = 1; i <= 1000; i++) {
		char *at = i % 2 ? malloc(100) : calloc(10, 10);

		grown = realloc(grown, i * 100);
		if (!at || !grown)
			early_failed = 1;
		else
			memset(grown, 1, i * 100);
		free(i % 3 ? at : NULL);
	}
	free(grown);
}
""",
        "-shared",
        "-fPIC",
    )
    program = compile_c(
        tmp_path,
        "late",
        "#include <stdio.h>\nextern int early_failed;\nint main(void)\n{\n\tputs(early_failed ? "
        '"failed" : "allocated");\n\treturn 0;\n}\n',
        str(library),
        f"-Wl,-rpath,{tmp_path}",
    )
    output, _ = record_to(tmp_path / "out.json", program, options=NO_ADVICE)
    assert output == "allocated\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_a_program_may_become_another_user(tmp_path: Path) -> None:
    """Servers do this: the recorder still writes the program's names at its end."""
    program = compile_c(
        tmp_path,
        "leaves",
        r"""
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
#include "together.h"
static unsigned long count;
static void *work(void *me)
{
	for (int i = 0; i < 500; i++) {
		while (__atomic_load_n(&count, __ATOMIC_RELAXED) % 2 != (unsigned long)me)
			sched_yield();
		__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}
int main(void)
{
	if (setgid(65534) || setuid(65534))
		return 1;
	together(2, work);
	printf("%lu %u\n", count, geteuid());
	return 0;
}
""",
    )
    output, report = record_to(tmp_path / "out.json", program, options=NO_ADVICE)
    assert output == "1000 65534\n"
    assert "count" in [line["object"] for line in report["variants"][0]["lines"]]


PAIRS = r"""
#include <stdlib.h>
#include <unistd.h>
#include "together.h"
static unsigned long count[2] __attribute__((aligned(64)));
static void *work(void *arg)
{
	unsigned long me = (unsigned long)arg;

	pthread_barrier_wait(&ready);
	for (int i = 0; i < 2000; i++) {
		__atomic_fetch_add(&count[me % 2], 1, __ATOMIC_RELAXED);
		for (volatile int k = 0; k < 50; k++)
			;
		if (i % 20 == 0)
			free(malloc(1 + (i + me * 8) % 64));
	}
	return NULL;
}
int main(void)
{
	together(4, work);
	usleep(5000);
	return 0;
}
"""


def test_two_pairs_of_threads_share_a_line_and_each_its_word_truly(tmp_path: Path) -> None:
    """A word moves between the two threads of a pair, whichever line contains it.

    Both words still wait in the queue of one line. The replay says what a second line gains.
    """
    program = compile_c(tmp_path, "pairs", PAIRS)

    def holds(report: Report) -> bool:
        line = report["variants"][0]["lines"][0]
        return (line["object"], line["sharing"]) == ("count", "true") and hitm_of(line) > 4000

    report = quiet(lambda: record_to(tmp_path / "out.json", program)[1], holds)
    variant = report["variants"][0]
    # The recorder's own accesses in the program are not reported.
    assert not [line for line in variant["lines"] if line["object"].startswith("sites")]
    assert not [
        access
        for line in variant["lines"]
        for access in line["accesses"]
        if "libschedshard" in access["source"] or "preload.c" in access["source"]
    ]


def test_false_sharing_that_cannot_be_ended_is_said(tmp_path: Path) -> None:
    """Each thread adds to its own byte, and sometimes loads all bytes at once."""
    program = compile_c(
        tmp_path,
        "bytes",
        r"""
#include "together.h"
static union {
	unsigned char byte[8];
	unsigned long all;
} shared __attribute__((aligned(64)));
static unsigned long sum;
static void *work(void *arg)
{
	unsigned long seen = 0;

	pthread_barrier_wait(&ready);
	for (int i = 0; i < 2000; i++) {
		__atomic_fetch_add(&shared.byte[(long)arg], 1, __ATOMIC_RELAXED);
		if (i % 500 == 0)
			seen += __atomic_load_n(&shared.all, __ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&sum, seen, __ATOMIC_RELAXED);
	return NULL;
}
ONLY_TOGETHER(4, work)
""",
    )
    options = ("--machine", MACHINE, "--uncertainty", "0")
    out = tmp_path / "out.json"
    outputs = []

    def make() -> Report:
        done = run("record", *options, "--out", str(out), "--", str(program))
        outputs.append(done.stderr)
        report: Report = json.loads(out.read_text(encoding="utf-8"))
        return report

    def holds(report: Report) -> bool:
        line = report["variants"][0]["lines"][0]
        return (line["object"], line["sharing"]) == ("shared", "false") and hitm_of(line) > 1000

    assert quiet(make, holds)["advice"] == []
    assert "false sharing was found, but a trial that separated these fields" in outputs[-1]
    done = run("record", *options, "--no-advice", "--", str(program))
    assert "false sharing" not in done.stderr.split("Contended lines")[0]


def test_who_sleeps_is_not_at_work(tmp_path: Path) -> None:
    program = compile_c(
        tmp_path,
        "sleeps",
        r"""
#include <unistd.h>
#include "together.h"
static void *work(void *none)
{
	for (int i = 0; i < 20; i++)
		usleep(2000);
	return none;
}
ONLY_TOGETHER(4, work)
""",
    )
    _, report = record_to(tmp_path / "out.json", program, options=NO_ADVICE)
    variant = report["variants"][0]
    # The sleeps of 40 ms would be 100 million cycles per CPU.
    assert variant["model"]["virtual_ns"] > 30e6
    assert variant["work_cycles"] < 10e6


def test_what_is_only_read_once_it_is_shared_is_not_contended(tmp_path: Path) -> None:
    """Eight threads read 1,000 words that were written before they began."""
    program = compile_c(
        tmp_path,
        "reads",
        r"""
#include "together.h"
static unsigned long word[1000];
static int failed;
static void *work(void *none)
{
	volatile unsigned long sum = 0;

	for (int k = 0; k < 10; k++)
		for (int i = 0; i < 1000; i++)
			sum += word[i];
	if (sum != 4995000)
		failed = 1;
	return NULL;
}
int main(void)
{
	for (int i = 0; i < 1000; i++)
		word[i] = i;
	together(8, work);
	return failed;
}
""",
    )
    _, report = record_to(tmp_path / "out.json", program, options=NO_ADVICE)
    assert report["recording"]["accesses_private"] > 80_000
    assert report["recording"]["accesses_reported"] < 8_000
    assert not [line for line in report["variants"][0]["lines"] if line["object"] == "word"]


def test_threads_that_seldom_meet_are_seldom_held_back(tmp_path: Path) -> None:
    """record-little adds to one sum after each 2 million instructions."""
    little = PROGRAMS / "record-little"
    alone = subprocess.run([little, "4", "2"], capture_output=True, text=True, check=True)

    def make() -> Report:
        output, report = record_to(tmp_path / "out.json", little, "4", "2", options=NO_ADVICE)
        assert output == alone.stdout
        return report

    def holds(report: Report) -> bool:
        recording = report["recording"]
        lines = report["variants"][0]["lines"]
        total = [hitm_of(line) for line in lines if line["object"] == "sum"]
        waits = recording["waits"] * 4 * recording["quantum"]
        return len(total) == 1 and 4 <= total[0] <= 8 and bool(waits < recording["instructions"])

    quiet(make, holds)


TASKS = r"""
#include <stdlib.h>
#include "together.h"
static struct {
	_Alignas(64) long alpha;
	long beta;
} c;
static long rounds, each;
static pthread_barrier_t b;
static void *work(void *p)
{
	for (long r = 0; r < rounds; r++) {
		long *mine = ((long)p + r) % 2 ? &c.beta : &c.alpha;

		for (int i = 0; i < each; i++)
			__atomic_fetch_add(mine, 1, __ATOMIC_RELAXED);
		pthread_barrier_wait(&b);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	rounds = atol(argv[1]);
	each = atol(argv[2]);
	pthread_barrier_init(&b, NULL, 2);
	together(2, work);
	return 0;
}
"""


def test_tasks_that_change_threads_share_falsely(tmp_path: Path) -> None:
    """Both threads write both words, but at different times: two lines end most transfers."""
    program = compile_c(tmp_path, "tasks", TASKS)

    def make() -> Report:
        return record_to(tmp_path / "out.json", program, "10", "200")[1]

    def holds(report: Report) -> bool:
        line = report["variants"][0]["lines"][0]
        falsely = (line["object"], line["sharing"]) == ("c", "false") and hitm_of(line) > 400
        # The host decides how often a task changes threads.
        return (
            falsely
            and bool(report["advice"])
            and report["advice"][0]["machines"][MACHINE]["fewer"] > 0.2
        )

    report = quiet(make, holds)
    assert "alpha" in report["advice"][0]["words"]


def test_names_do_not_depend_on_which_machines_are_asked_for() -> None:
    """Every byte that is shown gets a name, because the hottest byte differs between machines."""

    def used(address: int, *hitm: int) -> Line:
        accesses = (access(16 + 8 * n, (n,), hitm_remote=count) for n, count in enumerate(hitm))
        return line(*accesses, address=address)

    here = [used(0x1000, 2, 1), used(0x2000, 1), used(0x3000, 0)]
    other = [used(0x1000, 1, 2), used(0x2000, 1), used(0x3000, 0)]
    assert bytes_named(here, 1) == {0x1000, 0x1010, 0x1018, 0x2000, 0x2010}
    assert bytes_named(here, 1) == bytes_named(other, 1)
    assert bytes_named(here, 3) - bytes_named(here, 1) == {0x3000, 0x3010}


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("<core::cell::Cell<T>>::get", "core::cell::Cell::get"),
        ("<a::B<C> as d::E<F>>::g::h0123456789abcdef", "a::B::g"),
        ("alloc[fdfd2bd8633a6659]::alloc::alloc", "alloc::alloc::alloc"),
        ("std::vector<int, std::allocator<int> >::push_back", "std::vector::push_back"),
        ("operator<<", "operator<<"),
    ],
)
def test_names_of_functions_are_short(name: str, short: str) -> None:
    assert shortened(name) == short


def test_names_of_data_are_as_in_the_source(tmp_path: Path) -> None:
    """Regression: Boost's pool was named _ZN5boost6detail13spinlock_poolILi2EE5pool_E."""
    source, program = tmp_path / "data.cpp", tmp_path / "data"
    source.write_text(
        "namespace app { template <int N> struct pool { static long hits[4]; };\n"
        "template <int N> long pool<N>::hits[4]; }\n"
        "int main() { return app::pool<2>::hits[1]; }\n",
        encoding="utf-8",
    )
    subprocess.run(["c++", "-g", str(source), "-o", str(program)], check=True)
    module = _load(program, 0, 0)
    assert module is not None
    named = {symbol.name: symbol.size for symbol in module.objects}
    assert named["app::pool::hits"] == 32
    assert not [name for name in named if name.startswith("_Z")]


@pytest.mark.parametrize(
    ("name", "between"),
    [
        ("alloc::alloc::alloc", True),
        ("alloc::vec::Vec::with_capacity", True),
        ("__rust_alloc", True),
        ("std::sys::alloc::unix::aligned_malloc", True),
        ("regex_automata::util::pool::Pool::new", False),
        ("std::thread::Builder::spawn", True),
        ("allocate_table", False),
    ],
)
def test_what_lies_between_a_program_and_its_memory(name: str, between: bool) -> None:
    assert bool(ALLOCATORS.match(name)) is between
