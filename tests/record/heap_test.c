// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The table of allocations, while libraries are loaded and unloaded at the return addresses. */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../sim/check.h"
#include "access.h"
#include "pages.h"
#include "user.h"

static uint32_t changes, tenant;

uint32_t pages_tenants(void)
{
	return changes;
}

uint64_t pages_name(uint64_t address)
{
	return PAGES_NAME(address, tenant);
}

uint64_t pages_find(uint64_t address)
{
	return address;
}

bool access_contended(uint64_t line)
{
	return true;
}

/* Allocate at one place, whose code belongs to tenant @now. */
static void allocate(uint32_t now, uint64_t at)
{
	changes += tenant != now;
	tenant = now;
	heap_alloc(at, 64, 3, 0, 0);
}

int main(void)
{
	const uint64_t frame[] = { 0x1000, 0x2000 };
	/* Tenants of the code, by allocation. One that returns gets its earlier site. */
	static const uint32_t who[] = { 0, 1, 0, 2, 1, 0, 0 };
	json_t *all = json_object(), *sites;

	heap_site(3, frame, 2);
	for (uint32_t i = 0; i < 7; i++)
		allocate(who[i], 0x10000 + i * 0x1000);
	heap_json(all);
	sites = json_object_get(all, "sites");
	CHECK(json_array_size(sites) == 3);
	for (uint32_t i = 0; i < 3; i++) {
		static const json_int_t objects[] = { 4, 2, 1 };
		json_t *site = json_array_get(sites, i);
		json_t *first = json_array_get(json_object_get(site, "frames"), 0);

		CHECK((uint64_t)json_integer_value(first) == PAGES_NAME(0x1000, i));
		CHECK(json_integer_value(json_object_get(site, "objects")) == objects[i]);
		CHECK(json_integer_value(json_object_get(site, "bytes")) == 64 * objects[i]);
	}
	CHECK(json_array_size(json_object_get(all, "objects")) == 7);
	json_decref(all);
	return 0;
}
