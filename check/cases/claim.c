// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests claims and puts of slots, on a plan with CPUs 0 to 3 in two shards. */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"
#include "slot_cache.h"

#define PUT 8 /* ghost: the put has returned */

static u64 *data;

static void own(s64 slot)
{
	explore_check(!explore_ghost_get((u32)slot), "two CPUs own slot %d", (int)slot);
	explore_ghost_set((u32)slot, 1);
}

static struct slot_set *slots;

static void name_slots(u32 part)
{
	const struct slot_part *p = slots->part[part];

	explore_const(p, p->bytes);
	for (u32 i = 0; i < p->nr_words; i++)
		explore_name(p->word[i], 8, "slots");
}

/*
 * Makes @nr slots, and @more in a second part, and claims @taken of them. @constant: no body writes
 * the set itself, only the words of its slots.
 */
static void make_slots(u32 nr, unsigned int flags, u32 more, u32 taken, bool constant)
{
	slots = slot_set_alloc(case_plan(4, 2), nr, flags);
	data = port_alloc(PORT_CACHELINE, -1);
	if (!slots || !data || (more && !slot_set_grow(slots, more)))
		abort();
	for (u32 i = 0; i < taken; i++)
		if (slot_claim_near(slots, 0) != i)
			abort();
	if (constant)
		explore_const(slots, sizeof(*slots));
	else
		explore_name(slots, sizeof(*slots), "slot set");
	explore_name(data, 8, "data");
	for (u32 i = 0; i < slots->nr_parts; i++)
		name_slots(i);
}

/* Three slots in two words. */
EXPLORE_SETUP(setup_slots, make_slots(3, 0, 0, 0, false))

/* Each CPU takes two slots, or what is left, and puts the second. */
static void take_slots(uint32_t cpu)
{
	s64 first = slot_claim_near(slots, cpu), second;

	if (first < 0)
		return;
	own(first);
	second = slot_claim_near(slots, cpu);
	if (second >= 0) {
		own(second);
		explore_ghost_set((u32)second, 0);
		slot_put(slots, (u32)second);
	}
	explore_result(cpu, 1);
}

static void check_slots(uint32_t nr_cpus)
{
	u32 owners = 0;

	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		owners += explore_result_of(cpu) != 0;
	explore_check(slot_set_nr_free(slots) == 3 - owners, "%u of 3 slots are free, %u are owned",
		      slot_set_nr_free(slots), owners);
	explore_check(owners, "no CPU got a slot");
}

static void look_and_clear(uint32_t cpu)
{
	u64 *word = slots->part[0]->word[0];

	if (!(READ_ONCE(*word) & 1))
		return;
	port_and64(word, ~1ull);
	own(0);
}

/* Three slots, and more claims of both kinds. */
static void several_slots(uint32_t cpu)
{
	u32 got[2], n = cpu == 2 ? slot_claim_limit(slots, cpu, 3) >= 0
				 : slot_claim_n(slots, cpu, 2, got);

	for (u32 i = 0; i < n && cpu != 2; i++)
		own(got[i]);
	explore_result(cpu, n);
}

static void check_several_slots(uint32_t nr_cpus)
{
	u64 n = 0;

	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		n += explore_result_of(cpu);
	explore_check(n == 3 && !slot_set_nr_free(slots), "%u of 3 slots are claimed",
		      (unsigned int)n);
}

/* A set of one slot, which is taken, grows by one. A claim finds none, or the complete new slot. */
EXPLORE_SETUP(setup_grow, make_slots(1, 0, 0, 1, false))

static void grow(uint32_t cpu)
{
	s64 got;

	if (!cpu) {
		explore_check(slot_set_grow(slots, 1), "no memory");
		return;
	}
	got = slot_claim_near(slots, 3);
	explore_check(got < 0 || got == 1, "a slot that is taken is claimed");
	if (got == 1)
		slot_put(slots, 1);
	explore_result(cpu, got == 1);
}

/* -------- slots whose homes follow -------- */

/* Two slots, one in each shard. */
EXPLORE_SETUP(setup_follow, make_slots(2, SLOT_FOLLOW, 0, 0, true))

