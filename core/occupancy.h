/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Occupancy: how much a process runs in each last-level cache (LLC). It computes runtimes that
 * decay, a CPU's share, the preferred LLC, and whether load balancing may move a task. Pure:
 * numbers in, numbers out, no state.
 *
 * Concurrency: any function with any other, on the caller's own objects. The caller reads and
 * writes shared words (a process's runtime on a CPU, a run queue's runtime), each as one access of
 * 64 bits. Ordering: none. Context: any. Lines touched: none but the caller's.
 *
 * A runtime is nanoseconds, halved at every epoch (of about 10 ms): steady use of a CPU gives twice
 * what runs in an epoch. Epochs have 32 bits and compare signed. CPUs advance theirs at their own
 * ticks, so that a record may be an epoch ahead of its reader. The count wraps (10 ms: 497 days).
 */
#ifndef SCHEDSHARD_OCCUPANCY_H
#define SCHEDSHARD_OCCUPANCY_H

#include "port.h"

/* A CPU's whole capacity; the weight that multiplies runtimes. */
#define OCCUPANCY_SCALE (1u << 20)

/*
 * How far a record may be ahead of its reader; a record further ahead is ancient. A scanner that
 * read its epoch and then did not run for longer takes live CPUs for dead ones. That takes hours;
 * RT tasks may delay a scanner a few hundred milliseconds.
 */
#define OCCUPANCY_AHEAD (1 << 20)

/**
 * occupancy_pack() - a runtime and its epoch in one word
 * @epoch: the epoch to which the runtime is decayed
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
 * @now: the reader's epoch
 *
 * Return: less than 0: the word is ahead.
 */
static port_always_inline s32 occupancy_age(u64 word, u32 now)
{
	return (s32)(now - occupancy_epoch(word));
}

/**
 * occupancy_is_old() - is the last addition older than a timeout?
 * @word: the runtime
 * @now: the reader's epoch
 * @timeout: epochs, at least 0
 *
 * Return: true also for a word that is more than OCCUPANCY_AHEAD ahead.
 */
static port_always_inline bool occupancy_is_old(u64 word, u32 now, s32 timeout)
{
	s32 age = occupancy_age(word, now);

	return age > timeout || age < -OCCUPANCY_AHEAD;
}

/**
 * occupancy_decayed() - what is left of a runtime
 * @word: the runtime
 * @now: the reader's epoch
 *
 * Return: nanoseconds: halved for each epoch passed, rounded down, as if one by one; all of it when
 * the word is ahead.
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
 * @now: epoch of the runtime's CPU, which never goes back, except that it wraps
 * @ns: time that the CPU ran, nanoseconds
 *
 * Return: the new word; stays at 2^32 - 1 ns when there is more (a CPU without ticks).
 */
u64 occupancy_add(u64 word, u32 now, u64 ns);

/**
 * occupancy_share() - a process's share of a CPU
 * @word: the process's runtime there
 * @queue: all of the run queue's runtime, read after @word
 * @now: the reader's epoch
 *
 * A CPU adds to the run queue's runtime first; a reader loads it last. The function decays both to
 * the same epoch, that of @queue when it is ahead of @now.
 *
 * Return: 0..OCCUPANCY_SCALE.
 */
u64 occupancy_share(u64 word, u64 queue, u32 now);

/**
 * struct occupancy - a search for the LLC in which a process runs most
 * @present: number of the LLC that it prefers now, -1: none
 * @llc: the current LLC, -1: none yet
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

/* Start a search; @present: number of the LLC that the process prefers now, -1: none. */
void occupancy_begin(struct occupancy *o, s32 present);

/**
 * occupancy_cpu() - add one CPU's share
 * @o: the search
 * @llc: number of its LLC; all CPUs of one LLC come together
 * @share: from occupancy_share()
 */
void occupancy_cpu(struct occupancy *o, s32 llc, u64 share);

/**
 * occupancy_end() - the LLC to prefer from now on
 * @o: the search; @best, @best_sum, @present_sum and @total are then complete
 *
 * The best one, if its sum is more than twice that of the present one: a lower factor would let a
 * process that runs in two LLCs alternate. Of equal sums the first is best.
 *
 * Return: number of the LLC, the present one when the process ran nowhere; -1: none.
 */
s32 occupancy_end(struct occupancy *o);

/* The tolerance knob: off; an LLC at its true size; ... ; no LLC is too full. */
#define OCCUPANCY_OFF	 0u
#define OCCUPANCY_STRICT 1u
#define OCCUPANCY_ALWAYS 100u

/**
 * struct occupancy_process - the process, for occupancy_may_prefer()
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
 * occupancy_may_prefer() - may the process prefer an LLC at all?
 * @p: the process
 * @c: the LLC
 * @timeout: epochs without a scan after which @p is out of date
 * @tolerance: OCCUPANCY_OFF: no; up to OCCUPANCY_ALWAYS - 1: the LLC counts as so many times as
 *	large; OCCUPANCY_ALWAYS: size does not matter
 *
 * Return: false for a process that was idle for more than @timeout, or has one thread (which runs
 * in one LLC anyway). False also if its running threads need more cores than the LLC has, or its
 * memory is too large.
 */
bool occupancy_may_prefer(const struct occupancy_process *p, const struct occupancy_cache *c,
			  s32 timeout, u32 tolerance);

/**
 * struct occupancy_load - how full an LLC is
 * @util: utilization of its CPUs
 * @capacity: their capacity, in the same unit
 */
struct occupancy_load {
	u64 util;
	u64 capacity;
};

/**
 * struct occupancy_limits - limits of placement
 * @full_pct: an LLC is full from this utilization on, in percent
 * @imbalance_pct: an LLC is busier than another from so much more utilization on, in percent
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
 * @OCCUPANCY_FREE: as without a preference
 * @OCCUPANCY_FAVOUR: yes, and before other tasks
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
 * @dst: the LLC that it would go to
 * @task: its utilization, in the unit of struct occupancy_load
 * @to_preferred: the process prefers @dst; else it prefers @src
 * @limits: the limits
 *
 * Towards the preferred LLC: refuse if the move would make it full and busier than @src. Away from
 * it: refuse while @src without the task is not full, or is not busier than @dst with it. Balancing
 * would only bring the task back. When both are full a move gains nothing: free.
 *
 * Return: the verdict. Callers do not ask about a move between two LLCs neither of which the
 * process prefers.
 */
enum occupancy_verdict occupancy_verdict(const struct occupancy_load *src,
					 const struct occupancy_load *dst, u64 task,
					 bool to_preferred, const struct occupancy_limits *limits);

#endif /* SCHEDSHARD_OCCUPANCY_H */
