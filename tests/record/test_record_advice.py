# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""c2c record: objects that no allocation names, and the words for elements of arrays."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from recording import Report, hitm_of, needs, quiet, record_to

from schedshard.c2c.naming.modules import Modules
from schedshard.common.paths import build_dir

pytestmark = needs(build_dir() / "record" / "libschedshard-record.so")

# Each thread has an element of its own in an array that lies in a structure.
POOL = r"""
#include <pthread.h>
#include <stdlib.h>
struct worker { unsigned long done, bytes; };
struct pool { pthread_mutex_t lock; struct worker w[8]; long total; };
static struct pool *pool;
static pthread_barrier_t ready;
static void *work(void *me)
{
	struct worker *w = &pool->w[(long)me];

	pthread_barrier_wait(&ready);
	for (int i = 0; i < 3000; i++) {
		__atomic_fetch_add(&w->done, 1, __ATOMIC_RELAXED);
		w->bytes += i;
		if (i % 100 == 0) {
			pthread_mutex_lock(&pool->lock);
			pool->total++;
			pthread_mutex_unlock(&pool->lock);
		}
	}
	return NULL;
}
int main(void)
{
	pthread_t t[2];

	pool = calloc(1, sizeof(*pool));
	pthread_mutex_init(&pool->lock, NULL);
	pthread_barrier_init(&ready, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
"""
# The same of two fields of one element, in a library that is closed again.
PLUGIN = r"""
struct counter { unsigned long hits, misses; };
static struct counter counters[2];
void plugin(long me)
{
	for (int i = 0; i < 3000; i++)
		__atomic_fetch_add(me ? &counters[1].hits : &counters[1].misses, 1, 0);
}
"""
HOST = r"""
#include <dlfcn.h>
#include <pthread.h>
static void (*plugin)(long);
static pthread_barrier_t ready;
static void *work(void *me)
{
	pthread_barrier_wait(&ready);
	plugin((long)me);
	return NULL;
}
int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);
	pthread_t t[2];

	plugin = (void (*)(long))dlsym(library, "plugin");
	pthread_barrier_init(&ready, NULL, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return dlclose(library);
}
"""


def compiled(folder: Path, name: str, text: str, *options: str) -> Path:
    (folder / f"{name}.c").write_text(text, encoding="utf-8")
    words = ["gcc", "-O2", "-g", "-pthread", f"{name}.c", "-o", name, *options]
    subprocess.run(words, check=True, cwd=folder)
    return folder / name


def hottest(folder: Path, program: Path, *words: str) -> Report:
    """The report of a run whose threads met in its hottest line."""
    return quiet(
        lambda: record_to(folder / "out.json", program, *words)[1],
        lambda report: hitm_of(report["variants"][0]["lines"][0]) > 1000,
    )


@pytest.mark.parametrize("how", ["-static", "-static-pie"])
def test_a_static_programs_heap_has_types(tmp_path: Path, how: str) -> None:
    """The line was 0x40000cd240, and nothing was to gain."""
    report = hottest(tmp_path, compiled(tmp_path, "pool", POOL, how))
    line = report["variants"][0]["lines"][0]
    assert (line["object"], line["type"]) == ("program's heap: struct pool", "struct pool")
    assert {"w[0].done", "w[1].done"} <= {access["field"] for access in line["accesses"]}
    words = [advice["words"] for advice in report["advice"]]
    assert words == ["pad `struct worker` (16 bytes, an element of `struct pool.w`) to a line"]


def test_a_closed_library_has_names(tmp_path: Path) -> None:
    """Both fields are of one element: to pad the elements would leave them together."""
    library = compiled(tmp_path, "plugin.so", PLUGIN, "-shared", "-fPIC")
    report = hottest(tmp_path, compiled(tmp_path, "host", HOST), str(library))
    line = report["variants"][0]["lines"][0]
    assert line["object"] == "counters"
    assert {access["symbol"] for access in line["accesses"]} == {"plugin"}
    words = [advice["words"] for advice in report["advice"]]
    assert words == ["give `struct counter.hits` and `struct counter.misses` a line each"]


def test_what_was_unmapped_last_has_an_address(tmp_path: Path) -> None:
    one, other = (
        compiled(tmp_path, name, f"int {name[0]};\n", "-shared", "-fPIC", "-nostdlib")
        for name in ("a.so", "b.so")
    )
    gone = [(0, 0x10000, 0x11000, 0, str(one)), (1, 0x10000, 0x11000, 0, str(other))]
    modules = Modules((), gone=gone)
    found = modules.at(0x10010)
    assert found is not None
    assert found.path == other


def test_a_stripped_program_says_where_its_debug_information_is(tmp_path: Path) -> None:
    program = compiled(tmp_path, "p", "int main(void) { return 0; }\n", "-Wl,--build-id=none")
    for words in (
        ["objcopy", "--only-keep-debug", "p", "p.debug"],
        ["strip", "--strip-all", "p"],
        ["objcopy", "--add-gnu-debuglink=p.debug", "p"],
    ):
        subprocess.run(words, check=True, cwd=tmp_path)
    (found,) = Modules([(0, 0, 0, str(program))]).modules
    assert found.debug == tmp_path / "p.debug"
    assert "main" in {each.name for each in found.functions}
    # Another one's is of no use.
    with (tmp_path / "p.debug").open("ab") as file:
        file.write(b"more")
    assert Modules([(0, 0, 0, str(program))]).modules[0].debug is None
