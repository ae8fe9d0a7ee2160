// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Measures what operations cost on one CPU.
 *
 * Why the loops measure the operation: each contains eight copies of it as assembly, which the
 * compiler may not merge or drop. So the loop itself costs less than a cycle per operation, and
 * runs in parallel with the copies. For a latency (cycle, load) each copy needs the result of the
 * previous one. A locked operation and a fence wait for the previous one by themselves.
 *
 * An addition of two registers takes one cycle on every core of the last twenty years. So its time
 * is the current length of a cycle. (An addition of a constant may take no time, because some cores
 * perform it while renaming.) Turbo may change the length during the run. So the program samples it
 * before and after each operation, and divides the operation's time by the mean of both samples.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "measure.h"

#define LOOPS	   20000
#define COPIES	   8
#define YIELDS	   2000
#define WALK_STEPS 200000

#if defined(__x86_64__)
#define LOCKED_OP(word) __asm__ volatile("lock; orq $1, %0" : "+m"(*(word)) : : "cc")
/* as in the kernel's smp_mb(): cheaper than MFENCE */
#define FENCE_OP()     __asm__ volatile("lock; addl $0, -4(%%rsp)" : : : "memory", "cc")
#define TIMESTAMP_OP() __asm__ volatile("rdtsc" : : : "rax", "rdx")
#elif defined(__aarch64__)
#define LOCKED_OP(word) __atomic_fetch_or((word), 1, __ATOMIC_SEQ_CST)
#define FENCE_OP()	__asm__ volatile("dmb ish" : : : "memory")
#define TIMESTAMP_OP()                                                   \
	do {                                                             \
		u64 counter_;                                            \
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(counter_)); \
	} while (0)
#else
#define LOCKED_OP(word) __atomic_fetch_or((word), 1, __ATOMIC_SEQ_CST)
#define FENCE_OP()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define TIMESTAMP_OP()	sample_now_ns()
#endif

#define EIGHT(op)   \
	do {        \
		op; \
		op; \
		op; \
		op; \
		op; \
		op; \
		op; \
		op; \
	} while (0)

struct line {
	u64 word;
	void *self;
} __attribute__((aligned(64)));

/* How many samples of an operation to take, and for how long: @share in ns, 0: no limit. */
struct pace {
	u32 samples;
	double share, begun;
};

static struct pace begin(const struct pace *pace)
{
	struct pace begun = *pace;

	begun.begun = sample_now_ns();
	return begun;
}

/* Take another sample? The first one is always taken. */
static bool more(const struct pace *pace, u32 taken)
{
	if (!taken)
		return true;
	return taken < pace->samples &&
	       (pace->share <= 0 || sample_now_ns() - pace->begun < pace->share);
}

double measure_quartile(double *value, u32 nr)
{
	sample_sort(value, nr);
	return value[nr / 4];
}

static void loop_cycle(struct line *line)
{
	u64 sum = line->word, step = 3;

	__asm__ volatile("" : "+r"(step));
	for (u32 i = 0; i < LOOPS; i++)
		EIGHT(sum += step; __asm__ volatile("" : "+r"(sum)));
}

static void loop_load(struct line *line)
{
	void *at = line;

	for (u32 i = 0; i < LOOPS; i++)
		EIGHT(at = *(void *volatile *)&((struct line *)at)->self);
	__asm__ volatile("" : : "r"(at));
}

static void loop_store(struct line *line)
{
	for (u32 i = 0; i < LOOPS; i++)
		EIGHT(*(volatile u64 *)&line->word = i);
}

static void loop_locked(struct line *line)
{
	for (u32 i = 0; i < LOOPS; i++)
		EIGHT(LOCKED_OP(&line->word));
}

static void loop_fence(struct line *line)
{
	for (u32 i = 0; i < LOOPS; i++)
		EIGHT(FENCE_OP());
}

static void loop_timestamp(struct line *line)
{
	for (u32 i = 0; i < LOOPS; i++)
		EIGHT(TIMESTAMP_OP());
}

static double ns_per_op(void (*loop)(struct line *line), struct line *line)
{
	double start = sample_now_ns();

	loop(line);
	return (sample_now_ns() - start) / ((double)LOOPS * COPIES);
}

/*
 * Measure every operation in nanoseconds at the clock rate at which @cycle was measured. Therefore
 * cost / cycle is a number of cycles even if the clock rate changed in between.
 */
