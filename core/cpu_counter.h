/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A counter with one cache line per CPU, written with plain stores. It is for statistics, which
 * change often and are read seldom. Except for the first add of each CPU, an add neither takes a
 * lock nor waits for a line. A read sums the lines of the CPUs that ever added. shard_counter.h is
 * for counts that are often compared with 0.
 *
 * Concurrency: cpu_counter_alloc() and cpu_counter_destroy() exclude everything else. The caller
 * serialises cpu_counter_add() for one CPU number, because a plain store undoes what another thread
 * stored between this add's load and store. So cpu_counter_add() is for threads that each have a
 * CPU, or a CPU number, for themselves (create.h), and not for signal handlers. Other threads call
 * cpu_counter_add_any(), which uses a locked instruction. Adds of both kinds for one CPU number
 * exclude each other. Only one cpu_counter_take() may run at a time. All other calls may overlap.
 * The sum of all adds for one CPU must stay nearer to 0 than 2^61.
 *
 * A sum reads the lines one after the other. It contains all adds that are visible when it begins,
 * and some of the concurrent ones. A sum that runs beside cpu_counter_take() contains at least what
 * was taken. An add may return before others see it; if that matters, the caller makes it visible.
 *
 * Ordering: none. Context: any; alloc and free may sleep. CPU numbers must be those of possible
 * CPUs of the plan; no function checks them.
 */
#ifndef CPU_COUNTER_H
#define CPU_COUNTER_H

#include "port.h"
#include "shard_plan.h"

/* The line of one CPU. */
struct cpu_counter_line {
	u64 count;   /* the sum of its adds, two's complement, times 4; plus CPU_COUNTER_... */
	u64 flushed; /* @count at its last flush to the estimate, without CPU_COUNTER_NOTED */
	u64 batch;   /* how far @count may differ from @flushed, in the same unit */
} port_cacheline_aligned;

/**
 * struct cpu_counter - a counter
 * @plan: the plan that the counter follows
 * @bytes: bytes of memory of this structure and its table
 * @base: the sum at the last cpu_counter_take()
 * @noted: by a CPU's index in the plan: has the CPU ever added? On separate lines
 * @about: the estimate; on a separate line, which a CPU writes once per @batch that it adds
 * @line: by CPU number: the CPU's line, or NULL for a number without a CPU
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
 * Make a counter that starts at 0. cpu_counter_about() errs by less than @batch per CPU; with
 * @batch 0 it must not be called. The plan must outlive the counter. NULL without memory. May
 * sleep.
 */
struct cpu_counter *cpu_counter_alloc(const struct shard_plan *plan, u32 batch);

/* Free a counter, or NULL. May sleep. */
void cpu_counter_destroy(struct cpu_counter *c);

/* Add a CPU's recent adds to the estimate. Private to cpu_counter_add(). */
void cpu_counter_flush(struct cpu_counter *c, struct cpu_counter_line *line);

/* Flags in a line's count. */
#define CPU_COUNTER_NOTED 1ull /* the CPU's bit in @noted is set */
#define CPU_COUNTER_ABOUT 2ull /* there is an estimate */

/* Set the bit in @noted of a CPU that adds for the first time. Private to the adds below. */
void cpu_counter_note(struct cpu_counter *c, u32 cpu);

/*
 * Add @n, which may be negative, for the caller's own CPU number. Lines written: the CPU's; the
 * estimate's, once per @batch; that of @noted, at the CPU's first add.
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
		s64 pending = (s64)(was - READ_ONCE(line->flushed)) >> 2;

		if (unlikely((u64)(pending < 0 ? -pending : pending) >= line->batch))
			cpu_counter_flush(c, line);
	}
}

/* cpu_counter_add() for a CPU number that several threads use; the counter has no estimate. */
static port_always_inline void cpu_counter_add_any(struct cpu_counter *c, u32 cpu, s64 n)
{
	/*
	 * No load precedes this add, because a load would fetch the line shared. The acquire pairs
	 * with the release in cpu_counter_note(): else a sum after the add may miss the note.
	 */
	u64 was = port_fetch_add64_acquire(&c->line[cpu]->count, 4 * (u64)n);

	if (unlikely(!(was & CPU_COUNTER_NOTED)))
		cpu_counter_note(c, cpu);
}

/*
 * The count since the last cpu_counter_take(). Lines touched: those of @noted (one per 512 CPUs)
 * and those of CPUs that ever added, all read.
 */
s64 cpu_counter_sum(const struct cpu_counter *c);

/*
 * Return the count since the last call, and start again from 0. No add is lost or counted twice: a
 * concurrent add is in this result or in the next. Lines touched: as cpu_counter_sum(), and that of
 * @base, written.
 */
s64 cpu_counter_take(struct cpu_counter *c);

/*
 * An estimate of the sum of all adds ever, for a counter with a @batch. It differs from the sum of
 * the visible adds by less than @batch per possible CPU. Line touched: the estimate's, read.
 */
static inline s64 cpu_counter_about(const struct cpu_counter *c)
{
	return (s64)READ_ONCE(c->about);
}

#endif /* CPU_COUNTER_H */
