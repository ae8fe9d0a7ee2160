// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why emptiness can be relied on: once shard_summary_note() returned, every load of
 * the shard's two summary bits sees one of them set until the line is empty.
 *
 * A setter:                        A cleaner, which read the line as 0:
 *
 *   S1  set bit in line              C1  set "cleaning"; if it was set: leave
 *   S2  full barrier                 C2  clear "occupied"
 *   S3  load word                    C3  full barrier
 *   S4  occupied clear: set it       C4  load line; not 0: set "occupied"
 *                                    C5  clear "cleaning"
 *
 * All changes are atomic operations on one 64-bit word, so they have one order, and a
 * later load never sees an earlier value than an earlier load did. Take the value that
 * S3 sees:
 *
 *  - "occupied" clear: S4 sets it. Only a C2 that comes later can take it away.
 *  - "occupied" set: likewise only a later C2 can.
 *
 * So look at the first C2 after that value; by C1 it is between its own cleaner's C1 and
 * C5, and "cleaning" is set until C5. S3 (or S4) comes before C2 in the word's order,
 * that is: C2 was not yet performed when S3 loaded, or S4 was performed before C2. In
 * both cases the two barriers S2 and C3 make C4 see S1: were it not so, S3 would be
 * before C2 and C4 before S1, which a full barrier on each side rules out (the store
 * buffering pattern). C4 sees the bit, and sets "occupied" while "cleaning" is still
 * set. At every moment one of the two is set; and the same goes for each later C2, which
 * comes after S1 all the more. If C4 sees 0, the setter's bit was cleared by somebody after
 * S1, and there is nothing to promise.
 *
 * No barrier is needed between C4 and C5, though C5 may then be performed before C4 loads. If C4 is
 * to find a bit, the change of the word that follows from it comes before C5, both being changes of
 * one word by one CPU; it cannot be performed before C4 has loaded, so neither can C5. If C4 is to
 * find 0, it does so after C5 and C2, and nobody relies on this cleaner any more: a setter whose S1
 * comes later sees C2's value, as above. The same goes for each word of a longer line.
 *
 * C1 lets in one cleaner at a time for each shard. With two, the one that saw an empty
 * line could drop "cleaning" while the other one's C2 had just taken "occupied" away.
 *
 * Why both bits are in ONE word. Let them be in two, and a reader load "occupied" first,
 * then "cleaning": it loads occupied = 0 between C2 and C4; C4 sets "occupied", C5 clears
 * "cleaning"; the reader loads cleaning = 0, and calls an occupied shard empty. Loading
 * them the other way round fails too: cleaning = 0 before C1, occupied = 0 after C2. A
 * single load sees both at one moment.
 *
 * What it does not promise: emptiness of several shards is not judged at one moment. A
 * bit that is set in a shard that was passed already, before another one is cleared in a
 * shard yet to come, can be missed together with that one; so it is with any mask of
 * more than one word.
 *
 * Progress: nobody waits. A cleaner that is interrupted between C1 and C5 leaves
 * "cleaning" set, that is: the shard's line is read by every search until it goes on.
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
	 * Where an atomic without a result may be performed after the function returned (arm64's
	 * far atomics), a search that starts in between would miss the bit. Nothing on x86.
	 */
	smp_mb__after_atomic();
}

void shard_summary_clean_words(struct shard_summary *s, u32 shard, const u64 *line, u32 words,
			       u64 bits)
{
	u64 *word = shard_summary_word(s, shard);
	u64 occupied = shard_summary_occupied(shard);
	u64 cleaning = shard_summary_cleaning(shard);

	/* Nothing to take away, or somebody is at it: spare the line a write. */
	if ((READ_ONCE(*word) & (occupied | cleaning)) != occupied)
		return;

	if (port_fetch_or64(word, cleaning) & cleaning) /* C1 */
		return;
	port_and64(word, ~occupied); /* C2 */

	/*
	 * C3, pairs with the one in shard_summary_note(): without it C4 may be served
	 * before C2 is visible, read 0, and a setter that comes in between sees
	 * "occupied" still set and leaves it to us.
	 */
	smp_mb__after_atomic();
	for (u32 i = 0; i < words; i++)
		if (READ_ONCE(line[i]) & bits) { /* C4 */
			port_or64(word, occupied);
			break;
		}

	port_and64(word, ~cleaning); /* C5 */
}

u32 shard_summary_next(const struct shard_summary *s, u32 shard, u32 end)
{
	while (shard < end) {
		u64 word = READ_ONCE(s->word[shard / SHARD_SUMMARY_SHARDS]);
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
