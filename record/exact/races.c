// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The last few accesses to each word of 8 bytes, with the clocks of the threads that did them
 * (order.h). An access races with an earlier one of another thread to one of its bytes, unless that
 * one happened before, or both only read, or both are atomic or volatile. A forgotten access may
 * hide a race; none is invented.
 *
 * Accesses to lines in the model always come here. With RACES_ALL, so do those to lines that one
 * CPU alone has used.
 */
#include "races.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lines.h"
#include "unseen.h"

#define LINE_SHIFT   6
#define ADDRESS_BITS 47
#define AREA_SHIFT   16
#define CHUNK	     1024u /* lines */
#define PAIRS	     64u   /* of places that are reported */
#define KEPT	     4u

struct used {
	const void *pc;
	uint32_t clock; /* 0: none */
	uint16_t thread;
	uint8_t bytes, how;
};

struct line {
	struct used word[8][KEPT];
};

struct pair {
	uint64_t at;
	uint32_t size, thread[2], how[2];
	const void *pc[2];
	uint64_t times;
};

extern const char __ehdr_start HIDDEN;
extern const char _etext HIDDEN;

static uint32_t *number; /* per line of memory; 0: none */
static uint8_t *areas;	 /* per 64 KiB: is there any such line? */
static struct line **chunk;
static uint32_t nr_lines, next_kept;
static struct pair pairs[PAIRS];
static uint32_t nr_pairs;

static void *sparse(uint64_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

int races_begin(void)
{
	number = sparse((1ull << (ADDRESS_BITS - LINE_SHIFT)) * sizeof(*number));
	areas = sparse(1ull << (ADDRESS_BITS - AREA_SHIFT));
	return number && areas ? 0 : -1;
}

static bool is_ours(const void *pc)
{
	return (const char *)pc >= &__ehdr_start && (const char *)pc < &_etext;
}

static struct line *line_at(uint64_t at)
{
	uint32_t n = number[at >> LINE_SHIFT];

	return n ? &chunk[(n - 1) / CHUNK][(n - 1) % CHUNK] : NULL;
}

static struct line *new_line(uint64_t at)
{
	if (nr_lines % CHUNK == 0) {
		chunk = realloc(chunk, (nr_lines / CHUNK + 1) * sizeof(*chunk));
		if (!chunk || !(chunk[nr_lines / CHUNK] = calloc(CHUNK, sizeof(**chunk))))
			abort();
	}
	number[at >> LINE_SHIFT] = ++nr_lines;
	areas[at >> AREA_SHIFT] = 1;
	return &chunk[(nr_lines - 1) / CHUNK][(nr_lines - 1) % CHUNK];
}

static __attribute__((noinline)) void report(uint64_t at, const struct used *was,
					     const struct used *now)
{
	uint8_t both = was->bytes & now->bytes;
	struct pair *p;

	for (p = pairs; p < pairs + nr_pairs; p++) {
		if ((p->pc[0] == was->pc && p->pc[1] == now->pc) ||
		    (p->pc[0] == now->pc && p->pc[1] == was->pc)) {
			p->times++;
			return;
		}
	}
	if (nr_pairs == PAIRS)
		return;
	*p = (struct pair){ .at = at + (uint32_t)__builtin_ctz(both),
			    .size = (uint32_t)__builtin_popcount(both),
			    .thread = { was->thread, now->thread },
			    .how = { was->how, now->how },
			    .pc = { was->pc, now->pc },
			    .times = 1 };
	nr_pairs++;
}

/* Can @now replace @was? Yes if whatever races with @was also races with @now. */
static bool replaces(const struct used *now, const struct used *was)
{
	return (was->bytes & ~now->bytes) == 0 &&
	       (now->how & RACES_WRITE) >= (was->how & RACES_WRITE) &&
	       (now->how & RACES_ATOMIC) <= (was->how & RACES_ATOMIC);
}

static void word(struct used *kept, uint64_t at, const struct used *now)
{
	struct used *into = NULL;

	for (struct used *was = kept; was < kept + KEPT; was++) {
		bool before;

		if (!was->clock) {
			if (!into)
				into = was;
			continue;
		}
		before = was->thread == now->thread || order_before(was->thread, was->clock);
		if (was->thread == now->thread && was->clock == now->clock && replaces(was, now))
			return;
		if (before && replaces(now, was)) {
			if (into && into->clock)
				into->clock = 0;
			into = was;
		} else if (!before && was->bytes & now->bytes &&
			   (was->how | now->how) & RACES_WRITE &&
			   !(was->how & now->how & RACES_ATOMIC)) {
			report(at, was, now);
		}
	}
	if (!into)
		into = &kept[next_kept++ % KEPT];
	*into = *now;
}

void races_access(uint64_t at, uint32_t size, uint32_t how, const void *pc)
{
	struct used now = { .pc = pc,
			    .clock = order_clock(),
			    .thread = (uint16_t)exact_self->number,
			    .how = (uint8_t)how };
	struct line *l;

	if (!now.clock || is_ours(pc) || unseen_now)
		return;
	l = line_at(at);
	if (!l)
		l = new_line(at);
	while (size) {
		uint32_t first = at % 8, n = 8 - first < size ? 8 - first : size;

		now.bytes = (uint8_t)(((1u << n) - 1) << first);
		word(l->word[at % 64 / 8], at - first, &now);
		at += n;
		size -= n;
	}
}

void races_fence(int mo, const void *pc)
{
	if (!is_ours(pc))
		order_fence(mo);
}

void races_forget(uint64_t at, uint64_t size)
{
	uint64_t end = (at + size + 7) & ~7ull;

	if (!areas || size > 1ull << ADDRESS_BITS || end >> ADDRESS_BITS)
		return;
	for (at &= ~7ull; at < end; at += 8) {
		struct line *l = areas[at >> AREA_SHIFT] ? line_at(at) : NULL;

		if (l)
			memset(l->word[at % 64 / 8], 0, sizeof(l->word[0]));
		else if (areas[at >> AREA_SHIFT])
			at |= 56;
		else
			at |= (1ull << AREA_SHIFT) - 8;
	}
}

json_t *races_json(void)
{
	json_t *all = json_array();

	for (const struct pair *p = pairs; p < pairs + nr_pairs; p++)
		json_array_append_new(all,
				      json_pack("[I, i, i, I, i, i, I, i, I]", (json_int_t)p->at,
						(int)p->size, (int)p->thread[0],
						(json_int_t)(uintptr_t)p->pc[0], (int)p->how[0],
						(int)p->thread[1], (json_int_t)(uintptr_t)p->pc[1],
						(int)p->how[1], (json_int_t)p->times));
	return all;
}
