/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Occupancy: how much a process runs in each last-level cache, and what follows from it.
 * Runtimes that decay, a CPU's share, the preferred cache, and whether load balancing may
 * move a task. Pure: numbers in, numbers out; nothing here is shared or kept.
 *
 * Concurrency: any function with any other, on the caller's own objects. Shared words (a record
 * of a process on a CPU, a run queue's runtime) are read and written by the caller, each as
 * one access of 64 bits. Ordering: none. Context: any. Lines touched: none but the caller's.
 *
 * A runtime is nanoseconds that are halved at every epoch (of about 10 ms), so that steady use of
 * a CPU comes to twice what runs in an epoch. Epochs are counted in 32 bits and compared
 * signed: CPUs advance theirs at their own ticks, so that a record may be an epoch ahead of who
 * reads it, and the count wraps (after 497 days of 10 ms).
 */
#ifndef SCHEDSHARD_OCCUPANCY_H
#define SCHEDSHARD_OCCUPANCY_H

#include "port.h"

/* A CPU's whole capacity; the weight that runtimes are multiplied by. */
#define OCCUPANCY_SCALE (1u << 20)

/*
 * How far a record may be ahead of its reader; one that is further ahead is ancient. A scanner
 * that read its epoch and was then kept from running for longer takes living CPUs for dead
 * ones: hours, not the few hundred milliseconds for which RT tasks may keep one waiting.
 */
#define OCCUPANCY_AHEAD (1 << 20)

/**
 * occupancy_pack() - a runtime and its epoch in one word
 * @epoch: the epoch that it was decayed to
 * @ns: nanoseconds
 *
 * One word, so that a single load sees both: a runtime without its epoch means nothing.
 *
 * Return: the word; 0 is a runtime of nothing at epoch 0.
 */
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

/**
 * occupancy_age() - epochs from a word to now
 * @word: the runtime
 * @now: epoch of who asks
 *
 * Return: less than 0: the word is ahead.
 */
static port_always_inline s32 occupancy_age(u64 word, u32 now)
{
	return (s32)(now - occupancy_epoch(word));
}

/**
 * occupancy_is_old() - was nothing added for longer than a timeout?
 * @word: the runtime
 * @now: epoch of who asks
 * @timeout: epochs, at least 0
 *
 * Return: true also for a word that is too far ahead to be anything but ancient.
 */
static port_always_inline bool occupancy_is_old(u64 word, u32 now, s32 timeout)
{
	s32 age = occupancy_age(word, now);

	return age > timeout || age < -OCCUPANCY_AHEAD;
}

/**
 * occupancy_decayed() - what is left of a runtime
 * @word: the runtime
 * @now: epoch of who asks
 *
 * Return: nanoseconds: halved for each epoch passed, rounding down, as if it had been done
 * one by one; all of it when the word is ahead.
 */
static inline u32 occupancy_decayed(u64 word, u32 now)
{
	s32 age = occupancy_age(word, now);

	if (age < -OCCUPANCY_AHEAD || age > 31)
		return 0;
	return age > 0 ? occupancy_ns(word) >> age : occupancy_ns(word);
}

/**
 * occupancy_add() - decay a runtime to now, and add to it
 * @word: the runtime
 * @now: epoch of the CPU whose runtime it is
 * @ns: what it ran, nanoseconds
 *
 * Of one CPU: its epoch never goes back, except that it wraps.
 *
 * Return: the new word; stays at 2^32 - 1 ns when there is more (a CPU without ticks).
 */
u64 occupancy_add(u64 word, u32 now, u64 ns);

/**
 * occupancy_share() - how much of a CPU a process had
 * @word: the process's runtime there
 * @queue: all of the run queue's runtime, read after @word
 * @now: epoch of who asks
 *
 * What was added to both at the same times: whoever accounts adds to the run queue's first, and
 * who asks reads it last. Both are decayed to the same epoch, that of @queue when it is
 * ahead of @now.
 *
 * Return: 0..OCCUPANCY_SCALE.
 */
u64 occupancy_share(u64 word, u64 queue, u32 now);

/**
 * struct occupancy - a search for the cache in which a process runs most
 * @present: number of the LLC that it prefers now, -1: none
 * @llc: the LLC under way, -1: none yet
 * @best: the LLC with the largest sum so far, -1: none
 * @sum: of @llc
 * @best_sum: of @best
 * @present_sum: of @present
 * @total: of all
 */
struct occupancy {
	s32 present;
	s32 llc;
	s32 best;
	u64 sum;
	u64 best_sum;
	u64 present_sum;
	u64 total;
};

