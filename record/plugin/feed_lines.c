// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Every line that a guest touches gets the next line of the simulated machine. So the machine's
 * tables are as large as the touched memory, not as the guest's. The watch file says for which node
 * of the machine guest memory stands, and that node is the line's home. Without address
 * randomisation a kernel's virtual address gives the physical one in two places, the direct map and
 * the image. Other lines (vmalloc) belong to all nodes in turn.
 */
#include "feed_lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "feed.h"
#include "hot_lines.h"
#include "machine.h"
#include "sim.h"

#define DIRECT_MAP     (0xffff888000000000ull & ITEM_PLACE_MASK)
#define DIRECT_MAP_END (0xffffc88000000000ull & ITEM_PLACE_MASK)
#define IMAGE	       (0xffffffff80000000ull & ITEM_PLACE_MASK)
#define IMAGE_END      (0xffffffffa0000000ull & ITEM_PLACE_MASK)
#define KERNEL	       (1ull << (ITEM_PLACE_BITS - 1))
#define LINES_KEPT     1024u
#define PAGE_SHIFT     12
/* The place of moved bytes, where neither a program nor a kernel has memory. */
#define MOVED (0x600000000000ull)

int feed_lines_init(struct feed_lines *l, const struct feed_setup *setup)
{
	memset(l, 0, sizeof(*l));
	l->setup = setup;
	l->mask = (1u << 16) - 1;
	l->slot = calloc(l->mask + 1, sizeof(*l->slot));
	l->arena = calloc(l->mask + 1, sizeof(*l->arena));
	return l->slot && l->arena ? 0 : -1;
}

void feed_lines_free(struct feed_lines *l)
{
	free(l->slot);
	free(l->arena);
	free(l->guest);
	free(l->writer);
	for (uint32_t i = 0; l->bytes && i < l->cap; i++)
		free(l->bytes[i].unseen);
	free(l->bytes);
	free(l->home);
	memset(l, 0, sizeof(*l));
}

static uint32_t place_of(const struct feed_lines *l, uint64_t line)
{
	uint32_t i = (uint32_t)((line * 0x9e3779b97f4a7c15ull) >> 32) & l->mask;

	while (l->slot[i] && l->slot[i] != line + 1)
		i = (i + 1) & l->mask;
	return i;
}

static void grow(struct feed_lines *l)
{
	struct feed_lines old = *l;

	l->mask = 2 * old.mask + 1;
	l->slot = calloc(l->mask + 1, sizeof(*l->slot));
	l->arena = calloc(l->mask + 1, sizeof(*l->arena));
	if (!l->slot || !l->arena)
		abort();
	for (uint32_t i = 0; i <= old.mask; i++) {
		if (old.slot[i]) {
			uint32_t to = place_of(l, old.slot[i] - 1);

			l->slot[to] = old.slot[i];
			l->arena[to] = old.arena[i];
		}
	}
	free(old.slot);
	free(old.arena);
}

static int node_of(const struct feed_lines *l, uint64_t place)
{
	const struct feed_setup *s = l->setup;
	uint64_t physical = place;

	if (place >= DIRECT_MAP && place < DIRECT_MAP_END)
		physical = place - DIRECT_MAP;
	else if (place >= IMAGE && place < IMAGE_END)
		physical = place - IMAGE;
	else if (place & KERNEL)
		return -1;
	for (uint32_t i = 0; i < s->nr_nodes; i++)
		if (physical >= s->node[i].low && physical < s->node[i].high)
			return (int)s->node[i].node;
	return -1;
}

/* ---- homes of a program's pages ---- */

static uint32_t home_slot(const struct feed_lines *l, uint64_t page)
{
	uint32_t i = (uint32_t)((page * 0x9e3779b97f4a7c15ull) >> 32) & l->home_mask;

	while (l->home[i].page && l->home[i].page != page + 1)
		i = (i + 1) & l->home_mask;
	return i;
}

static void grow_homes(struct feed_lines *l)
{
	struct feed_lines old = *l;

	l->home_mask = old.home ? 2 * old.home_mask + 1 : 1023;
	l->home = calloc(l->home_mask + 1, sizeof(*l->home));
	if (!l->home)
		abort();
	for (uint32_t i = 0; old.home && i <= old.home_mask; i++)
		if (old.home[i].page)
			l->home[home_slot(l, old.home[i].page - 1)] = old.home[i];
	free(old.home);
}

void feed_lines_home(struct feed_lines *l, uint64_t place, uint32_t node)
{
	uint64_t page = place >> PAGE_SHIFT;
	uint32_t i;

	if (!l->home || 2 * l->nr_homes > l->home_mask)
		grow_homes(l);
	i = home_slot(l, page);
	if (!l->home[i].page)
		l->nr_homes++;
	l->home[i].page = page + 1;
	l->home[i].node = node;
}

