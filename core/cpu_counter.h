/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The counter of a line for each CPU, written with plain stores: for statistics, which are counted
 * often and read seldom. An add takes no lock and waits for no line, but for the first one of each
 * CPU. A read sums the lines of the CPUs that ever added. shard_counter.h is for counts of which
 * somebody asks often whether there are any.
 *
 * Concurrency: cpu_counter_alloc() and cpu_counter_free() exclude everything else. Adds for one CPU
 * exclude each other: a plain store undoes what another thread stored since the load. So an add is
 * for threads that are bound to a CPU of their own, or that have a CPU number of their own
 * (create.h). It is not for signal handlers. Other threads call cpu_counter_add_any(), which takes
 * a locked instruction. No CPU number has adds of both kinds at once. One cpu_counter_take() at a
 * time. All other calls may overlap. What was added for one CPU in all stays nearer to 0 than 2^61.
 *
 * A sum reads the lines one after the other. It holds all adds that are visible when it begins, and
 * some of those beside it. Beside cpu_counter_take() it has what that has taken. The caller makes
 * an add visible: it returns before other CPUs see it.
 *
 * Ordering: none. Context: any; alloc and free may sleep. CPU numbers are of possible CPUs of the
 * plan; no function checks them.
 */
#ifndef CPU_COUNTER_H
#define CPU_COUNTER_H

#include "port.h"
#include "shard_plan.h"

/* A CPU's line. */
struct cpu_counter_line {
	u64 count; /* all its adds, two's complement, times 4; plus CPU_COUNTER_... */
	u64 told;  /* @count without CPU_COUNTER_NOTED, of when the estimate had it; 0 before */
	u64 batch; /* how far the adds may go from those @told */
} port_cacheline_aligned;

/**
 * struct cpu_counter - a counter
 * @plan: the plan that it follows
 * @bytes: memory of this header with its table
 * @base: the sum at the last cpu_counter_take()
 * @noted: a bit for each CPU that ever added, by index; on lines of its own
 * @about: the estimate; on a line of its own, which an add writes once in @batch
 * @line: by CPU number; NULL: a hole
 */
struct cpu_counter {
	const struct shard_plan *plan;
	size_t bytes;
	u64 base;
	u64 *noted;
	u64 about __aligned(PORT_CACHELINE);
	struct cpu_counter_line *line[] __aligned(PORT_CACHELINE);
};

/*
 * A counter at 0. @batch: an estimate is wanted that misses less than @batch for each CPU; 0: none.
 * The plan outlives it. NULL: no memory. May sleep.
 */
struct cpu_counter *cpu_counter_alloc(const struct shard_plan *plan, u32 batch);

/* Free a counter, or NULL. May sleep. */
void cpu_counter_free(struct cpu_counter *c);

/* Brings what a CPU added into the estimate. Private to cpu_counter_add(). */
void cpu_counter_flush(struct cpu_counter *c, struct cpu_counter_line *line);

/* In a line's count. */
#define CPU_COUNTER_NOTED 1ull /* sums know of the CPU */
#define CPU_COUNTER_ABOUT 2ull /* there is an estimate */

/* Tells sums of a CPU that adds for the first time. Private to the two adds. */
void cpu_counter_note(struct cpu_counter *c, u32 cpu);

/*
 * Add @n, which may be negative, for the caller's own CPU number. Lines touched: the CPU's,
 * written; the estimate's once in @batch; at the CPU's first add that of the notes, written.
 */
static port_always_inline void cpu_counter_add(struct cpu_counter *c, u32 cpu, s64 n)
{
	struct cpu_counter_line *line = c->line[cpu];
	u64 was = READ_ONCE(line->count);

	if (unlikely(!(was & CPU_COUNTER_NOTED))) {
		cpu_counter_note(c, cpu);
		was |= CPU_COUNTER_NOTED;
	}
	was += 4 * (u64)n;
	WRITE_ONCE(line->count, was);
	if (was & CPU_COUNTER_ABOUT) {
		s64 pending = (s64)(was - READ_ONCE(line->told)) >> 2;

		if (unlikely((u64)(pending < 0 ? -pending : pending) >= line->batch))
			cpu_counter_flush(c, line);
	}
}

/* The same for a CPU number that several threads add for. The counter has no estimate. */
static port_always_inline void cpu_counter_add_any(struct cpu_counter *c, u32 cpu, s64 n)
{
	struct cpu_counter_line *line = c->line[cpu];

	/* Pairs with the release in cpu_counter_note(): else sums may not know of the CPU yet. */
	if (unlikely(!(smp_load_acquire(&line->count) & CPU_COUNTER_NOTED)))
		cpu_counter_note(c, cpu);
	port_add64(&line->count, 4 * (u64)n);
}

/*
 * The count since the last cpu_counter_take(). Lines touched: that of the notes (one for each 512
 * CPUs), and those of CPUs that ever added, read.
 */
s64 cpu_counter_sum(const struct cpu_counter *c);

/*
 * The count since the last call, and count from 0 again. No add is lost or counted twice: one
 * beside the call is in this result or in the next. Lines touched: as cpu_counter_sum().
 */
s64 cpu_counter_take(struct cpu_counter *c);

/*
 * An estimate of all adds ever; the counter has a @batch. It misses the sum of the adds that are
 * visible by less than @batch for each possible CPU. Line touched: the estimate's, read.
 */
static inline s64 cpu_counter_about(const struct cpu_counter *c)
{
	return (s64)READ_ONCE(c->about);
}

#endif /* CPU_COUNTER_H */