/**
 * occupancy_begin() - start a search
 * @o: the search
 * @present: number of the LLC that is preferred now, -1: none
 */
void occupancy_begin(struct occupancy *o, s32 present);

/**
 * occupancy_cpu() - one CPU's share
 * @o: the search
 * @llc: number of its LLC; all CPUs of one come one after the other
 * @share: what occupancy_share() said
 */
void occupancy_cpu(struct occupancy *o, s32 llc, u64 share);

/**
 * occupancy_end() - the cache to prefer from now on
 * @o: the search; @best, @best_sum, @present_sum and @total are complete then
 *
 * The best one, if its sum is more than twice that of the present one: less would let a
 * process that runs in two caches go to and fro. Of equal sums the first that came is best.
 *
 * Return: number of the LLC, that of before when the process ran nowhere; -1: none.
 */
s32 occupancy_end(struct occupancy *o);

/* The tolerance knob: off; an LLC taken as it is; ... ; never too full. */
#define OCCUPANCY_OFF	 0u
#define OCCUPANCY_STRICT 1u
#define OCCUPANCY_ALWAYS 100u

/**
 * struct occupancy_process - what is known of a process when it is asked whether it may prefer
 * @idle: epochs since its last scan
 * @threads: its threads
 * @running: of these, those that run or wait for a CPU, on average
 * @footprint: bytes that it uses
 */
struct occupancy_process {
	s32 idle;
	u32 threads;
	u32 running;
	u64 footprint;
};

/**
 * struct occupancy_cache - a last-level cache
 * @cpus: CPUs that share it
 * @smt: CPUs a core
 * @bytes: its size, 0: unknown, anything fits
 */
struct occupancy_cache {
	u32 cpus;
	u32 smt;
	u64 bytes;
};

/**
 * occupancy_may_prefer() - may the process prefer a cache at all?
 * @p: the process
 * @c: the cache
 * @timeout: epochs without a scan after which what is known of it is worth nothing
 * @tolerance: OCCUPANCY_OFF: no; up to OCCUPANCY_ALWAYS - 1: the cache counts as that many times as
 *	large; OCCUPANCY_ALWAYS: size does not matter
 *
 * Return: false for a process that was idle for more than @timeout, that has one thread (it runs
 * in one cache anyway), whose running threads need more cores than the cache has, or
 * whose memory does not fit.
 */
bool occupancy_may_prefer(const struct occupancy_process *p, const struct occupancy_cache *c,
			  s32 timeout, u32 tolerance);

/**
 * struct occupancy_load - how full a last-level cache is
 * @util: what runs on its CPUs
 * @capacity: what they can run, in the same unit
 */
struct occupancy_load {
	u64 util;
	u64 capacity;
};

/**
 * struct occupancy_limits - how far placement goes
 * @full_pct: an LLC is full from this use on, in percent
 * @imbalance_pct: by so much more an LLC must be used to count as busier, in percent
 */
struct occupancy_limits {
	u32 full_pct;
	u32 imbalance_pct;
};

#define OCCUPANCY_LIMITS \
	{                \
		50, 20   \
	}

/**
 * enum occupancy_verdict - may load balancing move the task?
 * @OCCUPANCY_FREE: as if there were no preference
 * @OCCUPANCY_FAVOUR: yes, and rather than another one
 * @OCCUPANCY_REFUSE: no
 */
enum occupancy_verdict {
	OCCUPANCY_FREE,
	OCCUPANCY_FAVOUR,
	OCCUPANCY_REFUSE,
};

/**
 * occupancy_verdict() - judge a move by load balancing
 * @src: the LLC that the task is in
 * @dst: the one that it would go to
 * @task: its use, in the unit of struct occupancy_load
 * @to_preferred: @dst is the one that its process prefers; else @src is
 * @limits: how far
 *
 * Towards the preferred LLC: refused when that would be full by it and busier than @src.
 * Away from it: refused as long as @src without the task is not full, or is not busier than
 * @dst with it: balancing would only bring it back. When both are full there is nothing to gain
 * and the balancer does as it likes.
 *
 * Return: the verdict. A task that moves between two LLCs neither of which is preferred is not
 * asked about.
 */
enum occupancy_verdict occupancy_verdict(const struct occupancy_load *src,
					 const struct occupancy_load *dst, u64 task,
					 bool to_preferred, const struct occupancy_limits *limits);

#endif /* SCHEDSHARD_OCCUPANCY_H */
