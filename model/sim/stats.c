// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Records have numbers in the order of their first access, which is deterministic. The tables of
 * the lines only index them. A run may have millions of records, so growing must not copy them.
 */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 8u /* initial number of slots per line */

_Static_assert(sizeof(struct access_record) == 64, "one line of the host for each access");

extern const char __executable_start; /* set by the linker: where the image was loaded */

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

int stats_init(struct stats *s, uint32_t nr_cpus)
{
	memset(s, 0, sizeof(*s));
	s->cpu_words = (nr_cpus + 63) / 64;
	s->epoch = 1;
	return 0;
}

void stats_reset(struct stats *s)
{
	for (uint32_t i = 0; i < s->nr_lines; i++) {
		free(s->line[i].slot);
		s->line[i].slot = NULL;
		s->line[i].n = 0;
	}
	while (s->nr_blocks)
		free(s->block[--s->nr_blocks]);
	s->n = 0;
	s->logged = 0;
	s->epoch++;
	s->touched = 0;
}

void stats_free(struct stats *s)
{
	stats_reset(s);
	free(s->block);
	free(s->line);
	memset(s, 0, sizeof(*s));
}

void stats_grow_lines(struct stats *s, uint32_t line)
{
	uint32_t n = s->nr_lines ? s->nr_lines : 1024;

	while (n <= line)
		n *= 2;
	s->line = must(realloc(s->line, n * sizeof(*s->line)));
	memset(s->line + s->nr_lines, 0, (n - s->nr_lines) * sizeof(*s->line));
	s->nr_lines = n;
}

/* ---- records ---- */

static void new_block(struct stats *s)
{
	size_t place = sizeof(struct access_place) + s->cpu_words * sizeof(uint64_t);
	size_t size = STATS_BLOCK * (sizeof(struct access_record) + place);
	void *block = must(aligned_alloc(sizeof(struct access_record), size));

	if (s->nr_blocks % STATS_BLOCK == 0)
		s->block =
			must(realloc(s->block, (s->nr_blocks + STATS_BLOCK) * sizeof(*s->block)));
	s->block[s->nr_blocks++] = memset(block, 0, size);
}

static uint32_t new_record(struct stats *s, uint32_t line, uint32_t offset, const void *pc)
{
	uint32_t i = s->n++;

	if (i == s->nr_blocks * STATS_BLOCK)
		new_block(s);
	stats_record(s, i)->line = line;
	stats_record(s, i)->offset = (uint16_t)offset;
	stats_place(s, i)->pc = (uint64_t)((const char *)pc - &__executable_start);
	return i;
}

/* ---- slots ---- */

static inline uint32_t offset_of(uint32_t who)
{
	return who >> STATS_OFFSET_SHIFT & (LINE_SIZE - 1);
}

static inline uint32_t size_of(uint32_t who)
{
	return who >> STATS_SIZE_SHIFT & (2 * LINE_SIZE - 1);
}

static inline enum access_kind kind_of(uint32_t who)
{
	return (enum access_kind)(who & 3);
}

/* Double the number of slots. */
static void grow_slots(struct stats_line *l)
{
	struct stats_line old = *l;
	size_t n = old.slot ? 2 * (old.mask + 1u) : SLOTS;

	if (n > UINT16_MAX + 1u)
		abort(); /* 32,768 places in the code access one line */
	l->slot = must(calloc(n, sizeof(*l->slot)));
	l->mask = (uint16_t)(n - 1);
	for (uint32_t i = 0; old.slot && i <= old.mask; i++) {
		const struct stats_slot *from = &old.slot[i];
		uint32_t k;

		if (!from->who)
			continue;
		k = stats_hash((void *)(uintptr_t)offset_of(from->who), from->pc) & l->mask;
		while (l->slot[k].who)
			k = (k + 1) & l->mask;
		l->slot[k] = *from;
	}
	free(old.slot);
}

/*
 * Return the slot for an instruction and an offset in the line, or a free slot if there is none
 * yet. An instruction that both loads and stores, such as an addition to memory, has one slot for
 * each access, because their times are separate.
 */
