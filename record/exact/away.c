// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The file of blocks says which blocks call code without instrumentation. Such a call takes
 * EXACT_AWAY cycles of the model. The host's time for it runs from the start of the block to the
 * start of the next one, less the time in this library. The host's time is only reported. The model
 * must not use it, because it differs between runs.
 */
#include "away.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pass.h"
#include "real.h"

_Thread_local uint64_t away_since;
static _Thread_local uint32_t kind, pointed;

/* Indexed by the number that the file gives a set of callees. */
static struct set {
	uint64_t calls, ticks;
} * sets;
static uint32_t nr_sets;

static struct timespec began;
static uint64_t began_ticks;

static uint64_t ticks(void)
{
	return __builtin_ia32_rdtsc();
}

static void now(struct timespec *at)
{
	PASS(REAL(clock_gettime)(CLOCK_MONOTONIC, at));
}

void away_start(void)
{
	now(&began);
	began_ticks = ticks();
}

static double ticks_per_second(void)
{
	struct timespec at = { 0 };
	double passed;

	now(&at);
	passed = (double)(at.tv_sec - began.tv_sec) + (double)(at.tv_nsec - began.tv_nsec) / 1e9;
	return passed > 0 ? (double)(ticks() - began_ticks) / passed : 1;
}

int away_room(uint32_t set)
{
	struct set *more;

	if (set < nr_sets)
		return 0;
	more = realloc(sets, (set + 1ul) * sizeof(*sets));
	if (!more)
		return -1;
	sets = more;
	memset(&sets[nr_sets], 0, (set + 1ul - nr_sets) * sizeof(*sets));
	nr_sets = set + 1;
	return 0;
}

void away_begin(uint32_t set, uint32_t calls)
{
	kind = set;
	sets[set].calls += calls;
	away_leave();
}

/* A call went into code with hooks if the next block is the first one of a function. */
void away_point(uint32_t set, uint32_t calls)
{
	kind = set;
	pointed = calls;
	away_leave();
}

uint32_t away_pointed(bool entry)
{
	uint32_t calls = entry ? 0 : pointed;

	if (!pointed)
		return 0;
	pointed = 0;
	if (!calls)
		away_since = 0;
	sets[kind].calls += calls;
	return calls;
}

void away_back(void)
{
	away_stay();
	away_since = 0;
}

void away_stay(void)
{
	if (away_since > 1)
		sets[kind].ticks += ticks() - away_since;
	away_since = 1;
}

void away_leave(void)
{
	away_since = ticks();
}

void away_json(json_t *into)
{
	json_t *calls = json_array(), *host = json_array();
	uint64_t all = 0;

	for (uint32_t i = 0; i < nr_sets; i++) {
		if (!sets[i].calls)
			continue;
		all += sets[i].calls;
		json_array_append_new(calls,
				      json_pack("[i, I]", (int)i, (json_int_t)sets[i].calls));
		json_array_append_new(host, json_pack("[i, I]", (int)i, (json_int_t)sets[i].ticks));
	}
	json_object_set_new(into, "away", calls);
	json_object_set_new(into, "away_host", host);
	json_object_set_new(into, "away_ns",
			    json_real((double)(all * EXACT_AWAY * exact.ps) / 1000));
	json_object_set_new(into, "ticks_per_second", json_real(ticks_per_second()));
}
