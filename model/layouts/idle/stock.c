// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One cpumask for the machine, as in Linux. Linux 6.12 also counts the CPUs of the mask, on the
 * line of the flags. Linux 7.0 has no counter (commit 5d86d542f68f), and reads the mask instead.
 *
 * The counter changes after the mask when a CPU enters, so for a moment it may be too low. A tick
 * that reads 0 misses a CPU that is just entering; the next tick finds it. The counter includes
 * every CPU that entered before the tick began.
 *
 * The choice of a balancer and the walk follow CPU numbers. The first CPU of the mask is the
 * balancer; the walk begins after it and ends with it.
 */
#include "idle_set.h"

#include "report_types.h"

struct stock {
	struct idle_set set;
	u32 nr_cpus;
	size_t mask_bytes;
};

static const struct stock *stock_of(const struct idle_set *s)
{
	return (const struct stock *)s;
}

static void stock_destroy(struct idle_set *s)
{
	if (s)
		port_free(s->nohz->idle_cpus_mask, stock_of(s)->mask_bytes);
	idle_free(s, sizeof(struct stock));
}

static struct idle_set *stock_create(const struct shard_topo *topo, const struct shard_plan *plan)
{
	struct idle_set *s = idle_alloc(sizeof(struct stock));

	if (!s)
		return NULL;
	((struct stock *)s)->nr_cpus = topo->nr_cpus;
	((struct stock *)s)->mask_bytes = (topo->nr_cpus + 63) / 64 * sizeof(unsigned long);
	rd_label("idle_cpus_mask", "struct rd_mask_line");
	s->nohz->idle_cpus_mask = port_alloc(stock_of(s)->mask_bytes, 0);
	if (s->nohz->idle_cpus_mask)
		return s;
	stock_destroy(s);
	return NULL;
}

static unsigned long *mask_of(const struct idle_set *s)
{
	return READ_ONCE(s->nohz->idle_cpus_mask);
}

static void stock_set(struct idle_set *s, u32 cpu)
{
	port_or64((u64 *)&mask_of(s)[cpu / 64], 1ull << cpu % 64);
}

static void stock_clear(struct idle_set *s, u32 cpu)
{
	port_and64((u64 *)&mask_of(s)[cpu / 64], ~(1ull << cpu % 64));
}

static void stock_enter(struct idle_set *s, u32 cpu)
{
	stock_set(s, cpu);
	__atomic_fetch_add(&s->nohz->nr_cpus, 1, __ATOMIC_RELAXED);
	idle_raise_flags(s->nohz);
}

static void stock_exit(struct idle_set *s, u32 cpu)
{
	stock_clear(s, cpu);
	__atomic_fetch_sub(&s->nohz->nr_cpus, 1, __ATOMIC_RELAXED);
}

static bool stock_any(const struct idle_set *s, u32 this_cpu)
{
	return READ_ONCE(s->nohz->nr_cpus);
}

static void no_count_enter(struct idle_set *s, u32 cpu)
{
	stock_set(s, cpu);
	idle_raise_flags(s->nohz);
}

/* Variant "flags": a flag that is already set is not written again. */
static void flags_enter(struct idle_set *s, u32 cpu)
{
	stock_set(s, cpu);
	/* Pairs with the balancer's smp_mb() between clearing a flag and its walk. */
	smp_mb__after_atomic();
	idle_raise_if_down(&s->nohz->needs_update);
	idle_raise_if_down(&s->nohz->has_blocked);
}

static bool no_count_any(const struct idle_set *s, u32 this_cpu)
{
	return idle_mask_next(mask_of(s), 0, stock_of(s)->nr_cpus) >= 0;
}

static bool stock_test(const struct idle_set *s, u32 cpu)
{
	return READ_ONCE(mask_of(s)[cpu / 64]) >> cpu % 64 & 1;
}

static s64 stock_pick(const struct idle_set *s, u32 this_cpu, s64 after)
{
	return idle_mask_next(mask_of(s), (u32)(after + 1), stock_of(s)->nr_cpus);
}

static s64 stock_walk(const struct idle_set *s, u32 this_cpu, s64 after)
{
	u32 nr = stock_of(s)->nr_cpus;
	bool round = after >= 0 && after <= (s64)this_cpu;
	s64 next = -1;

	if (!round)
		next = idle_mask_next(mask_of(s), (after < 0 ? this_cpu : (u32)after) + 1, nr);
	if (next < 0)
		next = idle_mask_next(mask_of(s), round ? (u32)after + 1 : 0, this_cpu + 1);
	return next;
}

static size_t stock_bytes(const struct idle_set *s)
{
	return stock_of(s)->mask_bytes;
}

const struct idle_ops idle_stock = {
	.name = "stock",
	.create = stock_create,
	.destroy = stock_destroy,
	.enter = stock_enter,
	.stay = idle_stay,
	.exit = stock_exit,
	.any = stock_any,
	.test = stock_test,
	.pick = stock_pick,
	.walk = stock_walk,
	.bytes = stock_bytes,
};

#define NO_COUNT                                                                                   \
	.time_first = true, .create = stock_create, .destroy = stock_destroy, .exit = stock_clear, \
	.any = no_count_any, .test = stock_test, .pick = stock_pick, .walk = stock_walk,           \
	.bytes = stock_bytes

const struct idle_ops idle_no_count = {
	.name = "no-count",
	.enter = no_count_enter,
	.stay = idle_stay,
	NO_COUNT,
};

const struct idle_ops idle_linux73 = {
	.name = "linux-7.3",
	.whole_core = true,
	.enter = no_count_enter,
	.stay = idle_stay,
	NO_COUNT,
};

const struct idle_ops idle_flags = {
	.name = "flags",
	.enter = flags_enter,
	.stay = idle_stay_if_down,
	NO_COUNT,
};
