/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * stats.h - what `perf c2c` would have sampled, but complete.
 *
 * One record for each (line, offset, instruction). Loads that hit in the core's own
 * cache are not recorded, as perf's load sampling with a latency threshold does not show them
 * either; stores and locked operations are recorded always. A locked operation counts as
 * load and as store.
 */
#ifndef SIM_STATS_H
#define SIM_STATS_H

#include <stdint.h>

#include "coherence.h"

enum access_kind { ACCESS_LOAD, ACCESS_STORE, ACCESS_RMW };

struct access_record {
	uint32_t line;
	uint16_t offset; /* bytes from the line's start */
	uint8_t size, kind;
	uint64_t pc; /* relative to the program's image */
	uint64_t records, loads, stores, hitm_local, hitm_remote, load_time,
		load_max; /* times in ps */
	uint64_t *cpus;	  /* bitmap */
};

struct stats {
	struct access_record *rec;
	uint32_t *index; /* open addressing into rec, UINT32_MAX = free */
	uint32_t n, cap, mask;
	uint32_t cpu_words;
	uint32_t *last; /* by CPU: the record used last, most accesses repeat */
	uint32_t nr_cpus;
};

int stats_init(struct stats *s, uint32_t nr_cpus);
void stats_free(struct stats *s);
void stats_reset(struct stats *s);

/**
 * stats_add - count one access.
 * @time: picoseconds from issue until the value was there
 */
void stats_add(struct stats *s, uint32_t cpu, const volatile void *addr, uint32_t size,
	       enum access_kind kind, const void *pc, uint64_t time, enum source source);

#endif