/* Each CPU takes a slot and puts it at the other shard; CPU 0 keeps its slot. */
static void moves(uint32_t cpu)
{
	s64 got = slot_claim_near(slots, cpu);

	if (got < 0)
		return;
	own(got);
	if (!cpu) {
		explore_result(cpu, 1);
		return;
	}
	explore_ghost_set((u32)got, 0);
	slot_put_near(slots, (u32)got, (cpu + 2) % 4);
}

static void check_follow(uint32_t nr_cpus)
{
	u32 kept = explore_result_of(0) != 0;

	explore_check(slot_set_nr_free(slots) == 2 - kept, "%u of 2 slots are free, %u are kept",
		      slot_set_nr_free(slots), kept);
}

/* A slot goes to the other shard while the other CPU searches: one is free at any time. */
static void moves_throughout(uint32_t cpu)
{
	s64 got = slot_claim_near(slots, 0);

	explore_check(got >= 0, "no slot for CPU %u, and one was free", cpu);
	if (!cpu)
		slot_put_near(slots, (u32)got, 2);
	explore_result(cpu, 1 + (u64)got);
}

/* A put hands over the CPU's stores to the CPU that claims the slot there. */
EXPLORE_SETUP(setup_follow_taken, make_slots(2, SLOT_FOLLOW, 0, 2, true))

/* @near: by slot_put_near(), otherwise by slot_put(), which takes no CPU number */
static void slot_hands_over(uint32_t cpu, u32 slot, bool near)
{
	if (!cpu) {
		WRITE_ONCE(*data, 1);
		if (near)
			slot_put_near(slots, slot, 0);
		else
			slot_put(slots, slot);
	} else if (slot_claim_near(slots, 3) >= 0) {
		explore_check(READ_ONCE(*data) == 1, "CPU %u owns a slot without its data", cpu);
	}
}

EXPLORE_BODY(follow_hands_over, slot_hands_over(cpu, 1, true))
EXPLORE_BODY(first_hands_over, slot_hands_over(cpu, 0, false))
EXPLORE_BODY(second_hands_over, slot_hands_over(cpu, 1, false))

/* Where homes stay: slot 0 is in the first part, slot 1 in another one; both are taken. */
EXPLORE_SETUP(setup_slots_taken, make_slots(1, 0, 1, 2, true))

/* Four slots in two words, all taken. */
EXPLORE_SETUP(setup_words_taken, make_slots(4, SLOT_EMPTY, 0, 0, true))

/* CPU 0 puts slots 1 to 3. A walk finds slot 0 and what the CPU that walks has claimed. */
static void several_hand_over(uint32_t cpu)
{
	static const u32 three[] = { 1, 2, 3 };
	s64 got;

	if (!cpu) {
		WRITE_ONCE(*data, 1);
		slot_put_n(slots, 0, 3, three);
		return;
	}
	explore_check(slot_next_taken(slots, 0) == 0, "a walk misses a slot that nobody puts");
	got = slot_claim_near(slots, 3);
	if (got < 0)
		return;
	own(got);
	explore_check(READ_ONCE(*data) == 1, "CPU %u owns a slot without its data", cpu);
	explore_check(slot_next_taken(slots, (u32)got) == got, "a walk misses a claimed slot");
}

static struct slot_tag *tag;
static u64 handle;

/* Slot 0 of two is taken, and all CPUs have its handle. */
static void setup_handle(uint32_t nr_cpus)
{
	make_slots(2, SLOT_EMPTY, 0, 0, true);
	tag = port_alloc(PORT_CACHELINE, -1);
	if (!tag)
		abort();
	explore_name(tag, sizeof(*tag), "tag");
	handle = slot_handle(tag, 0);
}

/* Each CPU puts the slot by its handle; who did claims again. No late put takes the slot away. */
static void ends_use(uint32_t cpu)
{
	if (!slot_handle_end(tag, handle))
		return;
	slot_put(slots, (u32)handle);
	explore_result(cpu, 1);
	explore_check(slot_take(slots, 0), "somebody took the slot");
	explore_check(!slot_handle_valid(tag, handle), "a stale handle is valid");
	explore_check(slot_handle_valid(tag, slot_handle(tag, 0)), "a new handle is stale");
}

