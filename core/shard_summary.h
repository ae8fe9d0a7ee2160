/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The summary of a sharded structure: a read-mostly bit per shard that says
 * whether the shard's line may hold anything, so that a search of an empty
 * machine costs one shared load for 32 shards instead of a miss for each.
 *
 * Set eagerly by those who fill a line, cleared lazily by those who search and
 * find a line empty. Emptiness can be relied on: after a setter's
 * shard_summary_note() returned, and until its line becomes empty, no
 * shard_summary_test() that starts later is false.
 *
 * Concurrency, all of one summary, any threads, any shards:
 *
 *                        | note | test, next | clean | alloc, free
 *   shard_summary_note   |  ok  |     ok     |  ok   |     -
 *   _test, _next         |  ok  |     ok     |  ok   |     -
 *   _clean               |  ok  |     ok     |  ok   |     -
 *   _alloc, _free        |  -   |     -      |   -   |     -     caller excludes
 *
 * Ordering: see each function. Context: alloc and free may sleep, the rest runs
 * anywhere, interrupts included, waits for nobody. Lines touched: one line for
 * every 256 shards; it is written when a line goes from empty to occupied after
 * somebody searched it, and by that search; else only read.
 */
#ifndef SHARD_SUMMARY_H
#define SHARD_SUMMARY_H

#include "port.h"
#include "shard_plan.h"

#define SHARD_SUMMARY_SHARDS 32u /* shards a word */

/**
 * struct shard_summary - one bit pair a shard
 * @nr_shards: shards that it covers
 * @bytes: its memory
 * @word: 32 shards each: low half "occupied", high half "somebody is cleaning".
 *	  One word, so that one load sees both: see shard_summary.c. Starts a line of
 *	  its own, so that setters on other CPUs do not disturb readers of @nr_shards.
 */
struct shard_summary {
	u32 nr_shards;
	size_t bytes;
	u64 word[] __aligned(PORT_CACHELINE);
};

static inline u64 shard_summary_occupied(u32 shard)
{
	return 1ull << (shard % SHARD_SUMMARY_SHARDS);
}

static inline u64 shard_summary_cleaning(u32 shard)
{
	return shard_summary_occupied(shard) << SHARD_SUMMARY_SHARDS;
}

/**
 * shard_summary_alloc() - make a summary with every bit clear
 * @plan: the plan; only its number of shards matters
 *
 * Return: the summary, NULL when there is no memory. Context: may sleep.
 */
struct shard_summary *shard_summary_alloc(const struct shard_plan *plan);

/**
 * shard_summary_free() - give a summary back
 * @s: the summary, or NULL
 */
void shard_summary_free(struct shard_summary *s);

static port_always_inline u64 *shard_summary_word(struct shard_summary *s, u32 shard)
{
	return &s->word[shard / SHARD_SUMMARY_SHARDS];
}

/* The slow half of shard_summary_ensure(): sets the shard's bit @occupied in its word. */
void shard_summary_mark(u64 *word, u64 occupied);

/**
 * shard_summary_ensure() - the shard's bit is set in its word, by us if need be
 * @word: shard_summary_word()
 * @occupied: shard_summary_occupied()
 *
 * For a setter that had its own full barrier; else shard_summary_note(). Not satisfied by a bit
 * that is being cleaned away: that one must be set again. Ordering: none.
 */
static port_always_inline void shard_summary_ensure(u64 *word, u64 occupied)
{
	if (unlikely(!(READ_ONCE(*word) & occupied)))
		shard_summary_mark(word, occupied);
}

/* shard_summary_note() for who knows the shard's word, and its bit there. */
static port_always_inline void shard_summary_note_bit(u64 *word, u64 occupied)
{
	smp_mb__after_atomic(); /* the caller's bit, then the summary: see shard_summary_note() */
	shard_summary_ensure(word, occupied);
}

/**
 * shard_summary_note() - a bit in the shard's line was just set
 * @s: the summary
 * @shard: the shard
 *
 * The caller set the bit with an atomic operation right before.
 *
 * Ordering: full barrier between that operation and the load of the summary;
 * without it the load could be served before the bit is visible, see an occupied
 * bit that a cleaner is about to take away, and the cleaner would not see the
 * bit: pairs with the barrier in shard_summary_clean(). The summary's bit is set
 * when the function returns, for whoever starts a search later by any clock.
 * Lines touched: one of the summary; written only when its bit was clear.
 */
static port_always_inline void shard_summary_note(struct shard_summary *s, u32 shard)
{
	shard_summary_note_bit(shard_summary_word(s, shard), shard_summary_occupied(shard));
}

/**
 * shard_summary_test() - may the shard's line hold anything?
 * @s: the summary
 * @shard: the shard
 *
 * Return: false: the line was empty at some moment of this call, true: look at it.
 * Ordering: none. Lines touched: one of the summary, read.
 */
static port_always_inline bool shard_summary_test(const struct shard_summary *s, u32 shard)
{
	return READ_ONCE(s->word[shard / SHARD_SUMMARY_SHARDS]) &
	       (shard_summary_occupied(shard) | shard_summary_cleaning(shard));
}

/**
 * shard_summary_next() - first shard at or after one whose line may hold anything
 * @s: the summary
 * @shard: where to start
 * @end: where to stop; at most nr_shards
 *
 * Return: the shard, @end when there is none. Ordering: none. Lines touched: the
 * summary's words in between, one load each.
 */
u32 shard_summary_next(const struct shard_summary *s, u32 shard, u32 end);

/**
 * shard_summary_names_other() - may any other shard's line hold anything?
 * @s: the summary
 * @shard: the one that does not count
 *
 * Return: false: none did when its word was read. Ordering: none. Lines touched: the summary's
 * words, one load each, up to one that names another.
 */
static inline bool shard_summary_names_other(const struct shard_summary *s, u32 shard)
{
	u32 own = shard / SHARD_SUMMARY_SHARDS;

	for (u32 i = 0; i * SHARD_SUMMARY_SHARDS < s->nr_shards; i++) {
		u64 word = READ_ONCE(s->word[i]);

		if (i == own)
			word &= ~(shard_summary_occupied(shard) | shard_summary_cleaning(shard));
		if (word)
			return true;
	}
	return false;
}

/**
 * shard_summary_clean_words() - a searcher read the shard's line as empty
 * @s: the summary
 * @shard: the shard
 * @line: the words that it read as empty
 * @words: how many
 * @bits: of each word, those that count; the same in either byte order
 *
 * Takes the shard's occupied bit away if the line is still empty and nobody else
 * is at it; else changes nothing in the end.
 *
 * Ordering: a full barrier between taking the bit and reading the line again,
 * pairs with shard_summary_note(). Lines touched: one of the summary, written;
 * the shard's line, read. Nothing is written when the bit is clear already.
 */
void shard_summary_clean_words(struct shard_summary *s, u32 shard, const u64 *line, u32 words,
			       u64 bits);

/**
 * shard_summary_clean() - the same for a line of one word
 * @s: the summary
 * @shard: the shard
 * @line: the word that it read as 0
 */
static inline void shard_summary_clean(struct shard_summary *s, u32 shard, const u64 *line)
{
	shard_summary_clean_words(s, shard, line, 1, ~0ull);
}

#endif /* SHARD_SUMMARY_H */