static void in_core(struct measure_ops *ops, const struct pace *asked, double *value, double *cycle,
		    void (*step)(void))
{
	static struct line line;
	const struct {
		void (*loop)(struct line *line);
		double *ns;
	} entry[] = {
		{ loop_load, &ops->load_hit },	     { loop_store, &ops->store },
		{ loop_locked, &ops->locked },	     { loop_fence, &ops->fence },
		{ loop_timestamp, &ops->timestamp },
	};
	const u32 nr = sizeof(entry) / sizeof(entry[0]);
	u32 cycles = 0;

	line.self = &line;
	for (u32 i = 0; i < nr; i++) {
		struct pace pace = begin(asked);
		u32 sample;

		for (sample = 0; more(&pace, sample); sample++, cycles++) {
			double before = ns_per_op(loop_cycle, &line);
			double cost = ns_per_op(entry[i].loop, &line);
			double after = ns_per_op(loop_cycle, &line);

			/*
			 * The faster one: an interrupted clock loop would make the operation look
			 * cheap.
			 */
			cycle[cycles] = before < after ? before : after;
			value[sample] = cost / cycle[cycles];
		}
		*entry[i].ns = measure_quartile(value, sample);
		step();
	}
	ops->cycle = measure_quartile(cycle, cycles);
	for (u32 i = 0; i < nr; i++)
		*entry[i].ns *= ops->cycle;
	step();
}

static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Measure memory: a walk in random order through far more lines than the caches contain. */
static int in_memory(struct measure_ops *ops, const struct pace *asked, double *value)
{
	long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
	u64 size = l3 > 0 ? (u64)l3 * 4 : 0, state = 0x9e3779b97f4a7c15, nr;
	struct line *line, *at;
	struct pace pace;
	u32 sample;

	size = size < 64 << 20 ? 64 << 20 : size > 512 << 20 ? 512 << 20 : size;
	nr = size / sizeof(*line);
	line = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (line == MAP_FAILED)
		return errno;
	/* Without huge pages the walk would also measure the page tables. */
	madvise(line, size, MADV_HUGEPAGE);
	for (u64 i = 0; i < nr; i++)
		line[i].word = i;
	/* Sattolo's shuffle: one cycle through all lines */
	for (u64 i = nr - 1; i > 0; i--) {
		u64 other = next_random(&state) % i, word = line[i].word;

		line[i].word = line[other].word;
		line[other].word = word;
	}
	at = line;
	pace = begin(asked);
	for (sample = 0; more(&pace, sample); sample++) {
		double start = sample_now_ns();

		for (u32 i = 0; i < WALK_STEPS; i++)
			at = line + *(volatile u64 *)&at->word;
		value[sample] = (sample_now_ns() - start) / WALK_STEPS;
	}
	__asm__ volatile("" : : "r"(at));
	munmap(line, size);
	ops->memory = measure_quartile(value, sample);
	return 0;
}

struct yielder {
	u32 cpu;
	pthread_barrier_t ready;
	int failed;
	long switches;
};

/* Context switches of the calling thread so far. */
static long thread_switches(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		return 0;
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void *yield_side(void *arg)
{
	struct yielder *yielder = arg;
	long before;
	int failed = sample_pin(yielder->cpu);

	if (failed)
		__atomic_store_n(&yielder->failed, failed, __ATOMIC_RELAXED);
	pthread_barrier_wait(&yielder->ready);
	before = thread_switches();
	for (u32 i = 0; i < YIELDS; i++)
		sched_yield();
	__atomic_fetch_add(&yielder->switches, thread_switches() - before, __ATOMIC_RELAXED);
	return NULL;
}

/*
 * Two threads on one CPU yield to each other. A yield need not switch, so the code counts switches,
 * not yields; a few switches in thousands of yields are not enough for a measurement.
 */
static int yields(struct measure_ops *ops, u32 cpu, const struct pace *asked, double *value)
{
	struct pace pace = begin(asked);
	u32 good = 0;

	for (u32 sample = 0; more(&pace, sample); sample++) {
		struct yielder yielder = { .cpu = cpu };
		pthread_t thread;
		double start;
		int ret = pthread_barrier_init(&yielder.ready, NULL, 2);

		if (ret)
			return ret;
		ret = pthread_create(&thread, NULL, yield_side, &yielder);
		if (!ret) {
			start = sample_now_ns();
			yield_side(&yielder);
			pthread_join(thread, NULL);
			start = sample_now_ns() - start;
			ret = yielder.failed;
		}
		pthread_barrier_destroy(&yielder.ready);
		if (ret)
			return ret;
		if (yielder.switches >= YIELDS / 2)
			value[good++] = start / (double)yielder.switches;
	}
	ops->yield_switch = good ? measure_quartile(value, good) : 0;
	return 0;
}

int measure_ops(u32 cpu, u32 samples, double limit, struct measure_ops *ops, void (*step)(void))
{
	struct pace pace = { .samples = samples, .share = limit / MEASURE_OPS };
	double *value = calloc(samples, sizeof(*value));
	double *cycle = calloc(samples, MEASURE_OPS * sizeof(*cycle));
	int ret = ENOMEM;

	if (value && cycle)
		ret = sample_pin(cpu);
	if (!ret) {
		in_core(ops, &pace, value, cycle, step);
		ret = in_memory(ops, &pace, value);
		step();
	}
	if (!ret) {
		ret = yields(ops, cpu, &pace, value);
		step();
	}
	free(cycle);
	free(value);
	return ret;
}