static void check_handle(uint32_t nr_cpus)
{
	u64 puts = 0;

	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		puts += explore_result_of(cpu);
	explore_check(puts == 1 && !slot_set_nr_free(slots), "%u puts by one handle",
		      (unsigned int)puts);
}

/* -------- a cache of CPU 0 -------- */

static struct slot_cache *cache;

/* One slot, in the cache, or taken. */
static void setup_cache(uint32_t nr_cpus)
{
	slots = slot_set_alloc(case_plan(4, 2), 1, 0);
	cache = slots ? slot_cache_alloc(slots, 0) : NULL;
	data = port_alloc(PORT_CACHELINE, -1);
	if (!cache || !data || slot_cache_claim(cache))
		abort();
	explore_const(slots, offsetof(struct slot_set, lock));
	explore_name(&slots->lock, sizeof(u64), "lock");
	explore_name(cache, sizeof(*cache), "cache");
	explore_name(data, 8, "data");
	name_slots(0);
}

static void setup_cache_full(uint32_t nr_cpus)
{
	setup_cache(nr_cpus);
	slot_cache_put(cache, 0);
}

static void cached(uint32_t cpu)
{
	s64 got = cpu ? slot_claim_near(slots, 3) : slot_cache_claim(cache);

	if (got >= 0)
		own(got);
	explore_result(cpu, (u64)(got + 1));
}

static void check_cached(uint32_t nr_cpus)
{
	u64 owners = 0;

	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		owners += explore_result_of(cpu);
	explore_check(explore_gave_up() || owners == 1, "%u CPUs own one slot",
		      (unsigned int)owners);
}

/* Two slots in the cache, and CPU 0 takes both, puts one and takes it again. */
static void setup_cache_two(uint32_t nr_cpus)
{
	setup_cache(nr_cpus);
	slot_set_grow(slots, 1);
	slot_cache_put(cache, 0);
	if (slot_claim_n(slots, 0, 2, (u32[2]){ 0 }) != 2)
		abort();
	slot_cache_put(cache, 0);
	slot_cache_put(cache, 1);
	name_slots(1);
}

static void cached_two(uint32_t cpu)
{
	u64 n = 0;

	if (cpu) {
		cached(cpu);
		return;
	}
	for (u32 i = 0; i < 2; i++) {
		s64 got = slot_cache_claim(cache);

		if (got < 0)
			continue;
		own(got);
		if (i) {
			n++;
		} else {
			explore_ghost_set((u32)got, 0);
			slot_cache_put(cache, (u32)got);
		}
	}
	explore_result(0, n);
}

static void check_cached_two(uint32_t nr_cpus)
{
	explore_check(explore_result_of(0) == 1 && explore_result_of(1),
		      "a CPU found none of two slots");
}

/* A put into the cache hands over, and once it has returned a claim finds the slot. */
static void cache_hands_over(uint32_t cpu)
{
	bool put;

	if (!cpu) {
		WRITE_ONCE(*data, 1);
		slot_cache_put(cache, 0);
		smp_mb(); /* makes the put visible */
		explore_ghost_set(PUT, 1);
		return;
	}
	put = explore_ghost_get(PUT);
	if (slot_claim_near(slots, 3) < 0)
		explore_check(!put, "a claim misses a slot in a cache");
	else
		explore_check(READ_ONCE(*data), "CPU %u owns a slot without its data", cpu);
}

/* The last cache of the set is freed: its slot is free all the time. */
static void cache_freed(uint32_t cpu)
{
	if (!cpu)
		slot_cache_free(cache);
	else
		explore_check(slot_claim_near(slots, 3) == 0, "a claim misses a slot of a cache");
}

/* CPU 0 holds two slots besides those in its cache, and puts both. */
static void setup_cache_filled(uint32_t nr_cpus)
{
	setup_cache(nr_cpus);
	slot_set_grow(slots, SLOT_CACHE_RING);
	if (slot_claim_n(slots, 0, SLOT_CACHE_RING, (u32[SLOT_CACHE_RING]){ 0 }) != SLOT_CACHE_RING)
		abort();
	for (u32 i = 1; i < SLOT_CACHE_RING; i++)
		slot_cache_put(cache, i);
}

