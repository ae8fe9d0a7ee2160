// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Computes the hash by which the search recognizes a state. It combines the hashes of memory and of
 * each CPU's program, which explore_memory.c updates at each step. Under the model "weak" the hash
 * also covers each word's history of stores, and the CPUs' views.
 *
 * The hash leaves out what no CPU can observe any more: stores before the oldest one that a running
 * CPU may still read, and their number. So a view contributes only for words of which some CPU may
 * still read an old value.
 */
#include "explore_weak.h"

#include <string.h>

static uint8_t least[MAX_WORDS];   /* by word: the oldest store that a running CPU may still see */
static uint16_t active[MAX_WORDS]; /* words whose least[] is not their newest store */

static void hash_view(struct x_hash *h, const struct view *v, uint32_t nr_active)
{
	for (uint32_t i = 0; i < nr_active; i++) {
		uint32_t w = active[i];

		x_hash_add(h, v->at[w] > least[w] ? v->at[w] - least[w] : 0u);
	}
}

static void hash_message(struct x_hash *h, uint32_t w, uint32_t k, uint32_t nr_active)
{
	const struct message *m = message_of(w, k);
	uint64_t owners;

	memcpy(&owners, m->owner, sizeof(owners));
	x_hash_add(h, value_of(w, k));
	x_hash_add(h, owners);
	x_hash_add(h, m->bytes);
	hash_view(h, &m->known, nr_active);
	hash_view(h, &m->strong, nr_active);
}

/* Would a CPU that reads word @w learn of a newer store to another word? */
static bool reveals(uint32_t w, uint32_t nr_active, uint32_t running)
{
	const struct message *m = message_of(w, xk.words[w].newest);

	for (uint32_t a = 0; a < nr_active; a++) {
		uint32_t at = active[a];

		for (uint32_t i = 0; i < xw.nr_cpus; i++) {
			const struct weak_cpu *k = &xk.cpus[i];

			if ((running >> i & 1) &&
			    ((m->known.at[at] > k->read.at[at] && m->known.at[at] > least[at]) ||
			     (m->strong.at[at] > k->strong.at[at] && m->strong.at[at] > least[at])))
				return true;
		}
	}
	return false;
}

static void weak_hash(struct x_hash *h)
{
	uint32_t running = x_unfinished(), nr_active = 0;

	for (uint32_t w = 0; w < xk.nr_words && running; w++) {
		uint32_t low = xk.words[w].newest;

		for (uint32_t i = 0; i < xw.nr_cpus; i++) {
			if ((running >> i & 1) && xk.cpus[i].current.at[w] < low)
				low = xk.cpus[i].current.at[w];
		}
		least[w] = (uint8_t)low;
		if (low != xk.words[w].newest)
			active[nr_active++] = (uint16_t)w;
	}
	for (uint32_t w = 0; w < xk.nr_words && nr_active; w++) {
		if (least[w] == xk.words[w].newest && least[w] && reveals(w, nr_active, running)) {
			x_hash_add(h, xk.words[w].addr);
			hash_message(h, w, least[w], nr_active);
		}
	}
	for (uint32_t i = 0; i < nr_active; i++) {
		const struct word *word = &xk.words[active[i]];

		x_hash_add(h, word->addr);
		for (uint32_t k = least[active[i]]; k <= word->newest; k++)
			hash_message(h, active[i], k, nr_active);
	}
	for (uint32_t i = 0; i < xw.nr_cpus; i++) {
		if (!(running >> i & 1))
			continue;
		hash_view(h, &xk.cpus[i].current, nr_active);
		hash_view(h, &xk.cpus[i].read, nr_active);
		hash_view(h, &xk.cpus[i].stored, nr_active);
		hash_view(h, &xk.cpus[i].before, nr_active);
		hash_view(h, &xk.cpus[i].strong, nr_active);
		for (uint32_t p = 0; p < xk.cpus[i].nr_pointers; p++)
			hash_view(h, &xk.cpus[i].pointer[p].read, nr_active);
	}
	hash_view(h, &xk.fences, nr_active);
	hash_view(h, &xk.seen, nr_active);
}

struct x_hash x_state_hash(void)
{
	struct x_hash h = { x_mix(xw.memory_hash[0]), x_mix(xw.memory_hash[1] + 1) };

	for (uint32_t i = 0; i < xw.nr_cpus; i++) {
		const struct x_cpu *c = &xw.cpus[i];
		uint32_t buffered = c->tail - c->head;

		/*
		 * The number of stores in the buffer suffices, because together with what the
		 * program has seen it determines the buffer's content.
		 */
		h.lo = x_mix(h.lo + c->seen[0] + buffered);
		h.hi = x_mix((h.hi ^ c->seen[1]) + buffered);
	}
	if (xw.model == X_WEAK)
		weak_hash(&h);
	return h;
}
