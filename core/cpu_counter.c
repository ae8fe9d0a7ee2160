// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A line has one writer at a time, so its count is the sum of its adds. Nothing resets a line: a
 * store of 0 that races with an add would lose the add. cpu_counter_take() moves @base instead, and
 * returns the difference of two sums. Once a sum contains an add, all later sums contain it. So
 * each add is in exactly one difference.
 *
 * A sum reads only the lines of CPUs whose bit in @noted is set (the CPU's note). The note is set
 * in the CPU's first add, and stays set. A sum contains each add that happened before it, because
 * the note happened before it as well:
 *
 *   - The adding thread set the note itself, before the add returned.
 *   - Another thread set it. cpu_counter_add_any() then read, with acquire, a flag that says so
 *     (the lowest bit of the CPU's count). The other thread had set the flag, with release, after
 *     the note, so the note happened before the add returned.
 *   - Another thread set it, and cpu_counter_add() read the flag. The caller serialises such an add
 *     with all other adds for the CPU, and so orders the two threads.
 *
 * A sum may see an add's note without its count, or miss both while the add runs. A later sum never
 * misses what an earlier one contains, because no bit of @noted is ever cleared. The flag is part
 * of the count, so that an add needs no extra load for it. A second flag in the count says whether
 * there is an estimate, so an add without an estimate reads only the CPU's pointer and its line.
 * "The count is not 0" could not replace the first flag: a CPU back at 0 would be noted again.
 *
 * The estimate: @about is the sum of @flushed over all CPUs. After each add of a CPU, its @flushed
 * differs from its count by less than @batch. An add reads @flushed and seldom writes it.
 */
#include "cpu_counter.h"
#include "shard_lines.h"

static struct cpu_counter_line **first_line(const struct cpu_counter *c, u32 shard)
{
	return (struct cpu_counter_line **)&c->line[c->plan->shard_cpus[shard][0]];
}

static u32 noted_words(const struct shard_plan *plan)
{
	return (plan->nr_possible + 63) / 64;
}

/* The header with its table, to the end of a line: the notes follow. */
static size_t header_bytes(const struct shard_plan *plan)
{
	return shard_whole_lines(sizeof(struct cpu_counter) + plan->nr_cpus * sizeof(void *));
}

static size_t shard_bytes(const struct shard_plan *plan, u32 shard)
{
	return plan->shard[shard].nr_cpus * sizeof(struct cpu_counter_line);
}

void cpu_counter_destroy(struct cpu_counter *c)
{
	if (!c)
		return;
	for (u32 shard = 0; shard < c->plan->nr_shards; shard++)
		port_free(*first_line(c, shard), shard_bytes(c->plan, shard));
	port_free(c, c->bytes);
}

struct cpu_counter *cpu_counter_alloc(const struct shard_plan *plan, u32 batch)
{
	size_t table = header_bytes(plan), bytes = table + noted_words(plan) * sizeof(u64);
	struct cpu_counter *c = (struct cpu_counter *)port_alloc(bytes, -1);

	if (!c)
		return NULL;
	c->plan = plan;
	c->bytes = bytes;
	c->noted = (u64 *)((char *)c + table);
	for (u32 shard = 0; shard < plan->nr_shards; shard++) {
		const struct shard *s = &plan->shard[shard];
		struct cpu_counter_line *line =
			(struct cpu_counter_line *)port_alloc(shard_bytes(plan, shard), s->node);

		if (!line) {
			cpu_counter_destroy(c);
			return NULL;
		}
		for (u32 pos = 0; pos < s->nr_cpus; pos++, line++) {
			line->count = batch ? CPU_COUNTER_ABOUT : 0;
			line->batch = batch;
			c->line[plan->shard_cpus[shard][pos]] = line;
		}
	}
	return c;
}

void cpu_counter_flush(struct cpu_counter *c, struct cpu_counter_line *line)
{
	u64 flushed = READ_ONCE(line->flushed), count = READ_ONCE(line->count) & ~CPU_COUNTER_NOTED;

	port_add64(&c->about, (u64)((s64)(count - flushed) >> 2));
	WRITE_ONCE(line->flushed, count);
}

void cpu_counter_note(struct cpu_counter *c, u32 cpu)
{
	u32 idx = c->plan->slot[cpu].idx;

	port_or64(&c->noted[idx / 64], 1ull << idx % 64);
	/* Pairs with cpu_counter_add_any(): a thread that sees the flag need not set the bit. */
	port_or64_release(&c->line[cpu]->count, CPU_COUNTER_NOTED);
}

static u64 sum_all(const struct cpu_counter *c)
{
	const u32 *cpu = c->plan->idx_to_cpu;
	u64 sum = 0;

	/* By index: CPUs that share a cache come one after the other. */
	for (u32 i = 0; i < noted_words(c->plan); i++, cpu += 64)
		for (u64 word = READ_ONCE(c->noted[i]); word; word &= word - 1)
			sum += (u64)((s64)READ_ONCE(c->line[cpu[port_ctz64(word)]]->count) >> 2);
	return sum;
}

s64 cpu_counter_sum(const struct cpu_counter *c)
{
	/* Pairs with cpu_counter_take(): the sum contains at least what was taken. */
	u64 base = smp_load_acquire(&c->base);

	return (s64)(sum_all(c) - base);
}

s64 cpu_counter_take(struct cpu_counter *c)
{
	u64 sum = sum_all(c), base = READ_ONCE(c->base);

	/*
	 * Pairs with cpu_counter_sum(): a CPU that sees this base sees the counts that are in it.
	 */
	smp_store_release(&c->base, sum);
	return (s64)(sum - base);
}
