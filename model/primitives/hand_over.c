// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Slots that one thread claims and another one puts, such as tags of requests that complete on
 * another core. Each thread has a box for one slot number. A thread claims a slot, adds to the
 * slot's word, and exchanges the slot's number into the box of its partner. Of N threads the
 * partner is the one N/2 further on. If the partner's box was still full, the thread puts the slot
 * that was there. Then it takes the slot from its own box, adds to that slot's word, and puts it.
 */
#include "primitive.h"
#include "slot_claim.h"

struct hand_line {
	u64 word;
	u8 unused[PORT_CACHELINE - sizeof(u64)];
};

/**
 * struct hands - slots and boxes
 * @slots: the slots
 * @slot: by slot: its word
 * @box: by thread: a slot's number plus 1; 0: empty
 */
struct hands {
	struct slot_set *slots;
	u32 nr, nr_threads;
	struct hand_line *slot, *box;
};

static void destroy(void *state)
{
	struct hands *h = state;

	if (!h)
		return;
	slot_set_destroy(h->slots);
	if (h->slot)
		port_free(h->slot, h->nr * sizeof(*h->slot));
	if (h->box)
		port_free(h->box, h->nr_threads * sizeof(*h->box));
	port_free(h, sizeof(*h));
}

static void *create(const struct primitive_place *place, bool follow)
{
	struct hands *h = primitive_alloc(sizeof(*h), -1, "hands", NULL);

	if (!h)
		return NULL;
	h->nr = 2 * place->plan->nr_possible;
	h->nr_threads = place->nr_threads;
	h->slot = primitive_alloc(h->nr * sizeof(*h->slot), -1, "slots' words", "struct hand_line");
	h->box = primitive_alloc(h->nr_threads * sizeof(*h->box), -1, "boxes", "struct hand_line");
	if (primitive_label_hook)
		primitive_label_hook("free slots", NULL);
	h->slots = slot_set_alloc(place->pools, h->nr, follow ? SLOT_FOLLOW : 0);
	if (h->slot && h->box && h->slots)
		return h;
	destroy(h);
	return NULL;
}

static void *create_stay(const struct primitive_place *place)
{
	return create(place, false);
}

static void *create_follow(const struct primitive_place *place)
{
	return create(place, true);
}

/* Is each slot free or in a box? */
static bool consistent(const void *state, u64 n)
{
	const struct hands *h = state;
	u32 found = slot_set_nr_free(h->slots);

	for (u32 i = 0; i < h->nr_threads; i++)
		found += READ_ONCE(h->box[i].word) != 0;
	return found == h->nr;
}

static u32 claim(struct hands *h, u32 cpu)
{
	s64 slot;

	do
		slot = slot_claim_near(h->slots, cpu);
	while (slot < 0);
	return (u32)slot;
}

static void use(struct hands *h, u32 slot)
{
	WRITE_ONCE(h->slot[slot].word, READ_ONCE(h->slot[slot].word) + 1);
}

static void end(struct hands *h, u64 number, u32 cpu)
{
	if (!number)
		return;
	use(h, (u32)number - 1);
	slot_put_near(h->slots, (u32)number - 1, cpu);
}

static void same(void *state, const struct primitive_thread *thread, u64 n)
{
	struct hands *h = state;

	while (n--) {
		u32 slot = claim(h, thread->cpu);

		use(h, slot);
		primitive_hold(thread);
		slot_put_near(h->slots, slot, thread->cpu);
	}
}

static void over(void *state, const struct primitive_thread *thread, u64 n)
{
	struct hands *h = state;
	u64 *mine = &h->box[thread->number].word;
	u64 *other = &h->box[(thread->number + h->nr_threads / 2) % h->nr_threads].word;

	while (n--) {
		u32 slot = claim(h, thread->cpu);

		use(h, slot);
		primitive_hold(thread);
		end(h, port_xchg64(other, slot + 1), thread->cpu);
		if (READ_ONCE(*mine))
			end(h, port_xchg64(mine, 0), thread->cpu);
	}
}

PRIMITIVE(hand_same, "slots-used", "claim a slot, use it, put it", true, create_stay, same,
	  consistent, destroy);
PRIMITIVE(hand_same_follow, "slots-used-follow", "the same: homes that follow", true, create_follow,
	  same, consistent, destroy);
PRIMITIVE(hand_over, "slots-handed", "claim a slot, another thread puts it", true, create_stay,
	  over, consistent, destroy);
PRIMITIVE(hand_over_follow, "slots-handed-follow", "the same: homes that follow", true,
	  create_follow, over, consistent, destroy);
