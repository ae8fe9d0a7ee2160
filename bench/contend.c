// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Two threads on two CPUs of this host repeat the same operation, each for its own CPU number. The
 * two numbers are the first and the last of the plan. In one-shard-64 these share a word of every
 * bitmap and a line of every structure. In epyc-256 they are in different shards, and in different
 * words of one line of the plain bitmap.
 *
 * Both threads are pinned, and spin until a common start. Then each measures its time for the same
 * number of calls; the time of a turn is the mean of both. Start and end differ by well under a
 * microsecond. A turn takes a tenth of a millisecond or more, so nearly all of it is contended. A
 * turn in which the host preempted one of the two threads is an outlier, and the median of many
 * rounds ignores it.
 */
#include "bench.h"
#include "sample.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/**
 * struct contest - state that both threads share
 * @turn: rises when a turn begins; the helper starts then; 0 before the first
 * @done: the last turn that the helper finished
 * @entry: the current entry; NULL ends the helper
 * @calls: calls of its kernel
 * @helper_ns: the helper's time
 * @helper_cpu: the helper's CPU
 * @cpu: by thread: its list of CPU numbers
 */
struct contest {
	u64 turn port_cacheline_aligned;
	u64 done port_cacheline_aligned;
	const struct bench_entry *entry port_cacheline_aligned;
	u64 calls;
	double helper_ns;
	int helper_cpu;
	u32 cpu[2][BENCH_CONTENDED_OPS];
};

/* A global variable, because bench_turn has no context argument. */
static struct contest contest;

static double run_calls(const struct bench_entry *entry, u64 calls, const u32 *cpu)
{
	double start = sample_now_ns();

	for (u64 i = 0; i < calls; i++)
		entry->kernel(entry->object, cpu, BENCH_CONTENDED_OPS);
	return sample_now_ns() - start;
}

/* Wait until *@p is @value; sometimes yield the CPU, in case the other thread needs it. */
static void wait_for(const u64 *p, u64 value)
{
	for (u32 spins = 1; smp_load_acquire(p) != value; spins++) {
		cpu_relax();
		if (spins % 65536 == 0)
			sched_yield();
	}
}

static void *helper(void *unused)
{
	sample_pin((u32)contest.helper_cpu);
	for (u64 turn = 1;; turn++) {
		wait_for(&contest.turn, turn);
		if (!contest.entry)
			return NULL;
		contest.helper_ns = run_calls(contest.entry, contest.calls, contest.cpu[1]);
		smp_store_release(&contest.done, turn);
	}
}

static double turn_together(const struct bench_bout *bout, const struct bench_entry *entry,
			    u64 calls)
{
	u64 turn = contest.turn + 1;
	double ns;

	contest.entry = entry;
	contest.calls = calls;
	smp_store_release(&contest.turn, turn);
	ns = run_calls(entry, calls, contest.cpu[0]);
	wait_for(&contest.done, turn);
	return (ns + contest.helper_ns) / 2;
}

struct bench_pair bench_pair_find(void)
{
	struct bench_pair pair = { { -1, -1 } };
	cpu_set_t set;
	int found = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return pair;
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			pair.cpu[found++] = cpu;
	return pair;
}

int bench_contend_bout(struct bench_bout *bout, const struct bench_effort *effort)
{
	struct bench_pair pair = bench_pair_find();
	pthread_t thread;
	cpu_set_t before;
	int err;

	if (pair.cpu[1] < 0)
		return 0; /* The entries stay untimed: there is no second CPU. */
	contest = (struct contest){ .helper_cpu = pair.cpu[1] };
	for (u32 i = 0; i < BENCH_CONTENDED_OPS; i++)
		contest.cpu[1][i] = bout->n - 1;
	sched_getaffinity(0, sizeof(before), &before);
	err = pthread_create(&thread, NULL, helper, NULL);
	if (err)
		return -err;
	sample_pin((u32)pair.cpu[0]);
	err = bench_time_turns(bout, effort, turn_together);
	contest.entry = NULL;
	smp_store_release(&contest.turn, contest.turn + 1);
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	return err;
}
