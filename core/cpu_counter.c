// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A line has one writer at a time, so that its count is the sum of its adds. Nobody resets a line:
 * a store of 0 beside an add would lose it. cpu_counter_take() moves @base instead. What it returns
 * is the difference of two sums, and each add is in all sums from some sum on. So each add is in
 * one difference.
 *
 * The estimate: @about has all adds but those in @pending. A CPU's @pending is less than @batch
 * away from 0 after each of its adds.
 */
#include "cpu_counter.h"

static struct cpu_counter_line **first_line(const struct cpu_counter *c, u32 shard)
{
	return (struct cpu_counter_line **)&c->line[c->plan->shard_cpus[shard][0]];
}

static size_t shard_bytes(const struct shard_plan *plan, u32 shard)
{
	return plan->shard[shard].nr_cpus * sizeof(struct cpu_counter_line);
}

void cpu_counter_free(struct cpu_counter *c)
{
	if (!c)
		return;
	for (u32 shard = 0; shard < c->plan->nr_shards; shard++)
		port_free(*first_line(c, shard), shard_bytes(c->plan, shard));
	port_free(c, c->bytes);
}

struct cpu_counter *cpu_counter_alloc(const struct shard_plan *plan, u32 batch)
{
	size_t bytes = sizeof(struct cpu_counter) + plan->nr_cpus * sizeof(void *);
	struct cpu_counter *c = (struct cpu_counter *)port_alloc(bytes, -1);

	if (!c)
		return NULL;
	c->plan = plan;
	c->bytes = bytes;
	c->batch = batch;
	for (u32 shard = 0; shard < plan->nr_shards; shard++) {
		const struct shard *s = &plan->shard[shard];
		struct cpu_counter_line *line =
			(struct cpu_counter_line *)port_alloc(shard_bytes(plan, shard), s->node);

		if (!line) {
			cpu_counter_free(c);
			return NULL;
		}
		for (u32 pos = 0; pos < s->nr_cpus; pos++)
			c->line[plan->shard_cpus[shard][pos]] = line + pos;
	}
	return c;
}

void cpu_counter_flush(struct cpu_counter *c, struct cpu_counter_line *line)
{
	port_add64(&c->about, READ_ONCE(line->pending));
	WRITE_ONCE(line->pending, 0);
}

static u64 sum_all(const struct cpu_counter *c)
{
	const struct shard_plan *plan = c->plan;
	u64 sum = 0;

	for (u32 idx = 0; idx < plan->nr_possible; idx++)
		sum += READ_ONCE(c->line[plan->idx_to_cpu[idx]]->count);
	return sum;
}

s64 cpu_counter_sum(const struct cpu_counter *c)
{
	u64 base = READ_ONCE(c->base);

	return (s64)(sum_all(c) - base);
}

s64 cpu_counter_take(struct cpu_counter *c)
{
	u64 sum = sum_all(c), base = READ_ONCE(c->base);

	WRITE_ONCE(c->base, sum);
	return (s64)(sum - base);
}
