// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Records live in one array in order of first appearance, which is deterministic;
 * the hash table only finds them.
 */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"

extern const char __executable_start; /* set by the linker: where the image was loaded */

int stats_init(struct stats *s, uint32_t nr_cpus)
{
	memset(s, 0, sizeof(*s));
	s->nr_cpus = nr_cpus;
	s->cpu_words = (nr_cpus + 63) / 64;
	s->mask = 4095;
	s->index = malloc((s->mask + 1) * sizeof(*s->index));
	s->last = malloc(nr_cpus * sizeof(*s->last));
	if (!s->index || !s->last)
		return -1;
	stats_reset(s);
	return 0;
}

void stats_reset(struct stats *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->rec[i].cpus);
	s->n = 0;
	memset(s->index, 0xff, (s->mask + 1) * sizeof(*s->index));
	memset(s->last, 0xff, s->nr_cpus * sizeof(*s->last));
}

void stats_free(struct stats *s)
{
	if (s->index)
		stats_reset(s);
	free(s->rec);
	free(s->index);
	free(s->last);
	memset(s, 0, sizeof(*s));
}

static inline uint32_t hash(uint32_t line, uint32_t offset, uint64_t pc)
{
	uint64_t h = (pc ^ ((uint64_t)line << 20) ^ offset) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 32);
}

static void place(struct stats *s, uint32_t i)
{
	uint32_t slot = hash(s->rec[i].line, s->rec[i].offset, s->rec[i].pc);

	while (s->index[slot & s->mask] != UINT32_MAX)
		slot++;
	s->index[slot & s->mask] = i;
}

static void grow(struct stats *s)
{
	s->cap = s->cap ? 2 * s->cap : 1024;
	s->rec = realloc(s->rec, s->cap * sizeof(*s->rec));
	if (!s->rec)
		abort();
	if (2 * s->cap > s->mask) {
		s->mask = 4 * s->cap - 1;
		free(s->index);
		s->index = malloc((s->mask + 1) * sizeof(*s->index));
		if (!s->index)
			abort();
		memset(s->index, 0xff, (s->mask + 1) * sizeof(*s->index));
		for (uint32_t i = 0; i < s->n; i++)
			place(s, i);
	}
}

static inline bool same(const struct access_record *r, uint32_t line, uint32_t offset, uint64_t pc)
{
	return r->pc == pc && r->line == line && r->offset == offset;
}

static struct access_record *find(struct stats *s, uint32_t cpu, uint32_t line, uint32_t offset,
				  uint64_t pc)
{
	uint32_t slot, i = s->last[cpu];
	struct access_record *r;

	if (i != UINT32_MAX && same(&s->rec[i], line, offset, pc))
		return &s->rec[i];
	for (slot = hash(line, offset, pc); (i = s->index[slot & s->mask]) != UINT32_MAX; slot++) {
		if (same(&s->rec[i], line, offset, pc)) {
			s->last[cpu] = i;
			return &s->rec[i];
		}
	}
	if (s->n == s->cap)
		grow(s);
	i = s->n++;
	r = &s->rec[i];
	*r = (struct access_record){ .line = line, .offset = (uint16_t)offset, .pc = pc };
	r->cpus = calloc(s->cpu_words, sizeof(*r->cpus));
	if (!r->cpus)
		abort();
	place(s, i);
	s->last[cpu] = i;
	return r;
}

void stats_add(struct stats *s, uint32_t cpu, const volatile void *addr, uint32_t size,
	       enum access_kind kind, const void *pc, uint64_t time, enum source source)
{
	uint64_t rel = (uint64_t)((const char *)pc - &__executable_start);
	uint32_t offset = (uint32_t)((uintptr_t)addr & (LINE_SIZE - 1));
	struct access_record *r = find(s, cpu, arena_line(addr), offset, rel);

	r->size = (uint8_t)size;
	r->kind = (uint8_t)kind;
	r->records++;
	r->cpus[cpu / 64] |= 1ull << (cpu % 64);
	r->stores += kind != ACCESS_LOAD;
	if (kind == ACCESS_STORE)
		return;
	r->loads++;
	r->load_time += time;
	if (time > r->load_max)
		r->load_max = time;
	r->hitm_local += source == SOURCE_HITM_LOCAL;
	r->hitm_remote += source == SOURCE_HITM_REMOTE;
}
