// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plan of the machine that the test runs on, and the memory of structures. The test compares
 * the plan with cpu_llc_shared_mask() and topology masks, for all pairs of online CPUs. The plan
 * has other sources.
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/nodemask.h>
#include <linux/smp.h>
#include <linux/topology.h>
#include <linux/schedshard/machine.h>
#include <linux/schedshard/sbm.h>

static const struct shard *shard_of(unsigned int cpu)
{
	return &schedshard_plan->shard[schedshard_plan->slot[cpu].shard];
}

static void plan_covers_possible_cpus(struct kunit *test)
{
	unsigned int cpu;

	KUNIT_ASSERT_EQ(test, schedshard_plan->nr_cpus, nr_cpu_ids);
	KUNIT_EXPECT_EQ(test, schedshard_plan->nr_possible, num_possible_cpus());
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		KUNIT_ASSERT_EQ_MSG(test, schedshard_plan->slot[cpu].possible, cpu_possible(cpu),
				    "CPU %u", cpu);
}

static void nodes_are_those_of_the_cpus(struct kunit *test)
{
	unsigned int cpu;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		KUNIT_EXPECT_EQ_MSG(test, shard_of(cpu)->node, cpu_to_node(cpu), "CPU %u", cpu);
	cpus_read_unlock();
}

static void siblings_share_a_shard(struct kunit *test)
{
	unsigned int a, b;

	cpus_read_lock();
	for_each_online_cpu(a) {
		if (cpumask_weight(topology_sibling_cpumask(a)) > SHARD_MAX_CAP)
			continue;
		for_each_cpu(b, topology_sibling_cpumask(a))
			KUNIT_EXPECT_PTR_EQ_MSG(test, shard_of(a), shard_of(b), "CPUs %u and %u", a,
						b);
	}
	cpus_read_unlock();
}

#if defined(CONFIG_X86) && defined(CONFIG_SMP)

static void llcs_are_those_of_the_scheduler(struct kunit *test)
{
	unsigned int a, b;

	cpus_read_lock();
	for_each_online_cpu(a) {
		for_each_online_cpu(b) {
			bool plan = shard_of(a)->llc == shard_of(b)->llc;
			bool real = cpumask_test_cpu(b, cpu_llc_shared_mask(a)) &&
				    cpu_to_node(a) == cpu_to_node(b);

			/* With a split the plan may cut one cache, but never join two. */
			if (!schedshard_plan->split_llc || plan)
				KUNIT_EXPECT_EQ_MSG(test, plan, real, "CPUs %u and %u", a, b);
		}
	}
	cpus_read_unlock();
}

static void packages_are_those_of_the_cpus(struct kunit *test)
{
	unsigned int a, b;

	cpus_read_lock();
	for_each_online_cpu(a)
		for_each_online_cpu(b)
			KUNIT_EXPECT_EQ_MSG(test, shard_of(a)->package == shard_of(b)->package,
					    topology_physical_package_id(a) ==
						    topology_physical_package_id(b),
					    "CPUs %u and %u", a, b);
	cpus_read_unlock();
}

#endif

static void check_block(struct kunit *test, size_t size, int node)
{
	u8 *block = port_alloc(size, node);

	KUNIT_ASSERT_NOT_NULL_MSG(test, block, "%zu bytes, node %d", size, node);
	KUNIT_EXPECT_EQ_MSG(test, (unsigned long)block % PORT_CACHELINE, 0, "%zu bytes, node %d",
			    size, node);
	KUNIT_EXPECT_NULL_MSG(test, memchr_inv(block, 0, size), "%zu bytes, node %d", size, node);
	memset(block, 0xa5, size);
	port_free(block, size);
}

static void memory_is_aligned_and_zeroed(struct kunit *test)
{
	static const int nodes[] = { -1, 0, 1, MAX_NUMNODES - 1, MAX_NUMNODES, INT_MAX };
	size_t size, i;

	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		for (size = 1; size < 5 * PAGE_SIZE; size += size / 3 + 1)
			check_block(test, size, nodes[i]);
	check_block(test, 9 * 1024 * 1024 + 1, -1); /* more than kmalloc() gives */
	port_free(NULL, 1);
}

/* A set with shards of all nodes, as the scheduler makes it. */
static void a_set_of_this_machine_holds_every_cpu(struct kunit *test)
{
	struct sbm *set = sbm_alloc(schedshard_plan, SBM_SUMMARY);
	u32 cpu, n = 0;

	KUNIT_ASSERT_NOT_NULL(test, set);
	for_each_possible_cpu(cpu)
		sbm_set(set, cpu);
	sbm_for_each_cpu_and(cpu, it, set, cpumask_bits(cpu_possible_mask)) {
		KUNIT_EXPECT_TRUE(test, cpu_possible(cpu));
		n++;
	}
	KUNIT_EXPECT_EQ(test, n, num_possible_cpus());
	for_each_possible_cpu(cpu)
		sbm_clear(set, cpu);
	KUNIT_EXPECT_TRUE(test, sbm_empty(set));
	sbm_free(set);
}

static struct kunit_case machine_test_cases[] = { KUNIT_CASE(plan_covers_possible_cpus),
						  KUNIT_CASE(nodes_are_those_of_the_cpus),
						  KUNIT_CASE(siblings_share_a_shard),
#if defined(CONFIG_X86) && defined(CONFIG_SMP)
						  KUNIT_CASE(llcs_are_those_of_the_scheduler),
						  KUNIT_CASE(packages_are_those_of_the_cpus),
#endif
						  KUNIT_CASE(memory_is_aligned_and_zeroed),
						  KUNIT_CASE(a_set_of_this_machine_holds_every_cpu),
						  {} };

static struct kunit_suite machine_test_suite = {
	.name = "schedshard_machine_test",
	.test_cases = machine_test_cases,
};

kunit_test_suite(machine_test_suite);
