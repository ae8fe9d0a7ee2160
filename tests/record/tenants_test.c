// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Who has an address, as libraries, files and memory come and go. */
#include <stdbool.h>
#include <stdint.h>

#include "../sim/check.h"
#include "tenants.h"

static const struct tenants_who a = { 1, 10, 0 }, b = { 1, 11, 0 }, memory;

/* As a loader does: the whole file, then its data over the end, and memory behind them. */
static bool load(uint64_t at, const struct tenants_who *file)
{
	struct tenants_who data = { file->device, file->inode, 0x3000 };
	bool changed = tenants_mapped(at, 0x5678, file);

	tenants_mapped(at + 0x4000, 0x1000, &data);
	tenants_mapped(at + 0x5000, 0x1000, &memory);
	return changed;
}

int main(void)
{
	struct tenants_who middle = { 1, 12, 0x8000 };

	CHECK(!load(0x10000, &a));
	CHECK(tenants_at(0x10000) == 0 && tenants_at(0x15000) == 0);
	/* Another library, a little lower. */
	tenants_unmapped(0x10000, 0x6000);
	CHECK(load(0xf000, &b));
	CHECK(tenants_at(0xf000) == 1 && tenants_at(0x14fff) == 1);
	CHECK(tenants_at(0x15000) == 0);
	/* The first one comes back, and goes on elsewhere. */
	tenants_unmapped(0xf000, 0x6000);
	CHECK(load(0x10000, &a));
	CHECK(tenants_at(0x10000) == 0 && tenants_at(0x15fff) == 0 && tenants_at(0xf000) == 1);
	tenants_unmapped(0x10000, 0x6000);
	CHECK(load(0x11000, &a));
	CHECK(tenants_at(0x11000) == 2 && tenants_at(0x16fff) == 2);
	/* Memory where a library was is new once, and its parts are it. */
	tenants_unmapped(0x11000, 0x6000);
	CHECK(tenants_mapped(0x11000, 0x8000, &memory));
	CHECK(tenants_at(0x11000) == 3 && tenants_at(0x18fff) == 3);
	tenants_unmapped(0x12000, 0x3000);
	CHECK(!tenants_mapped(0x12000, 0x1000, &memory));
	CHECK(tenants_at(0x12000) == 3);
	/* A file over memory that is there; memory where nothing was; memory over a file's data. */
	CHECK(tenants_mapped(0x12000, 0x1000, &middle));
	CHECK(tenants_at(0x12000) == 4 && tenants_at(0x13000) == 3);
	CHECK(!tenants_mapped(0x100000, 0x1000, &memory));
	CHECK(!tenants_mapped(0x12000, 0x1000, &memory));
	CHECK(tenants_at(0x12000) == 4);
	/* Without end: nothing is lost, and a range that is not there has the first tenant. */
	for (uint64_t i = 0; i < 3000; i++) {
		struct tenants_who other = { 2, i + 1, 0 };

		tenants_mapped(0x200000, 0x1000, &other);
		tenants_unmapped(0x200000, 0x1000);
		tenants_mapped(0x300000 + i * 0x2000, 0x1000, &other);
	}
	CHECK(tenants_at(0x200000) == TENANTS);
	CHECK(tenants_at(0x900000) == 0);
	return 0;
}
