// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The plain functions. Their types are other names of the library's structures, which no caller
 * sees inside.
 */
#include <errno.h>
#include "plain.h"
#include "claim_wait.h"
#include "create.h"

/* This machine's plan; NULL with errno. */
static const struct shard_plan *plan_here(void)
{
	const struct shard_plan *plan = NULL;
	int ret = shard_plan_here(&plan, NULL);

	if (ret)
		errno = -ret;
	return plan;
}

uint32_t schedshard_this_cpu(void)
{
	return plan_here() ? shard_this_cpu() : 0;
}

bool schedshard_has_cpu(uint32_t cpu)
{
	const struct shard_plan *plan = plan_here();

	return plan && shard_plan_has_cpu(plan, cpu);
}

uint32_t schedshard_nr_cpus(void)
{
	const struct shard_plan *plan = plan_here();

	return plan ? plan->nr_cpus : 0;
}

uint32_t schedshard_nr_allowed(void)
{
	const struct shard_plan *plan = plan_here();

	return plan ? shard_nr_allowed(plan) : 0;
}

struct schedshard_set *schedshard_set_create(uint32_t cap, bool summary)
{
	const struct shard_create_opts opts = { .cap = cap, .summary = summary };

	return (struct schedshard_set *)sbm_create_opts(&opts);
}

struct schedshard_waiters *schedshard_waiters_create(void)
{
	const struct shard_plan *plan = NULL;
	int ret = shard_plan_here_cap(SHARD_CAP_LOCKED, &plan, NULL);
	struct shard_wait *w = ret ? NULL : shard_wait_alloc(plan);

	if (!w)
		errno = ret ? -ret : ENOMEM;
	return (struct schedshard_waiters *)w;
}

void schedshard_set_destroy(struct schedshard_set *set)
{
	sbm_destroy((struct sbm *)set);
}

void schedshard_set_add(struct schedshard_set *set, uint32_t cpu)
{
	sbm_set((struct sbm *)set, cpu);
}

void schedshard_set_remove(struct schedshard_set *set, uint32_t cpu)
{
	sbm_clear((struct sbm *)set, cpu);
}

bool schedshard_set_has(const struct schedshard_set *set, uint32_t cpu)
{
	return sbm_test((const struct sbm *)set, cpu);
}

uint32_t schedshard_set_count(const struct schedshard_set *set)
{
	return sbm_weight((const struct sbm *)set);
}

int64_t schedshard_set_first(const struct schedshard_set *set)
{
	return sbm_first_cpu((const struct sbm *)set);
}

int64_t schedshard_set_next(const struct schedshard_set *set, uint32_t cpu)
{
	return sbm_next_cpu((const struct sbm *)set, cpu);
}

int64_t schedshard_set_near(const struct schedshard_set *set, uint32_t cpu)
{
	return sbm_near_cpu((const struct sbm *)set, NULL, cpu);
}

int64_t schedshard_set_claim(struct schedshard_set *set, uint32_t cpu)
{
	return sbm_claim_near((struct sbm *)set, cpu);
}

uint32_t schedshard_set_claim_n(struct schedshard_set *set, uint32_t cpu, uint32_t n,
				uint32_t *cpus)
{
	return sbm_claim_n((struct sbm *)set, cpu, n, cpus);
}

void schedshard_set_put(struct schedshard_set *set, uint32_t cpu)
{
	sbm_put((struct sbm *)set, cpu);
}

struct schedshard_bytes *schedshard_bytes_create(uint8_t value)
{
	return (struct schedshard_bytes *)bytemap_create(value);
}

void schedshard_bytes_destroy(struct schedshard_bytes *map)
{
	bytemap_destroy((struct bytemap *)map);
}

void schedshard_bytes_store(struct schedshard_bytes *map, uint32_t cpu, uint8_t value)
{
	bytemap_set((struct bytemap *)map, cpu, value);
}

uint8_t schedshard_bytes_load(const struct schedshard_bytes *map, uint32_t cpu)
{
	return bytemap_get((const struct bytemap *)map, cpu);
}

struct schedshard_counter *schedshard_counter_create(uint32_t batch)
{
	return (struct schedshard_counter *)cpu_counter_create(batch);
}

void schedshard_counter_destroy(struct schedshard_counter *c)
{
	cpu_counter_destroy((struct cpu_counter *)c);
}

void schedshard_counter_add(struct schedshard_counter *c, uint32_t cpu, int64_t n)
{
	cpu_counter_add((struct cpu_counter *)c, cpu, n);
}

void schedshard_counter_add_any(struct schedshard_counter *c, uint32_t cpu, int64_t n)
{
	cpu_counter_add_any((struct cpu_counter *)c, cpu, n);
}

int64_t schedshard_counter_sum(const struct schedshard_counter *c)
{
	return cpu_counter_sum((const struct cpu_counter *)c);
}

int64_t schedshard_counter_take(struct schedshard_counter *c)
{
	return cpu_counter_take((struct cpu_counter *)c);
}

int64_t schedshard_counter_about(const struct schedshard_counter *c)
{
	return cpu_counter_about((const struct cpu_counter *)c);
}

struct schedshard_slots *schedshard_slots_create(uint32_t nr)
{
	return (struct schedshard_slots *)slot_set_create(nr);
}

void schedshard_slots_destroy(struct schedshard_slots *s)
{
	slot_set_destroy((struct slot_set *)s);
}

bool schedshard_slots_grow(struct schedshard_slots *s, uint32_t nr)
{
	return slot_set_grow((struct slot_set *)s, nr);
}

uint32_t schedshard_slots_nr_free(const struct schedshard_slots *s)
{
	return slot_set_nr_free((const struct slot_set *)s);
}

int64_t schedshard_slots_claim(struct schedshard_slots *s, uint32_t cpu)
{
	return slot_claim_near((struct slot_set *)s, cpu);
}

void schedshard_slots_put(struct schedshard_slots *s, uint32_t slot)
{
	slot_put((struct slot_set *)s, slot);
}

void schedshard_waiters_destroy(struct schedshard_waiters *w)
{
	shard_wait_free((struct shard_wait *)w);
}

int64_t schedshard_set_claim_wait(struct schedshard_set *set, struct schedshard_waiters *w,
				  uint32_t cpu, int64_t timeout_ns)
{
	return sbm_claim_wait((struct sbm *)set, (struct shard_wait *)w, cpu, timeout_ns);
}

void schedshard_set_put_wake(struct schedshard_set *set, struct schedshard_waiters *w, uint32_t cpu)
{
	sbm_put_wake((struct sbm *)set, (struct shard_wait *)w, cpu);
}

int64_t schedshard_slots_claim_wait(struct schedshard_slots *s, struct schedshard_waiters *w,
				    uint32_t cpu, int64_t timeout_ns)
{
	return slot_claim_wait((struct slot_set *)s, (struct shard_wait *)w, cpu, timeout_ns);
}

void schedshard_slots_put_wake(struct schedshard_slots *s, struct schedshard_waiters *w,
			       uint32_t slot, uint32_t cpu)
{
	slot_put_wake((struct slot_set *)s, (struct shard_wait *)w, slot, cpu);
}
