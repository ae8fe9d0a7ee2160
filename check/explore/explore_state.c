// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Keeps the state of the machine, and says which programs run, what failed, and how objects are
 * named. All other files of the machine use this file; it uses none of them.
 */
#include "explore_internal.h"

#include <stdio.h>

#include "arena.h"

#define MAX_NAMES 64

struct x_world xw = { .running = X_NO_CPU };

static struct {
	uint64_t addr;
	size_t size;
	const char *name;
} names[MAX_NAMES];
static uint32_t nr_names;

void x_forget_names(void)
{
	nr_names = 0;
}

void explore_name(const void *ptr, size_t size, const char *name)
{
	if (nr_names < MAX_NAMES) {
		names[nr_names].addr = (uint64_t)(uintptr_t)ptr;
		names[nr_names].size = size;
		names[nr_names++].name = name;
	}
}

void x_object_name(uint64_t addr, char *buf, size_t size)
{
	const struct arena_object *o;

	for (uint32_t i = 0; i < nr_names; i++) {
		if (addr - names[i].addr < names[i].size) {
			uint64_t at = addr - names[i].addr;

			snprintf(buf, size, at ? "%s+%llu" : "%s", names[i].name,
				 (unsigned long long)at);
			return;
		}
	}
	o = arena_object_of(arena_line((void *)(uintptr_t)addr));
	snprintf(buf, size, "%s+%llu", o->name,
		 (unsigned long long)(addr - ARENA_BASE - o->offset));
}

uint32_t x_unfinished(void)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < xw.nr_cpus; i++) {
		if (!xw.cpus[i].done)
			mask |= 1u << i;
	}
	return mask;
}

void x_fail_at(int cpu, const char *text)
{
	if (xw.failure.found)
		return;
	xw.failure.found = true;
	xw.failure.cpu = cpu;
	xw.failure.steps = xw.steps;
	snprintf(xw.failure.text, sizeof(xw.failure.text), "%s", text);
}

void x_fail_race(uint64_t addr, unsigned int cpu_a, unsigned int cpu_b)
{
	char object[64], text[160];

	x_object_name(addr, object, sizeof(object));
	snprintf(text, sizeof(text),
		 "data race on %s: nothing orders the accesses of CPU %u and CPU %u, not both "
		 "atomic",
		 object, cpu_a < cpu_b ? cpu_a : cpu_b, cpu_a < cpu_b ? cpu_b : cpu_a);
	x_fail_at(-1, text);
}

const struct x_failure *x_failure(void)
{
	return &xw.failure;
}

const uint64_t *x_results(void)
{
	return xw.results;
}