static void cache_filled(uint32_t cpu)
{
	if (cpu) {
		explore_result(cpu, (u64)(slot_claim_near(slots, 3) + 1));
		return;
	}
	slot_cache_put(cache, SLOT_CACHE_RING);
	slot_cache_put(cache, 0);
}

static void check_cache_filled(uint32_t nr_cpus)
{
	for (u32 i = cache->head; i != SLOT_CACHE_PLACE(cache->tail); i++)
		explore_check(cache->slot[i % SLOT_CACHE_RING] + 1 != explore_result_of(1),
			      "CPU 1 owns a slot of the cache");
}

/* The cache's thread, without a barrier between its two steps. */
static void cache_no_barrier(uint32_t cpu)
{
	u64 tail = port_read64(&cache->tail) - SLOT_CACHE_STEP;

	if (cpu) {
		cached(cpu);
		return;
	}
	port_write64(&cache->tail, tail);
	if ((s32)(SLOT_CACHE_PLACE(tail) - READ_ONCE(cache->head)) >= 0) {
		own(0);
		explore_result(cpu, 1);
	}
}

#define CASE(name_, title_, kind_, max, weak_, setup_, body_, check_) \
	EXPLORE_CASE(name_, title_, kind_, 2, max, setup_, body_, check_, .weak = weak_)

const struct explore_case explore_claim_cases[] = {
	CASE("claim-slots", "CPUs claim and put slots: each has one owner", "core", 2, false,
	     setup_slots, take_slots, check_slots),
	CASE("claim-slots-several", "CPUs claim several slots at once: each has one owner", "core",
	     3, false, setup_slots, several_slots, check_several_slots),
	CASE("claim-slots-grow", "a set grows beside a claim (model weak)", "core", 2, true,
	     setup_grow, grow, NULL),
	CASE("claim-follow", "CPUs put slots elsewhere: each has one owner, or one home", "core", 3,
	     false, setup_follow, moves, check_follow),
	CASE("claim-follow-throughout", "a claim finds a slot while another one moves", "core", 2,
	     false, setup_follow, moves_throughout, NULL),
	CASE("claim-follow-hands-over", "a put elsewhere hands its CPU's stores over (model weak)",
	     "core", 2, true, setup_follow_taken, follow_hands_over, NULL),
	CASE("claim-follow-put", "claim-follow-hands-over by a put that knows no CPU", "core", 2,
	     true, setup_follow_taken, second_hands_over, NULL),
	CASE("claim-slots-hands-over", "a put of a slot hands its CPU's stores over (model weak)",
	     "core", 2, true, setup_slots_taken, first_hands_over, NULL),
	CASE("claim-slots-put", "a put of several slots hands over, and walks find what is taken",
	     "core", 3, true, setup_words_taken, several_hand_over, NULL),
	CASE("claim-slots-handle", "of CPUs that put a slot by one handle, one succeeds", "core", 3,
	     true, setup_handle, ends_use, check_handle),
	CASE("claim-slots-grown", "claim-slots-hands-over of a slot that came later", "core", 2,
	     true, setup_slots_taken, second_hands_over, NULL),
	CASE("claim-cache", "a CPU claims from its cache beside others that find the set empty",
	     "core", 3, false, setup_cache_full, cached, check_cached),
	CASE("claim-cache-weak", "claim-cache (model weak)", "core", 2, true, setup_cache_full,
	     cached, check_cached),
	CASE("claim-cache-two", "claim-cache with two slots, one of which is put again", "core", 2,
	     true, setup_cache_two, cached_two, check_cached_two),
	CASE("claim-cache-hands-over", "a put into a cache hands its CPU's stores over", "core", 2,
	     true, setup_cache, cache_hands_over, NULL),
	CASE("claim-cache-freed", "a claim finds the slot of a cache that is being freed", "core",
	     2, true, setup_cache_full, cache_freed, NULL),
	CASE("claim-cache-filled", "a cache's thread fills it beside a thief", "core", 2, true,
	     setup_cache_filled, cache_filled, check_cache_filled),
	CASE("planted-cache-barrier", "planted: a cache's CPU without its barrier", "planted", 2,
	     false, setup_cache_full, cache_no_barrier, NULL),
	CASE("planted-claim-look", "planted: a claim that looks and then clears", "planted", 4,
	     false, setup_slots, look_and_clear, NULL),
	{ 0 },
};