static struct stats_slot *find(const struct stats_line *l, const struct stats_entry *e)
{
	uint32_t offset = (uint32_t)(uintptr_t)e->addr & (LINE_SIZE - 1);
	uint32_t k = stats_hash(e->addr, e->pc);

	for (;; k++) {
		struct stats_slot *slot = &l->slot[k & l->mask];

		if (!slot->who ||
		    (slot->pc == e->pc && offset_of(slot->who) == offset &&
		     (kind_of(slot->who) == ACCESS_STORE) == (kind_of(e->who) == ACCESS_STORE)))
			return slot;
	}
}

/* ---- the log ---- */

/* Flags beside the number of a record: another CPU used it last; the access is of another kind. */
#define OTHER_CPU  0x80000000u
#define OTHER_KIND 0x40000000u
#define RECORD	   0x3fffffffu

static uint32_t record_of(struct stats *s, const struct stats_entry *e)
{
	uint32_t line = arena_line(e->addr), other;
	struct stats_line *l = &s->line[line];
	struct stats_slot *slot;

	if (!l->slot || 2 * l->n > l->mask)
		grow_slots(l);
	slot = find(l, e);
	if (slot->who == e->who)
		return slot->rec;
	other = OTHER_CPU;
	if (!slot->who || (slot->who ^ e->who) & ((1u << STATS_CPU_SHIFT) - 1))
		other |= OTHER_KIND;
	if (!slot->who) {
		l->n++;
		slot->pc = e->pc;
		slot->rec = new_record(s, line, offset_of(e->who), e->pc);
	}
	slot->who = e->who;
	__builtin_prefetch(&stats_place(s, slot->rec)->cpus[e->who >> STATS_CPU_SHIFT >> 6], 1);
	return slot->rec | other;
}

static inline void add(struct access_record *r, const struct stats_entry *e)
{
	enum access_kind kind = kind_of(e->who);

	r->records++;
	r->time += e->time;
	if (kind != ACCESS_LOAD)
		r->stores++;
	if (kind == ACCESS_STORE)
		return;
	r->loads++;
	if (e->time > r->load_max)
		r->load_max = e->time;
	r->hitm_local += e->source == SOURCE_HITM_LOCAL;
	r->hitm_remote += e->source == SOURCE_HITM_REMOTE;
}

static inline void add_cpu(uint64_t *cpus, const struct stats_entry *e)
{
	uint32_t cpu = e->who >> STATS_CPU_SHIFT;

	cpus[cpu / 64] |= 1ull << (cpu % 64);
}

/* Prefetch what record_of() reads, if the entry's slot is the first one that find() tries. */
static void prefetch_slots(const struct stats *s)
{
	for (uint32_t i = 0; i < s->logged; i++)
		__builtin_prefetch(&s->line[arena_line(s->log[i].addr)]);
	for (uint32_t i = 0; i < s->logged; i++) {
		const struct stats_entry *e = &s->log[i];
		const struct stats_line *l = &s->line[arena_line(e->addr)];

		__builtin_prefetch(&l->slot[stats_hash(e->addr, e->pc) & l->mask]);
	}
}

/* Works in passes; each prefetches what the next one needs. */
void stats_settle(struct stats *s)
{
	uint32_t rec[STATS_LOG], n = s->logged;

	prefetch_slots(s);
	for (uint32_t i = 0; i < n; i++) {
		rec[i] = record_of(s, &s->log[i]);
		__builtin_prefetch(stats_record(s, rec[i] & RECORD), 1);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct stats_entry *e = &s->log[i];
		struct access_record *r = stats_record(s, rec[i] & RECORD);

		add(r, e);
		if (rec[i] & OTHER_CPU)
			add_cpu(stats_place(s, rec[i] & RECORD)->cpus, e);
		if (rec[i] & OTHER_KIND) {
			r->size = (uint8_t)size_of(e->who);
			r->kind = (uint8_t)kind_of(e->who);
		}
	}
	s->logged = 0;
}
