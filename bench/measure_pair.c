// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Measures the one-way latency between two CPUs.
 *
 * Why half a round trip is the latency of a transfer: the word is 0 or 1. One thread turns 0 into
 * 1, the other 1 into 0, each by compare-and-swap. Neither thread can get ahead of the other, so a
 * round contains exactly two transfers of the line in modified state, and nothing else takes long.
 * Published core-to-core tables use this method, so measured and published files are comparable.
 *
 * Why no thread waits forever: if a thread cannot be placed, that happens before the barrier, and
 * both threads check for it after the barrier. When the time is up, the first thread writes a third
 * value in its turn. The second thread sees it where it waits for its turn.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "measure.h"

#define ROUNDS	   200
#define STOP	   2	 /* the word's value when no further sample follows */
#define PAGE_BYTES 65536 /* at least one page on every architecture */

struct pair {
	u32 cpu[2], home, samples, taken;
	double deadline;
	pthread_barrier_t ready;
	int failed[2];
	u32 *word;
	double *ns;
};

struct side {
	struct pair *pair;
	int which;
};

/* Wait until the word is @from and make it @to; false: the word is STOP. */
static bool turn(u32 *word, u32 from, u32 to)
{
	u32 seen = from;

	while (!__atomic_compare_exchange_n(word, &seen, to, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED)) {
		if (seen == STOP)
			return false;
		seen = from;
	}
	return true;
}

static void *run_side(void *arg)
{
	const struct side *side = arg;
	struct pair *pair = side->pair;
	int me = side->which;

	if (me == 0) {
		pair->failed[0] = sample_pin(pair->home);
		if (!pair->failed[0])
			memset(pair->word, 0, PAGE_BYTES);
	}
	if (!pair->failed[me])
		pair->failed[me] = sample_pin(pair->cpu[me]);
	pthread_barrier_wait(&pair->ready);
	if (pair->failed[0] || pair->failed[1])
		return NULL;
	for (u32 sample = 0; sample < pair->samples; sample++) {
		double start = sample_now_ns();

		for (u32 round = 0; round < ROUNDS; round++) {
			if (!turn(pair->word, (u32)me, (u32)!me))
				return NULL;
		}
		/* the last transfer back to the first thread belongs to the last round */
		if (me == 0) {
			while (__atomic_load_n(pair->word, __ATOMIC_ACQUIRE))
				;
			pair->ns[sample] = (sample_now_ns() - start) / (2.0 * ROUNDS);
			pair->taken = sample + 1;
			if (pair->deadline > 0 && sample_now_ns() >= pair->deadline) {
				__atomic_store_n(pair->word, STOP, __ATOMIC_RELEASE);
				return NULL;
			}
		}
	}
	return NULL;
}

static int run_pair(struct pair *pair)
{
	struct side side[2] = { { pair, 0 }, { pair, 1 } };
	pthread_t thread;
	cpu_set_t *before;
	size_t size = CPU_ALLOC_SIZE(CPU_SETSIZE * 8);
	int ret;

	/* The caller is the first side; save its affinity, to restore it. */
	before = CPU_ALLOC(CPU_SETSIZE * 8);
	if (!before)
		return ENOMEM;
	ret = sched_getaffinity(0, size, before) ? errno : 0;
	if (!ret)
		ret = pthread_create(&thread, NULL, run_side, &side[1]);
	if (!ret) {
		run_side(&side[0]);
		pthread_join(thread, NULL);
		ret = pair->failed[0] ? pair->failed[0] : pair->failed[1];
		if (sched_setaffinity(0, size, before) && !ret)
			ret = errno;
	}
	CPU_FREE(before);
	return ret;
}

int measure_pair(u32 a, u32 b, u32 home, u32 samples, double deadline, double *ns)
{
	struct pair pair = {
		.cpu = { a, b }, .home = home, .samples = samples, .deadline = deadline
	};
	void *page =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret = ENOMEM;

	if (page == MAP_FAILED)
		return errno;
	pair.word = page;
	pair.ns = calloc(samples, sizeof(*pair.ns));
	if (pair.ns) {
		ret = pthread_barrier_init(&pair.ready, NULL, 2);
		if (!ret) {
			ret = run_pair(&pair);
			pthread_barrier_destroy(&pair.ready);
		}
	}
	if (!ret)
		*ns = measure_quartile(pair.ns, pair.taken);
	free(pair.ns);
	munmap(page, PAGE_BYTES);
	return ret;
}
