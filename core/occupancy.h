/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Occupancy: how much a process runs on a CPU. These functions compute runtimes that decay, and a
 * process's share of a CPU. They are pure: they keep no state. occupancy_llc.h adds the shares up.
 *
 * Concurrency: any function with any other, on the caller's own objects. The caller reads and
 * writes shared words (a process's runtime on a CPU, a run queue's runtime), each as one access of
 * 64 bits. Ordering: none. Context: any. Lines touched: none but the caller's.
 *
 * A runtime is in nanoseconds, halved at every epoch (of about 10 ms). Steady use of a CPU gives
 * twice the time that the process runs in an epoch. One word contains the runtime and the epoch to
 * which it is decayed, so that one load reads both. Epochs have 32 bits and compare signed. CPUs
 * advance theirs at their own ticks, so a record may be an epoch ahead of its reader. The count
 * wraps (10 ms: 497 days).
 *
 * Arguments: @word: a runtime. @now: the reader's epoch.
 */
#ifndef SCHEDSHARD_OCCUPANCY_H
#define SCHEDSHARD_OCCUPANCY_H

#include "port.h"

/* A CPU's whole capacity; the weight that multiplies runtimes. */
#define OCCUPANCY_SCALE (1u << 20)

/*
 * How many epochs a record may be ahead of its reader; a record further ahead is ancient. A scanner
 * that reads its epoch and then does not run for longer than that mistakes live CPUs for dead ones.
 * That takes hours, and RT tasks delay a scanner by a few hundred milliseconds at most.
 */
#define OCCUPANCY_AHEAD (1 << 20)

/* Pack a runtime in nanoseconds and its epoch into one word; 0 is a runtime of 0 at epoch 0. */
static port_always_inline u64 occupancy_pack(u32 epoch, u32 ns)
{
	return (u64)epoch << 32 | ns;
}

static port_always_inline u32 occupancy_epoch(u64 word)
{
	return (u32)(word >> 32);
}

static port_always_inline u32 occupancy_ns(u64 word)
{
	return (u32)word;
}

/* Epochs from a word to now; less than 0: the word is ahead. */
static port_always_inline s32 occupancy_age(u64 word, u32 now)
{
	return (s32)(now - occupancy_epoch(word));
}

/* Is the last addition older than @timeout epochs, or more than OCCUPANCY_AHEAD ahead? */
static port_always_inline bool occupancy_is_old(u64 word, u32 now, s32 timeout)
{
	s32 age = occupancy_age(word, now);

	return age > timeout || age < -OCCUPANCY_AHEAD;
}

/*
 * Return a runtime in nanoseconds decayed to @now: halved for each epoch passed, rounded down each
 * time. A word that is ahead counts undecayed, an ancient one as 0.
 */
static inline u32 occupancy_decayed(u64 word, u32 now)
{
	s32 age = occupancy_age(word, now);

	if (age < -OCCUPANCY_AHEAD || age > 31)
		return 0;
	return age > 0 ? occupancy_ns(word) >> age : occupancy_ns(word);
}

/*
 * Decay a runtime to the epoch of its CPU, which only goes back by a wrap, and add @ns nanoseconds.
 * Return: the new word. The runtime saturates at 2^32 - 1 ns (a CPU without ticks).
 */
u64 occupancy_add(u64 word, u32 now, u64 ns);

/*
 * A process's share of a CPU, 0..OCCUPANCY_SCALE. @queue: the runtime of the whole run queue. The
 * CPU adds to it first, and the reader loads it after @word. The function decays both to the same
 * epoch, that of @queue when it is ahead of @now.
 */
u64 occupancy_share(u64 word, u64 queue, u32 now);

#endif /* SCHEDSHARD_OCCUPANCY_H */
