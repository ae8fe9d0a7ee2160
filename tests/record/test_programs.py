# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""c2c record: what programs of distributions and of other languages have asked of it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schedshard.paths import ROOT, build_dir
from schedshard.record.modules import _short
from schedshard.record.objects import _ALLOCATORS
from schedshard.record.sharing import hitm_of_false_sharing, kind_of

MACHINE = "epyc-7763-2s"

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64"
    or shutil.which("qemu-x86_64") is None
    or not (build_dir() / "record" / "libschedshard-record.so").is_file(),
    reason="needs qemu-user and a build of x86-64",
)


def compile_c(folder: Path, name: str, source: str, *flags: str) -> Path:
    (folder / f"{name}.c").write_text(source, encoding="utf-8")
    path = folder / name
    subprocess.run(
        ["cc", "-g", "-O1", "-pthread", str(folder / f"{name}.c"), "-o", str(path), *flags],
        check=True,
    )
    return path


def record(program: Path, out: Path, *options: str) -> tuple[str, dict[str, Any]]:
    """What the program said, and the report."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schedshard", "c2c", "record", "--machine", MACHINE),
            *("--out", str(out), *options, "--", str(program)),
        ],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "cli")},
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return done.stdout, report


def test_a_constructor_of_a_library_allocates_as_much_as_it_wants(tmp_path: Path) -> None:
    """They run before ours; GnuTLS's allocates."""
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
    said, _ = record(program, tmp_path / "out.json", "--no-advice")
    assert said == "allocated\n"


@pytest.mark.parametrize("flags", [(), ("-static",)])
def test_the_kernel_tells_of_the_machines_cpus(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """Go's runtime asks it, not the C library; so does what is linked statically."""
    program = compile_c(
        tmp_path,
        "asks",
        r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	unsigned char mask[128] = { 0 };
	long n = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask), cpus = 0;
	char small[8];

	for (long i = 0; i < n * 8; i++)
		cpus += mask[i / 8] >> i % 8 & 1;
	printf("%ld %ld\n", cpus, syscall(SYS_sched_getaffinity, 0, sizeof(small), small));
	memset(mask, 0, sizeof(mask));
	mask[8] = 1;
	printf("%ld\n", syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask));
	return 0;
}
""",
        *flags,
    )
    said, _ = record(program, tmp_path / "out.json", "--no-advice", "--cpus", "72")
    assert said == "72 -1\n0\n"


PAIRS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static unsigned long count[2] __attribute__((aligned(64)));
static pthread_barrier_t ready;
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
	pthread_t t[4];

	pthread_barrier_init(&ready, NULL, 4);
	for (unsigned long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	usleep(5000);
	return 0;
}
"""


def test_two_groups_of_threads_share_a_line_falsely(tmp_path: Path) -> None:
    """Each word is shared by two threads, and no thread uses both."""
    _, report = record(compile_c(tmp_path, "pairs", PAIRS), tmp_path / "out.json")
    variant = report["variants"][0]
    line = variant["lines"][0]
    assert (line["object"], line["sharing"]) == ("count", "mixed")
    # The other thread of the pair writes once where those of the other pair write twice.
    assert line["hitm_false"] / (line["hitm_remote"] + line["hitm_local"]) == pytest.approx(
        2 / 3, abs=0.05
    )
    # What the recorder does for itself in the program is not the program's.
    assert not [each for each in variant["lines"] if each["object"].startswith("sites")]
    assert not [
        access
        for each in variant["lines"]
        for access in each["accesses"]
        if "libschedshard" in access["source"] or "preload.c" in access["source"]
    ]


def test_who_sleeps_is_not_at_work(tmp_path: Path) -> None:
    program = compile_c(
        tmp_path,
        "sleeps",
        r"""
#include <pthread.h>
#include <unistd.h>
static void *work(void *none)
{
	for (int i = 0; i < 20; i++)
		usleep(2000);
	return none;
}
int main(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
""",
    )
    _, report = record(program, tmp_path / "out.json", "--no-advice")
    variant = report["variants"][0]
    # 40 ms are 100 million cycles a CPU.
    assert variant["model"]["virtual_ns"] > 30e6
    assert variant["work_cycles"] < 10e6


def access(offset: int, by: list[int], hitm: int, stores: int) -> dict[str, Any]:
    return {
        "offset": offset, "size": 8, "by": by, "hitm_remote": hitm, "hitm_local": 0,
        "stores": stores,
    }  # fmt: skip


def test_false_sharing_is_what_others_stores_beside_cause() -> None:
    def line(*accesses: dict[str, Any]) -> dict[str, Any]:
        total = sum(each["hitm_remote"] for each in accesses)
        return {"hitm_remote": total, "hitm_local": 0, "accesses": list(accesses)}

    own = line(access(0, [1], 50, 50), access(8, [2], 50, 50))
    assert (kind_of(own), hitm_of_false_sharing(own)) == ("false", 100)
    one = line(access(0, [1, 2], 100, 100))
    assert (kind_of(one), hitm_of_false_sharing(one)) == ("true", 0)
    # Words of one lock, used by the same threads together, are no false sharing of each other.
    lock = line(access(0, [1, 2], 90, 100), access(8, [1, 2], 10, 100))
    assert hitm_of_false_sharing(lock) == 0
    groups = line(access(0, [1, 2], 60, 100), access(8, [3, 4], 60, 100))
    assert hitm_of_false_sharing(groups) == 80


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
    assert _short(name) == short


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
    assert bool(_ALLOCATORS.match(name)) is between
