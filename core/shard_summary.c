// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why callers can rely on emptiness. Once shard_summary_note() returned, every load of the shard's
 * two summary bits sees one of them set, until the line is empty.
 *
 *   A setter:                        A cleaner, which read the line as 0:
 *
 *   S1  set bit in line              C1  set "cleaning"; if it was set: leave
 *   S2  full barrier                 C2  clear "occupied"
 *   S3  load word                    C3  full barrier
 *   S4  occupied clear: set it       C4  load line; not 0: set "occupied"
 *   S5  full barrier                 C5  clear "cleaning"
 *
 * All changes are atomic operations on one 64-bit word, so they have one order, and a later load
 * never sees an earlier value. If S3 sees "occupied" clear, S4 sets it. In both cases only a later
 * C2 can clear it.
 *
 * Take the first C2 after S3 saw or S4 set "occupied". By C1 "cleaning" is set from before this C2
 * until its cleaner's C5. S3 (or S4) comes before C2 in the word's order. So S2 and C3 make C4 see
 * S1. Else S3 would be before C2 and C4 before S1. A full barrier on each side rules that out
 * (store buffering). C4 sees the bit, and sets "occupied" while "cleaning" is still set. So at
 * every moment one of the two is set. The same holds for each later C2, which also comes after S1.
 * If C4 sees 0, another CPU cleared the setter's bit after S1, and the promise has ended.
 *
 * C4 and C5 need no barrier, though the CPU may perform C5 before C4 loads. If C4 finds a bit, its
 * change of the word comes before C5, as one CPU makes both on one word. That change follows C4's
 * load by a control dependency, and so does C5. If C4 finds 0 after C5 and C2, no setter relies on
 * this cleaner: one with a later S1 sees C2's value, as above.
 *
 * S5 is for what a setter reads afterwards, such as the levels of CPUs that could take its task.
 * Suppose that a searcher stores a level, executes a full barrier, and then loads the summary as 0.
 * That load comes before S3 or S4 in the word's order, and S5 makes the setter see the level.
 * Without S5 the setter's read may come before S3: another CPU may mark the shard in between, and
 * S3 sees that mark.
 *
 * C1 admits one cleaner of a shard at a time. If there were two, the first could clear "cleaning"
 * in C5 just after the second cleared "occupied" in C2.
 *
 * Both bits must be in ONE word. If a reader loads "occupied" first, from another word, it may see
 * 0 between C2 and C4. C4 then sets "occupied", C5 clears "cleaning", and the reader sees
 * "cleaning" as 0 too. A reader that loads "cleaning" first may see it as 0 before C1, and
 * "occupied" after C2.
 *
 * No CPU waits. A cleaner interrupted between C1 and C5 leaves "cleaning" set: until it continues,
 * every search reads the shard's line.
 */
#include "shard_summary.h"

static size_t summary_bytes(u32 nr_shards)
{
	size_t words = (nr_shards + SHARD_SUMMARY_SHARDS - 1) / SHARD_SUMMARY_SHARDS;

	return sizeof(struct shard_summary) + words * sizeof(u64);
}

struct shard_summary *shard_summary_alloc(const struct shard_plan *plan)
{
	size_t bytes = summary_bytes(plan->nr_shards);
	struct shard_summary *s = (struct shard_summary *)port_alloc(bytes, -1);

	if (!s)
		return NULL;
	s->nr_shards = plan->nr_shards;
	s->bytes = bytes;
	return s;
}

void shard_summary_free(struct shard_summary *s)
{
	if (s)
		port_free(s, s->bytes);
}

void shard_summary_mark(u64 *word, u64 occupied)
{
	port_or64(word, occupied);
	/*
	 * S5. Without it, an atomic that has no result may take effect after the function returned
	 * (arm64's far atomics), and a search in between would miss the bit. For the set of idle
	 * CPUs S5 pairs with smp_mb() in Linux's _nohz_idle_balance(). No instruction on x86.
	 */
	smp_mb__after_atomic();
}

void shard_summary_clean(struct shard_summary *s, u32 shard, const u64 *line)
{
	u64 *word = shard_summary_word(s, shard);
	u64 occupied = shard_summary_occupied(shard);
	u64 cleaning = shard_summary_cleaning(shard);

	/* Nothing to clear, or another CPU is cleaning: do not write the line. */
	if ((READ_ONCE(*word) & (occupied | cleaning)) != occupied)
		return;

	if (port_fetch_or64(word, cleaning) & cleaning) /* C1: the word's order is enough */
		return;
	port_and64(word, ~occupied); /* C2 */

	/*
	 * C3: pairs with S2 in shard_summary_note(). Without it C4 may read 0 before C2 is
	 * visible, while a setter sees "occupied" still set and leaves it.
	 */
	smp_mb__after_atomic();
	if (READ_ONCE(*line)) /* C4 */
		port_or64(word, occupied);

	port_and64(word, ~cleaning); /* C5 */
}

u32 shard_summary_next(const struct shard_summary *s, u32 shard, u32 end)
{
	while (shard < end) {
		u64 word = port_read64(&s->word[shard / SHARD_SUMMARY_SHARDS]);
		u32 both = (u32)(word | word >> SHARD_SUMMARY_SHARDS);

		both >>= shard % SHARD_SUMMARY_SHARDS;
		if (both) {
			shard += port_ctz64(both);
			return shard < end ? shard : end;
		}
		shard += SHARD_SUMMARY_SHARDS - shard % SHARD_SUMMARY_SHARDS;
	}
	return end;
}
