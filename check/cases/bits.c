// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests small broken variants of the real bitmap and summary, and the correct form of each.
 *
 * Separate bits: a summary whose occupied and cleaning bits are in two words. A reader loads one
 * word after the other. Between the loads a cleaner can set "cleaning" and clear "occupied", and
 * the reader misses both bits (core/shard_summary.c). The rest of the cleaner is the real one.
 *
 * Byte summary: occupied and cleaning are two bytes of one word, which a single cleaner writes with
 * plain stores. The stores wait in its store buffer while it reads the line again, so even x86
 * needs the barrier in between. A setter must not return before its own store is visible. This
 * scheme fails with several cleaners, so the real one sets "cleaning" with a locked operation.
 */
#include "port.h"

#include "cases.h"
#include "objects.h"

enum { RETURNED }; /* ghost: the setter has returned */

/* -------- separate bits -------- */

struct summary {
	u64 line port_cacheline_aligned;
	u64 occupied port_cacheline_aligned;
	u64 cleaning port_cacheline_aligned;
	u8 bytes[8] port_cacheline_aligned; /* byte summary: occupied, cleaning */
};

static struct summary *s;

static void setup_stale(uint32_t nr_cpus)
{
	s = port_alloc(sizeof(*s), -1);
	explore_name(&s->line, 8, "line");
	explore_name(&s->occupied, 8, "occupied");
	explore_name(&s->cleaning, 8, "cleaning");
	explore_name(&s->bytes, 8, "summary");
	s->occupied = 1;
	s->bytes[0] = 1;
}

static void separate_set(void)
{
	port_or64(&s->line, 1);
	smp_mb__after_atomic(); /* pairs with the barrier in separate_clean() */
	if (!(READ_ONCE(s->occupied) & 1))
		port_or64(&s->occupied, 1);
}

static void separate_clean(void)
{
	if (!(READ_ONCE(s->occupied) & 1) || (port_fetch_or64(&s->cleaning, 1) & 1))
		return;
	port_and64(&s->occupied, ~1ull);
	smp_mb__after_atomic(); /* pairs with the barrier in separate_set() */
	if (READ_ONCE(s->line))
		port_or64(&s->occupied, 1);
	smp_mb__before_atomic();
	port_and64(&s->cleaning, ~1ull);
}

static bool separate_empty(void)
{
	if (!(READ_ONCE(s->occupied) & 1) && !(READ_ONCE(s->cleaning) & 1))
		return true;
	if (READ_ONCE(s->line))
		return false;
	separate_clean();
	return true;
}

static void judge(bool returned, bool empty)
{
	explore_check(!returned || !empty,
		      "a search that began after the setter was done found the set empty");
}

static void separate(uint32_t cpu)
{
	bool returned;

	if (!cpu) {
		separate_set();
		explore_ghost_set(RETURNED, 1);
	} else if (cpu == 1) {
		separate_clean();
	} else {
		returned = explore_ghost_get(RETURNED);
		judge(returned, separate_empty());
	}
}

/* -------- byte summary -------- */

static u32 both_bytes(void)
{
	return (u32)READ_ONCE(*(u64 *)s->bytes) & 0xffff;
}

static void byte_set(void)
{
	port_or64(&s->line, 1);
	smp_mb__after_atomic(); /* pairs with smp_mb() in byte_clean() */
	if (!(both_bytes() & 0xff)) {
		WRITE_ONCE(s->bytes[0], 1);
		smp_mb();
	}
}

static port_always_inline void byte_clean(bool barrier)
{
	if (both_bytes() != 1)
		return;
	WRITE_ONCE(s->bytes[1], 1);
	WRITE_ONCE(s->bytes[0], 0);
	/*
	 * Without this barrier the cleaner reads the line before its clear of "occupied" is
	 * visible: a setter in between still sees "occupied" and relies on it. Pairs with the
	 * barrier in byte_set().
	 */
	if (barrier)
		smp_mb();
	if (READ_ONCE(s->line))
		WRITE_ONCE(s->bytes[0], 1);
	WRITE_ONCE(s->bytes[1], 0);
}

static port_always_inline void byte_summary(u32 cpu, bool barrier)
{
	bool returned;

	if (!cpu) {
		byte_set();
		explore_ghost_set(RETURNED, 1);
	} else if (cpu == 1) {
		byte_clean(barrier);
	} else {
		returned = explore_ghost_get(RETURNED);
		judge(returned, !both_bytes() || !READ_ONCE(s->line));
	}
}

EXPLORE_BODY(byte_right, byte_summary(cpu, true))
EXPLORE_BODY(byte_wrong, byte_summary(cpu, false))

static void check_bytes(uint32_t nr_cpus)
{
	explore_check(both_bytes(), "the bit is set, and the set is called empty for ever");
}

const struct explore_case explore_bits_cases[] = {
	EXPLORE_CASE("planted-separate-bits",
		     "planted: occupied and cleaning bits are read one after the other", "planted",
		     3, 4, setup_stale, separate, NULL),
	EXPLORE_CASE("pattern-byte-summary",
		     "a summary of plain byte stores with one cleaner, with its barrier", "pattern",
		     2, 4, setup_stale, byte_right, check_bytes),
	EXPLORE_CASE("planted-byte-summary",
		     "planted: pattern-byte-summary without the barrier in the clean-up", "planted",
		     2, 4, setup_stale, byte_wrong, check_bytes),
	{ 0 },
};
