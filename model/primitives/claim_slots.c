// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A pool with one object per CPU, as a set of slots: claim a free one near, and put it back. */
#include "primitive.h"
#include "slot_claim.h"

/* The type of a line of the set, for reports. */
struct slot_line {
	u64 word;
	u8 unused[PORT_CACHELINE - sizeof(u64)];
};

static void destroy(void *state)
{
	slot_set_destroy(state);
}

static void *create(const struct primitive_place *place)
{
	if (primitive_label_hook)
		primitive_label_hook("free slots", "struct slot_line");
	return slot_set_alloc(place->pools, place->plan->nr_possible, 0);
}

static bool consistent(const void *state, u64 n)
{
	return slot_set_nr_free(state) == slot_set_size(state);
}

static void ops(void *state, const struct primitive_thread *thread, u64 n)
{
	while (n--) {
		s64 slot;

		do
			slot = slot_claim_near(state, thread->cpu);
		while (slot < 0);
		primitive_hold(thread);
		slot_put(state, (u32)slot);
	}
}

PRIMITIVE(claim_slots, "claim-slots", "the same with slots: slot_claim_near(), slot_put()", true,
	  create, ops, consistent, destroy);
