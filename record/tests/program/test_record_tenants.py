# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`record` distinguishes libraries and memory that are at one address one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from recording import Report, compiled, hitm_of, quiet, record_to, recorded

from record.names.memory import Memory
from record.names.modules import TENANT, Modules

# Two threads each add to a field of the library's data, and of an object that it allocated.
PLUGIN = r"""
#include <stdlib.h>
struct %(name)s { unsigned long %(one)s, %(other)s; };
static struct %(name)s %(name)s_data, *%(name)s_made;
void begin(void) { %(name)s_made = calloc(1, sizeof(struct %(name)s)); }
void *data(void) { return &%(name)s_data; }
void end(void) { free(%(name)s_made); }
void work(long me)
{
	for (int i = 0; me && i < 2000; i++) {
		__atomic_fetch_add(&%(name)s_data.%(one)s, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&%(name)s_made->%(one)s, 1, __ATOMIC_RELAXED);
	}
	for (int i = 0; !me && i < 2000; i++) {
		__atomic_fetch_add(&%(name)s_data.%(other)s, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&%(name)s_made->%(other)s, 1, __ATOMIC_RELAXED);
	}
}
"""
# Loads each library in turn, and at the end maps memory at the address of the last one's data.
HOST = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "together.h"
static void (*work)(long);
static void *thread(void *me)
{
	pthread_barrier_wait(&ready);
	work((long)me);
	return NULL;
}
static unsigned long *words;
static void plain(long me)
{
	for (int i = 0; i < 2000; i++)
		__atomic_fetch_add(&words[me], 1, __ATOMIC_RELAXED);
}
int main(int argc, char **argv)
{
	uintptr_t last = 0;
	void *page;

	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		void *(*data)(void) = (void *(*)(void))dlsym(library, "data");
		uintptr_t at = (uintptr_t)data();

		printf("%s", last ? last == at ? " same" : " other" : "first");
		last = at;
		((void (*)(void))dlsym(library, "begin"))();
		work = (void (*)(long))dlsym(library, "work");
		together(2, thread);
		((void (*)(void))dlsym(library, "end"))();
		dlclose(library);
	}
	last &= ~4095ul;
	page = mmap((void *)last, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf(" %s\n", page == (void *)last ? "same" : "other");
	words = page;
	work = plain;
	together(2, thread);
	return 0;
}
"""


def library(folder: Path, name: str, first: str, other: str) -> Path:
    text = PLUGIN % {"name": name, "one": first, "other": other}
    # In a program without PIE the loader puts a library at the address that it asks for.
    return compiled(folder, f"{name}.so", text, "-shared", "-fPIC", "-Wl,-Ttext-segment=0x30000000")


def by_object(report: Report) -> dict[str, list[Report]]:
    """Return the accesses that transfer lines, by the object of their line."""
    groups: dict[str, list[Report]] = {}
    for line in report["variants"][0]["lines"]:
        if hitm_of(line) > 200:
            accesses = [access for access in line["accesses"] if hitm_of(access) > 20]
            name = line["object"].rpartition(":")[0] or line["object"]
            groups.setdefault(name, []).extend(accesses)
    return groups


@pytest.mark.parametrize("options", [(), ("--follow",)])
@recorded
def test_libraries_at_one_address(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Regression: objects with one address in turn were one line, named after the last library."""
    first = library(tmp_path, "counter", "hits", "misses")
    second = library(tmp_path, "gauge", "level", "peak")
    host = compiled(tmp_path, "host", HOST, "-no-pie")
    fields = {
        "counter_data": ("counter.so.c", {"counter_data.hits", "counter_data.misses"}),
        "gauge_data": ("gauge.so.c", {"gauge_data.level", "gauge_data.peak"}),
        "heap: begin (counter.so.c": ("counter.so.c", {"hits", "misses"}),
        "heap: begin (gauge.so.c": ("gauge.so.c", {"level", "peak"}),
        "heap: main (host.c": ("host.c", {"[0]", "[1]"}),
    }

    def made() -> Report:
        words = (str(first), str(second), str(first))
        printed, report = record_to(tmp_path / "o.json", host, *words, options=options)
        assert printed == "first same same same\n"
        return report

    def holds(report: Report) -> bool:
        objects = by_object(report)
        hitms = {name: sum(map(hitm_of, accesses)) for name, accesses in objects.items()}
        if min(hitms.get(name, 0) for name in fields) < 1000:
            return False
        assert set(objects) == set(fields)
        for name, (source, members) in fields.items():
            assert {access["field"] for access in objects[name]} == members
            assert {access["source"].partition(":")[0] for access in objects[name]} == {source}
        # The first library came back to its place: one visit adds 4,000 times at most.
        assert sum(access["records"] for access in objects["counter_data"]) > 4000
        assert sum(access["records"] for access in objects["gauge_data"]) <= 4000
        return True

    quiet(made, holds)


def test_addresses_of_tenants(tmp_path: Path) -> None:
    """Addresses of recordings and owners of pages contain the tenant in their upper bits."""
    first, other = (
        compiled(tmp_path, name, f"int {name[0]};\n", "-shared", "-fPIC", "-nostdlib")
        for name in ("a.so", "b.so")
    )
    address = TENANT + 0x10000
    gone = [(0, 0x10000, 0x11000, 0, str(first)), (1, address, address + 0x1000, 0, str(other))]
    modules = Modules((), gone=gone)
    mapped = [modules.at(0x10010), modules.at(address + 0x10)]
    assert [module and module.path for module in mapped] == [first, other]
    place = 0x610000003000
    memory = Memory(
        {"pages": [[place, 1, (1 << 14) + 2, 0x10]], "processes": [], "images": [[1, 0, 0, 0]]}
    )
    (where,) = memory.where(place + 0x10)
    assert (where.image, where.address) == (2, address + 0x10)


def test_a_file_that_was_unmapped_often_is_read_once(tmp_path: Path) -> None:
    path = compiled(tmp_path, "a.so", "int a;\n", "-shared", "-fPIC", "-nostdlib")
    gone = [(call, 0x10000, 0x11000, 0, str(path)) for call in range(100)]
    assert len(Modules((), gone=gone).modules) == 1
