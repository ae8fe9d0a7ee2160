/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The summary of a sharded structure: a read-mostly bit per shard that says whether the shard's
 * line may hold anything. A search of an empty machine then costs one shared load for 32 shards.
 *
 * A CPU that fills a line sets the bit. A searcher that finds the line empty clears it. After
 * shard_summary_note() returned, and until the line becomes empty, no shard_summary_test() that
 * starts later is false.
 *
 * Concurrency: shard_summary_alloc() and shard_summary_free() exclude everything else. All other
 * calls may overlap.
 *
 * Context of all functions: any, unless said. Ordering: none, unless said. Lines touched: one for
 * every 256 shards, read, and written when a shard's bit changes.
 */
#ifndef SHARD_SUMMARY_H
#define SHARD_SUMMARY_H

#include "port.h"
#include "shard_plan.h"

#define SHARD_SUMMARY_SHARDS 32u /* shards per word */

/**
 * struct shard_summary - one bit pair per shard
 * @nr_shards: shards that it covers
 * @bytes: bytes of its memory
 * @word: a word for each 32 shards: low half "occupied", high half "cleaning" (shard_summary.c). On
 *	lines apart from @nr_shards, which every CPU reads
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

/* Make a summary for the plan's shards, every bit clear. NULL if there is no memory. May sleep. */
struct shard_summary *shard_summary_alloc(const struct shard_plan *plan);

/* Free a summary, or NULL. May sleep. */
void shard_summary_free(struct shard_summary *s);

static port_always_inline u64 *shard_summary_word(struct shard_summary *s, u32 shard)
{
	return &s->word[shard / SHARD_SUMMARY_SHARDS];
}

/* The slow part of shard_summary_note(): sets the shard's bit @occupied in its word. */
void shard_summary_mark(u64 *word, u64 occupied);

/*
 * Called after an atomic operation has set a bit in the shard's line. When the function returns,
 * the summary's bit is set for every search that starts later. Ordering: a full barrier (S2)
 * between that operation and the load of the summary, which pairs with C3 in shard_summary_clean(),
 * and another one (S5) at the end. Without S2 the load may see an occupied bit that another CPU is
 * about to clear, because that CPU has not seen the caller's bit.
 */
static port_always_inline void shard_summary_note(struct shard_summary *s, u32 shard)
{
	u64 *word = shard_summary_word(s, shard), occupied = shard_summary_occupied(shard);

	smp_mb__after_atomic(); /* S2: pairs with C3 in shard_summary_clean() */
	if (unlikely(!(READ_ONCE(*word) & occupied))) {
		shard_summary_mark(word, occupied);
	} else {
		/*
		 * S5: pairs with a searcher's full barrier before its search. Without S5 the
		 * caller's next access may come before S3, while another CPU marks the shard.
		 */
		smp_mb();
	}
}

/* May the shard's line hold anything? False: it was empty at some moment of this call. */
static port_always_inline bool shard_summary_test(const struct shard_summary *s, u32 shard)
{
	return port_read64(&s->word[shard / SHARD_SUMMARY_SHARDS]) &
	       (shard_summary_occupied(shard) | shard_summary_cleaning(shard));
}

/* First shard in [@shard, @end) whose line may hold anything, else @end; at most nr_shards. */
u32 shard_summary_next(const struct shard_summary *s, u32 shard, u32 end);

/*
 * Called by a searcher that read the shard's word @line as 0. It clears the shard's occupied bit if
 * the word is still 0 and no other CPU is cleaning it. Ordering: a full barrier (C3) between
 * clearing the bit and reading the word again, which pairs with S2 in shard_summary_note(). Lines
 * touched: the summary's, and @line, which is only read.
 */
void shard_summary_clean(struct shard_summary *s, u32 shard, const u64 *line);

#endif /* SHARD_SUMMARY_H */
