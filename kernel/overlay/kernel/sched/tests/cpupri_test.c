// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the slots of CPUs, and the search for CPUs at the lowest level, against
 * a model that is too simple to be wrong.
 */
#include <kunit/test.h>
#include <linux/mmu_context.h>
#include <linux/prandom.h>
#include "../sched.h"

#define STEPS 2000
#define PRIOS (CPUPRI_HIGHER + 2) /* CPUPRI_INVALID to CPUPRI_HIGHER */

struct model {
	struct cpupri cp;
	struct task_struct *task;
	int *prio; /* by CPU */
	cpumask_var_t unfit;
	cpumask_var_t found;
	cpumask_var_t expected;
	struct rnd_state random;
};

static struct model m;

/* The level that a CPU with this priority is at; -1: none. */
static int level_of(int prio)
{
	if (prio == CPUPRI_INVALID || prio == CPUPRI_HIGHER)
		return prio;
	return MAX_RT_PRIO - 1 - prio;
}

static int below(int n)
{
	return prandom_u32_state(&m.random) % n;
}

static bool fits(struct task_struct *p, int cpu)
{
	return !cpumask_test_cpu(cpu, m.unfit);
}

/* If CPUs of the task's cache run no RT task, only they are expected. */
static void expect_near(void)
{
	struct sched_domain *sd;

	rcu_read_lock();
	sd = rcu_dereference_all(per_cpu(sd_llc, task_cpu(m.task)));
	if (sd && cpumask_intersects(m.expected, sched_domain_span(sd)))
		cpumask_and(m.expected, m.expected, sched_domain_span(sd));
	rcu_read_unlock();
}

/* Fill m.expected; return the level there, or -1. */
static int expect(bool fit)
{
	int limit = level_of(m.task->prio), best = limit, level, cpu;

	cpumask_clear(m.expected);
	for_each_cpu_and(cpu, &m.task->cpus_mask, cpu_active_mask) {
		level = level_of(m.prio[cpu]);
		if (level < 0 || level >= limit || level > best ||
		    (fit && !fits(m.task, cpu)))
			continue;
		if (level < best)
			cpumask_clear(m.expected);
		best = level;
		cpumask_set_cpu(cpu, m.expected);
	}
	if (best == limit && fit)
		return expect(false);
	if (best == CPUPRI_NORMAL)
		expect_near();
	return best < limit ? best : -1;
}

static void random_mask(struct cpumask *mask)
{
	int cpu, of = 1 + below(4);

	cpumask_clear(mask);
	for_each_possible_cpu(cpu)
		if (!below(of))
			cpumask_set_cpu(cpu, mask);
}

static int find(struct cpumask *lowest_mask,
		bool (*fitness_fn)(struct task_struct *p, int cpu))
{
	int found;

	rcu_read_lock();
	found = cpupri_find_fitness(&m.cp, m.task, lowest_mask, fitness_fn);
	rcu_read_unlock();
	return found;
}

static void a_search_finds_what_the_model_finds(struct kunit *test)
{
	int step, i, cpu, level;
	bool fit;

	for (step = 0; step < STEPS; step++) {
		for (i = 0; i < 4; i++) {
			cpu = cpumask_nth(below(num_possible_cpus()),
					  cpu_possible_mask);
			m.prio[cpu] =
				below(2) ? below(PRIOS) - 1 : CPUPRI_NORMAL;
			cpupri_set(&m.cp, cpu, m.prio[cpu]);
		}
		m.task->prio = below(MAX_RT_PRIO) - 1; /* -1: a deadline task */
		cpu = cpumask_nth(below(num_possible_cpus()),
				  cpu_possible_mask);
		task_thread_info(m.task)->cpu = cpu;
		random_mask(&m.task->cpus_mask);
		random_mask(m.unfit);
		fit = below(2);

		level = expect(fit);
		KUNIT_ASSERT_EQ(test, level + 1,
				find(m.found, fit ? fits : NULL));
		if (level >= 0)
			KUNIT_ASSERT_TRUE(test,
					  cpumask_equal(m.found, m.expected));
		level = expect(false);
		KUNIT_ASSERT_EQ(test, level >= 0, !!find(NULL, NULL));
	}
}

static void every_level_against_every_other(struct kunit *test)
{
	int cpu = cpumask_first(cpu_active_mask), stored, prio, other;

	for_each_possible_cpu(other)
		cpupri_set(&m.cp, other, CPUPRI_INVALID);
	cpumask_copy(&m.task->cpus_mask, cpu_possible_mask);
	for (stored = CPUPRI_INVALID; stored <= CPUPRI_HIGHER; stored++) {
		cpupri_set(&m.cp, cpu, stored);
		for (prio = -1; prio < MAX_RT_PRIO - 1; prio++) {
			bool lower = prio >= 0 && stored != CPUPRI_INVALID &&
				     stored != CPUPRI_HIGHER && stored > prio;

			m.task->prio = prio;
			KUNIT_ASSERT_EQ(test, lower, !!find(NULL, NULL));
		}
	}
}

static void each_cpu_has_a_slot_in_a_shard_of_its_node(struct kunit *test)
{
	int a, b;

	for_each_possible_cpu(a) {
		KUNIT_EXPECT_LT(test, cpu_slot[a], nr_cpu_slots);
		for_each_possible_cpu(b) {
			if (a == b)
				continue;
			KUNIT_EXPECT_NE(test, cpu_slot[a], cpu_slot[b]);
			if (cpus_share_shard(a, b) && cpu_online(a) &&
			    cpu_online(b))
				KUNIT_EXPECT_EQ(test, cpu_to_node(a),
						cpu_to_node(b));
		}
	}
	KUNIT_EXPECT_EQ(test, nr_cpu_slots % SHARD_SLOTS, 0);
	KUNIT_EXPECT_EQ(test, (unsigned long)m.cp.level % SHARD_SLOTS, 0);
}

static int cpupri_test_init(struct kunit *test)
{
	int cpu;

	m.task = kunit_kzalloc(test, sizeof(*m.task), GFP_KERNEL);
	m.prio = kunit_kcalloc(test, nr_cpu_ids, sizeof(*m.prio), GFP_KERNEL);
	if (!m.task || !m.prio || cpupri_init(&m.cp))
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		m.prio[cpu] = CPUPRI_INVALID;
	prandom_seed_state(&m.random, 20251125);
	if (!alloc_cpumask_var(&m.unfit, GFP_KERNEL) ||
	    !alloc_cpumask_var(&m.found, GFP_KERNEL) ||
	    !alloc_cpumask_var(&m.expected, GFP_KERNEL))
		return -ENOMEM;
	return 0;
}

static void cpupri_test_exit(struct kunit *test)
{
	free_cpumask_var(m.expected);
	free_cpumask_var(m.found);
	free_cpumask_var(m.unfit);
	cpupri_cleanup(&m.cp);
}

static struct kunit_case cpupri_test_cases[] = {
	KUNIT_CASE(a_search_finds_what_the_model_finds),
	KUNIT_CASE(every_level_against_every_other),
	KUNIT_CASE(each_cpu_has_a_slot_in_a_shard_of_its_node),
	{}
};

static struct kunit_suite cpupri_test_suite = {
	.name = "sched_cpupri",
	.init = cpupri_test_init,
	.exit = cpupri_test_exit,
	.test_cases = cpupri_test_cases,
};

kunit_test_suite(cpupri_test_suite);