/* ---- moved bytes ---- */

/* The first pad that ends after @place. */
static uint32_t pad_after(const struct feed_setup *s, uint64_t place)
{
	uint32_t lo = 0, hi = s->nr_pads;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (place >= s->pad[mid].high)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint64_t feed_lines_moved(const struct feed_lines *l, uint64_t place)
{
	const struct feed_setup *s = l->setup;
	uint32_t n = pad_after(s, place);

	if (n == s->nr_pads || place < s->pad[n].low)
		return place;
	return MOVED + ((uint64_t)n << PAGE_SHIFT) + place - s->pad[n].low;
}

bool feed_lines_edited(const struct feed_lines *l, uint64_t place)
{
	const struct feed_setup *s = l->setup;
	uint64_t line = place & ~(LINE_SIZE - 1ull);
	uint32_t n = pad_after(s, line);

	return n < s->nr_pads && s->pad[n].low < line + LINE_SIZE;
}

/* The node of a byte; for a moved byte the node of its old place. */
static int home(const struct feed_lines *l, uint64_t place)
{
	uint32_t i;

	if (place >= MOVED && place - MOVED < (uint64_t)FEED_MAX_PADS << PAGE_SHIFT)
		place = l->setup->pad[(place - MOVED) >> PAGE_SHIFT].low;
	if (l->home) {
		i = home_slot(l, place >> PAGE_SHIFT);
		if (l->home[i].page)
			return (int)l->home[i].node;
	}
	return node_of(l, place);
}

/* The arrays beside the simulated machine's lines. */
static void grow_beside(struct feed_lines *l)
{
	uint32_t old = l->cap;

	l->cap = old ? 2 * old : 1u << 16;
	l->guest = realloc(l->guest, l->cap * sizeof(*l->guest));
	l->writer = realloc(l->writer, l->cap * sizeof(*l->writer));
	if (!l->guest || !l->writer)
		abort();
	if (!l->setup->detailed)
		return;
	l->bytes = realloc(l->bytes, l->cap * sizeof(*l->bytes));
	if (!l->bytes)
		abort();
	memset(l->bytes + old, 0, (l->cap - old) * sizeof(*l->bytes));
}

static uint32_t new_line(struct feed_lines *l, uint64_t line, int home)
{
	void *at = arena_alloc(LINE_SIZE, home, "guest", NULL);
	uint32_t arena = arena_line(at);

	if (arena >= l->cap)
		grow_beside(l);
	l->writer[arena] = (struct feed_writer){ .cpu = UINT32_MAX };
	l->guest[arena] = line;
	return arena;
}

char *feed_lines_at(struct feed_lines *l, uint64_t place)
{
	uint64_t line;
	uint32_t i;

	if (l->setup->nr_pads)
		place = feed_lines_moved(l, place);
	line = place >> LINE_SHIFT;
	i = place_of(l, line);
	if (!l->slot[i]) {
		if (2 * ++l->n > l->mask) {
			grow(l);
			i = place_of(l, line);
		}
		l->slot[i] = line + 1;
		l->arena[i] = new_line(l, line, home(l, place));
	}
	return (char *)(uintptr_t)(ARENA_BASE + ((uint64_t)l->arena[i] << LINE_SHIFT) +
				   place % LINE_SIZE);
}

bool feed_lines_note(struct feed_lines *l, uint32_t cpu, const char *at, uint32_t size, bool write,
		     const void *pc)
{
	struct feed_bytes *bytes = &l->bytes[arena_line(at)];
	bool came = sim_take_source() != SOURCE_HIT;

	if ((came || write) &&
	    feed_bytes_access(bytes, cpu, (uintptr_t)at % LINE_SIZE, size, write) && came)
		sim_recount((const char *)pc + FEED_FOREIGN);
	return came;
}

/* ---- report ---- */

static int by_heat(const void *a, const void *b)
{
	const struct hot_line *x = a, *y = b;
	uint64_t p = x->hitm_local + x->hitm_remote, q = y->hitm_local + y->hitm_remote;

	if (p != q)
		return p > q ? -1 : 1;
	if (x->records != y->records)
		return x->records > y->records ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* The order by which reported lines are chosen. HITM alone would miss lines of expensive stores. */
static int by_time(const void *a, const void *b)
{
	const struct hot_line *x = a, *y = b;
	uint64_t p = x->load_time + x->store_time, q = y->load_time + y->store_time;

	if (x->shared != y->shared)
		return x->shared ? -1 : 1;
	return p != q ? (p > q ? -1 : 1) : by_heat(a, b);
}

static double cycles(const struct model *m, uint64_t ps, uint64_t n)
{
	return n ? (double)ps / (double)n / m->ps_per_cycle : 0;
}

static json_t *address_json(uint64_t place)
{
	char text[20];

	if (place & KERNEL)
		place |= ~ITEM_PLACE_MASK;
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)place);
	return json_string(text);
}

