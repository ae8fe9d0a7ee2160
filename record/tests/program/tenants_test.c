// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests the tenant of an address while libraries, files and memory come and go. */
#include <stdbool.h>
#include <stdint.h>

#include "../../../model/tests/sim/check.h"
#include "tenants.h"

static const struct tenants_who a = { .device = 1, .inode = 10 }, b = { .device = 1, .inode = 11 },
				memory;

/* Maps a library as a loader does: the whole file, its data over the end, then memory. */
static bool load(uint64_t at, const struct tenants_who *file)
{
	struct tenants_who data = *file;
	bool changed = tenants_mapped(at, 0x5678, file);

	data.offset = 0x3000;
	tenants_mapped(at + 0x4000, 0x1000, &data);
	tenants_mapped(at + 0x5000, 0x1000, &memory);
	return changed;
}

int main(void)
{
	struct tenants_who middle = { .device = 1, .inode = 12, .offset = 0x8000 };
	struct tenants_who again = { .device = 1, .inode = 13 };

	CHECK(!load(0x10000, &a));
	CHECK(tenants_at(0x10000) == 0 && tenants_at(0x15000) == 0);
	/* Another library is loaded a little lower. */
	tenants_unmapped(0x10000, 0x6000);
	CHECK(load(0xf000, &b));
	CHECK(tenants_at(0xf000) == 1 && tenants_at(0x14fff) == 1);
	CHECK(tenants_at(0x15000) == 0);
	/* The first library comes back, and is then loaded elsewhere. */
	tenants_unmapped(0xf000, 0x6000);
	CHECK(load(0x10000, &a));
	CHECK(tenants_at(0x10000) == 0 && tenants_at(0x15fff) == 0 && tenants_at(0xf000) == 1);
	tenants_unmapped(0x10000, 0x6000);
	CHECK(load(0x11000, &a));
	CHECK(tenants_at(0x11000) == 2 && tenants_at(0x16fff) == 2);
	/* Memory in place of a library is a new tenant; mapping parts of it again is not. */
	tenants_unmapped(0x11000, 0x6000);
	CHECK(tenants_mapped(0x11000, 0x8000, &memory));
	CHECK(tenants_at(0x11000) == 3 && tenants_at(0x18fff) == 3);
	tenants_unmapped(0x12000, 0x3000);
	CHECK(!tenants_mapped(0x12000, 0x1000, &memory));
	CHECK(tenants_at(0x12000) == 3);
	/* A file over memory is a new tenant; memory in a free place or over a file is not. */
	CHECK(tenants_mapped(0x12000, 0x1000, &middle));
	CHECK(tenants_at(0x12000) == 4 && tenants_at(0x13000) == 3);
	CHECK(!tenants_mapped(0x100000, 0x1000, &memory));
	CHECK(!tenants_mapped(0x12000, 0x1000, &memory));
	CHECK(tenants_at(0x12000) == 4);
	/* A library that was written again, or whose inode another file has now, is another one. */
	CHECK(!load(0x40000, &again));
	tenants_unmapped(0x40000, 0x6000);
	again.changed = 1;
	CHECK(load(0x40000, &again));
	CHECK(tenants_at(0x40000) == 5 && tenants_at(0x44fff) == 5);
	tenants_unmapped(0x40000, 0x6000);
	again.size = 1;
	CHECK(load(0x40000, &again));
	CHECK(tenants_at(0x40000) == 6 && tenants_at(0x44fff) == 6);
	tenants_unmapped(0x40000, 0x6000);
	/* Memory that the kernel refuses to unmap is still there. */
	load(0x50000, &a);
	tenants_unmapped(0x4fff8, 0x7000);
	tenants_unmapped(0x50000, 0);
	CHECK(!tenants_mapped(0x50000, 0x6000, &memory) && tenants_at(0x50000) == 0);
	/* Memory in the place of many libraries: half of the tenants may be without a file. */
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t where = 0x10000000 + i * 0x10000;

		load(where, &a);
		tenants_unmapped(where, 0x6000);
		CHECK(tenants_mapped(where, 0x6000, &memory));
		CHECK(tenants_at(where) == 7 + i);
		tenants_unmapped(where, 0x6000);
	}
	/* Beyond the limit the last number is used again; other ranges have the first tenant. */
	for (uint64_t i = 0; i < 3000; i++) {
		struct tenants_who other = { .device = 2, .inode = i + 1 };

		tenants_mapped(0x200000, 0x1000, &other);
		tenants_unmapped(0x200000, 0x1000);
		tenants_mapped(0x300000 + i * 0x2000, 0x1000, &other);
	}
	CHECK(tenants_at(0x200000) == TENANTS);
	CHECK(tenants_at(0x900000) == 0);
	return 0;
}
