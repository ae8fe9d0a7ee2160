// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The pool of claim_slots.c as a bounded queue of many producers and consumers, by Vyukov's scheme,
 * as in crossbeam's ArrayQueue and rings of other libraries. A place's stamp says whose turn it is:
 * the put number @stamp, or the claim number @stamp - 1.
 */
#include "primitive.h"
#include "shard_plan.h"

#define MOST_PAUSES 64u /* at most, between two tries, as in crossbeam's Backoff */

struct place {
	u64 stamp, slot;
};

struct queue {
	u64 claims port_cacheline_aligned;
	u64 puts port_cacheline_aligned;
	u32 nr port_cacheline_aligned; /* places: a power of two */
	u32 nr_slots;
	struct place *place;
};

static void destroy(void *state)
{
	struct queue *q = state;

	if (!q)
		return;
	port_free(q->place, q->nr * sizeof(*q->place));
	port_free(q, sizeof(*q));
}

static void *create(const struct primitive_place *place)
{
	struct queue *q = primitive_alloc(sizeof(*q), place->home, "ends of a queue", NULL);

	if (!q)
		return NULL;
	q->nr_slots = place->plan->nr_possible;
	for (q->nr = 1; q->nr < q->nr_slots;)
		q->nr *= 2;
	q->place =
		primitive_alloc(q->nr * sizeof(*q->place), place->home, "places of a queue", NULL);
	if (!q->place) {
		destroy(q);
		return NULL;
	}
	for (u32 i = 0; i < q->nr; i++)
		q->place[i] = (struct place){ i < q->nr_slots ? i + 1 : i, i };
	q->puts = q->nr_slots;
	return q;
}

static bool consistent(const void *state, u64 n)
{
	const struct queue *q = state;

	return q->puts - q->claims == q->nr_slots && q->claims == n;
}

/* Get the next place of an end whose stamp is its number plus @ahead. */
static u64 next_place(struct queue *q, u64 *end, u64 ahead)
{
	u64 at = port_read64(end);

	for (u32 pauses = 1;; pauses = pauses < MOST_PAUSES ? 2 * pauses : MOST_PAUSES) {
		/* else another thread is ahead, or the queue is empty */
		if (smp_load_acquire(&q->place[at % q->nr].stamp) == at + ahead &&
		    port_cmpxchg64(end, at, at + 1) == at)
			return at;
		for (u32 i = 0; i < pauses; i++)
			cpu_relax();
		at = port_read64(end);
	}
}

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	struct queue *q = state;

	while (n--) {
		u64 at = next_place(q, &q->claims, 1), slot = READ_ONCE(q->place[at % q->nr].slot);

		smp_store_release(&q->place[at % q->nr].stamp, at + q->nr);
		primitive_hold(thread);
		at = next_place(q, &q->puts, 0);
		WRITE_ONCE(q->place[at % q->nr].slot, slot);
		smp_store_release(&q->place[at % q->nr].stamp, at + 1);
	}
}

PRIMITIVE(claim_queue, "claim-queue", "the same with a bounded queue: crossbeam's ArrayQueue", true,
	  create, ops, consistent, destroy);
