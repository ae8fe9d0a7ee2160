// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Numbers the places that allocate: the return addresses on the stack, up to LEVELS of them.
 *
 * Unwinding the stack takes far longer than an allocation. But a function's frame has the same size
 * whenever the function is at the same return address. So this file keeps the distance from each
 * return address to the next one, and only a new chain of calls is unwound. All allocations of C++
 * come through one call in one library, so only the callers of that call distinguish them.
 *
 * Frames of functions that use alloca() or align their stacks vary in size. A word that is read at
 * a wrong distance gives an unknown chain, so the stack is unwound. The unwinder then finds another
 * distance, and from then on no chain continues at that address. A wrong distance may lead beyond
 * the stack's end, because a program may make stacks with nothing or a guard page above. So a page
 * is probed before the first read in it, except the page of the previous frame.
 */
#include <stddef.h>

#include "preload.h"

#define PLACES 8192u
/* Tables stay three quarters empty, so that PROBES probes find all entries. */
#define SLOTS  (4 * PLACES)
#define STEPS  16384u
#define PROBES 16u
/* How many calls distinguish places: LEVELS, or FEW once half of all places are in use. */
#define LEVELS	 8u
#define FEW	 2u
#define FARTHEST 1024u
#define PAGE	 4096u
#define DIFFERS	 1u

struct step {
	uint64_t pc;
	/* Bytes from this return address to the caller's; 0: not known; DIFFERS: not always. */
	uint32_t up;
};

static struct step steps[STEPS];
static uint64_t places[SLOTS]; /* keys; the index of a key is its place's number */
static uint32_t used;

/* Return the entry of a return address, or NULL. @make: make it if there is none; NULL: no room */
static struct step *step_of(uint64_t pc, bool make)
{
	uint64_t first = pc * 0x9e3779b97f4a7c15ull >> 40;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct step *s = &steps[(first + i) % STEPS];
		uint64_t is = __atomic_load_n(&s->pc, __ATOMIC_RELAXED);

		if (!is && make &&
		    __atomic_compare_exchange_n(&s->pc, &is, pc, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return s;
		if (is == pc)
			return s;
		if (!is)
			return NULL;
	}
	return NULL;
}

static void learn(const struct protocol_frame *frame, uint32_t n)
{
	for (uint32_t i = 0; i + 1 < n; i++) {
		struct step *s = step_of(frame[i].pc, true);
		uint64_t up = frame[i + 1].sp - frame[i].sp;
		uint32_t is = 0, now = up && up <= FARTHEST && up % 8 == 0 ? (uint32_t)up : DIFFERS;

		if (s &&
		    !__atomic_compare_exchange_n(&s->up, &is, now, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED) &&
		    is != now)
			__atomic_store_n(&s->up, DIFFERS, __ATOMIC_RELAXED);
	}
}

/* Can all bytes of a word be read, if those of the word at @from can? */
static bool reaches(const char *from, const char *word)
{
	uintptr_t last = (uintptr_t)word + sizeof(uint64_t) - 1;

	return (uintptr_t)from / PAGE == last / PAGE ||
	       preload_readable((const void *)(last / PAGE * PAGE));
}

/* Return a hash of the return addresses, up to the first one whose distance is not known. */
static uint64_t way(uint64_t pc, const char *slot, uint32_t levels)
{
	uint64_t key = pc;

	for (uint32_t i = 1; i < levels; i++) {
		const struct step *s = step_of(pc, false);
		uint32_t up = s ? __atomic_load_n(&s->up, __ATOMIC_RELAXED) : 0;

		if (up <= DIFFERS || !reaches(slot, slot + up))
			break;
		slot += up;
		pc = *(const uint64_t *)(const void *)slot;
		key = (key ^ key >> 29) * 0x9e3779b97f4a7c15ull + pc;
	}
	return key ? key : 1;
}

/* Return the entry of a key, or an empty one if there is none; NULL: there are too many. */
static uint64_t *place_of(uint64_t key)
{
	uint64_t first = (key ^ key >> 31) * 0x9e3779b97f4a7c15ull >> 40;

	for (uint32_t i = 0; i < PROBES; i++) {
		uint64_t *p = &places[(first + i) % SLOTS];
		uint64_t is = __atomic_load_n(p, __ATOMIC_RELAXED);

		if (!is || is == key)
			return p;
	}
	return NULL;
}

static uint32_t number_of(const uint64_t *place)
{
	return place ? (uint32_t)(place - places) + 1 : 0;
}

static __attribute__((noinline)) uint32_t new_place(uint64_t pc, const char *slot, uint32_t levels)
{
	struct protocol_frame frame[PROTOCOL_FRAMES];
	uint64_t pcs[PROTOCOL_FRAMES], key, is, *place;
	uint32_t n;

	preload_send(PROTOCOL_HIDE, 1, 0, 0, 0, 0);
	n = preload_frames(frame, slot);
	preload_send(PROTOCOL_HIDE, 0, 0, 0, 0, 0);
	learn(frame, n);
	/* With the new distances the key is longer, and its place may be known. */
	key = way(pc, slot, levels);
	do {
		place = place_of(key);
		is = place ? *place : key;
	} while (is != key && !__atomic_compare_exchange_n(place, &is, key, false, __ATOMIC_RELAXED,
							   __ATOMIC_RELAXED));
	if (is != key) {
		__atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
		pcs[0] = pc; /* all that is known without an unwinder */
		for (uint32_t i = 0; i < n; i++)
			pcs[i] = frame[i].pc;
		preload_send(PROTOCOL_SITE, number_of(place), (uint64_t)(uintptr_t)pcs, n ? n : 1,
			     0, 0);
	}
	return number_of(place);
}

uint32_t preload_place(const void *back, const void *stack)
{
	uint32_t in_use = __atomic_load_n(&used, __ATOMIC_RELAXED);
	uint32_t levels = in_use < PLACES / 2 ? LEVELS : FEW;
	uint64_t pc = (uint64_t)(uintptr_t)back;
	/* The return address lies above the saved rbp. */
	const char *slot = (const char *)stack + sizeof(pc);
	const uint64_t *place = place_of(way(pc, slot, levels));

	if (!place || *place)
		return number_of(place);
	return in_use < PLACES ? new_place(pc, slot, levels) : 0;
}
