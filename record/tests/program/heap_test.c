// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests the table of allocations while libraries come and go at the return addresses. */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../../model/tests/sim/check.h"
#include "access.h"
#include "pages.h"
#include "user.h"

static uint32_t changes, tenant;
static uint64_t contended, looked; /* the only contended line; 0: all are */

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
	looked++;
	return !contended || line == contended;
}

bool access_page_contended(uint64_t place)
{
	looked++;
	return !contended || place / PAGES_SIZE == contended * 64 / PAGES_SIZE;
}

/* Return how many objects are kept when one of @size bytes at @at has one contended line. */
static size_t kept(uint64_t at, uint64_t size, uint64_t line)
{
	json_t *all = json_object();
	size_t objects;

	contended = line;
	looked = 0;
	heap_alloc(at, size, 3, 0, 0);
	heap_json(all);
	contended = 1;
	heap_free(at);
	objects = json_array_size(json_object_get(all, "objects"));
	json_decref(all);
	return objects;
}

/* An object is kept for any of its lines, far from its beginning too, and for no other. */
static void any_line(void)
{
	uint64_t at = 1ull << 32, size = 8ull << 30;

	for (uint64_t i = 0; i < 7; i++)
		heap_free(0x10000 + i * 0x1000);
	CHECK(kept(at, size, (at + size) / 64 - 1) == 8);
	CHECK(looked < 2 * size / PAGES_SIZE); /* pages, not lines */
	CHECK(kept(at + 64, size, (at + size) / 64) == 8);
	CHECK(kept(at, size, (at + size) / 64) == 7);
	CHECK(kept(at + 64, size, at / 64) == 7);
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
	/* The code's tenant at each allocation. A tenant that returns gets its earlier site. */
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
	any_line();
	return 0;
}