static json_t *access_json(const struct model *m, const struct stats *s, uint32_t i)
{
	static const char *const kind[] = { "load", "store", "rmw" };
	const struct access_record *r = stats_record(s, i);
	uint64_t hitm = r->hitm_local + r->hitm_remote, pc = stats_place(s, i)->pc;

	bool stores = r->kind == ACCESS_STORE;

	return json_pack("{s:i, s:i, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:i}",
			 "offset", r->offset, "size", r->size, "kind", kind[r->kind], "pc",
			 address_json(pc & ITEM_PLACE_MASK), "hitm_true",
			 (json_int_t)(pc & FEED_FOREIGN ? hitm : 0), "records",
			 (json_int_t)r->records, "loads", (json_int_t)r->loads, "stores",
			 (json_int_t)r->stores, "hitm_remote", (json_int_t)r->hitm_remote,
			 "hitm_local", (json_int_t)r->hitm_local, "avg_load_cycles",
			 stores ? 0 : cycles(m, r->time, r->loads), "max_load_cycles",
			 cycles(m, r->load_max, 1), "store_cycles",
			 stores ? cycles(m, r->time, 1) : 0, "cpus", (int)hot_lines_cpus(s, i));
}

/* Which CPUs made an access, in the order of the watch file. */
static json_t *cpus_json(const struct feed_setup *s, const struct access_place *place)
{
	json_t *cpus = json_array();

	for (uint32_t n = 0; n < s->nr_cpus; n++)
		if (place->cpus[n / 64] >> (n % 64) & 1)
			json_array_append_new(cpus, json_integer((json_int_t)n));
	return cpus;
}

static json_t *line_json(const struct feed_lines *l, const struct model *m, const struct stats *s,
			 const struct hot_line *h, const uint32_t *number)
{
	json_t *accesses = json_array();

	for (uint32_t i = h->first; i < h->first + h->accesses; i++) {
		json_t *access = access_json(m, s, number[i]);

		if (l->setup->detailed)
			json_object_set_new(access, "by",
					    cpus_json(l->setup, stats_place(s, number[i])));
		json_array_append_new(accesses, access);
	}
	return json_pack("{s:o, s:i, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:o}", "address",
			 address_json(l->guest[h->line] << LINE_SHIFT), "home",
			 arena_object_of(h->line)->node, "records", (json_int_t)h->records, "loads",
			 (json_int_t)h->loads, "stores", (json_int_t)h->stores, "hitm_remote",
			 (json_int_t)h->hitm_remote, "hitm_local", (json_int_t)h->hitm_local,
			 "avg_load_cycles", cycles(m, h->load_time, h->loads), "max_load_cycles",
			 cycles(m, h->load_max, 1), "store_cycles", cycles(m, h->store_time, 1),
			 "accesses", accesses);
}

void feed_lines_json(const struct feed_lines *l, const struct model *m, json_t *into,
		     void (*line)(json_t *line, void *arg), void *arg)
{
	const struct stats *s = sim_stats();
	uint64_t local = 0, remote = 0, waited = 0;
	struct hot_line *hot;
	uint32_t n = hot_lines_add_up(s, &hot), kept = n < LINES_KEPT ? n : LINES_KEPT;
	uint32_t *number, shared = 0;

	qsort(hot, n, sizeof(*hot), by_time);
	qsort(hot, kept, sizeof(*hot), by_heat);
	number = hot_lines_accesses(s, hot, kept);
	for (uint32_t i = 0; i < n; i++) {
		local += hot[i].hitm_local;
		remote += hot[i].hitm_remote;
		shared += hot[i].shared;
		if (hot[i].shared)
			waited += hot[i].load_time + hot[i].store_time;
	}
	json_object_set_new(into, "nr_lines",
			    json_integer((json_int_t)(l->setup->detailed ? shared : n)));
	json_object_set_new(into, "hitm_local", json_integer((json_int_t)local));
	json_object_set_new(into, "hitm_remote", json_integer((json_int_t)remote));
	json_object_set_new(into, "waited_cycles", json_real(cycles(m, waited, 1)));
	for (uint32_t i = 0; i < kept; i++)
		line(line_json(l, m, s, &hot[i], number), arg);
	free(number);
	free(hot);
}
