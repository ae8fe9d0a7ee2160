// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making the plan of this machine, before sched_init().
 *
 * It never fails but for lack of memory. Firmware may contradict itself, in ways that
 * shard_plan_build() refuses: then the level that contradicts is dropped for all CPUs, and the
 * build is tried again. Each turn drops a level that was known to at least two CPUs, and an
 * unknown level cannot be contradictory, so that the loop ends, at the latest with nothing
 * known, which is one LLC for all.
 *
 * CPUs whose node is not known (possible, not present) must not make the nodes of all CPUs
 * unknown, as they do in a plan. They get the node of a CPU that shares their cache, else of one in
 * their package: if they ever come, they come there. A package of which no CPU's node is known gets
 * the first node; if that contradicts, packages are dropped as above, which costs nearness only.
 */
#define pr_fmt(fmt) "schedshard: " fmt

#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/nodemask.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/schedshard/machine.h>

const struct shard_plan *schedshard_plan __ro_after_init;
struct shard_plan_opts schedshard_opts __ro_after_init;
const char *schedshard_source __ro_after_init;

const char *__init __weak schedshard_arch_topology(struct shard_cpu *cpu)
{
	return NULL;
}

static void __init start_records(struct shard_cpu *rec)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		rec[cpu].possible = cpu_possible(cpu);
		rec[cpu].node = rec[cpu].possible ? cpu_to_node(cpu) : NUMA_NO_NODE;
		rec[cpu].package = -1;
		rec[cpu].llc = -1;
		rec[cpu].l2 = -1;
		rec[cpu].core = -1;
		rec[cpu].thread = 0;
	}
}

/* The node of a CPU in the same cache, else package, else the first one. */
static s32 __init node_of_neighbour(const struct shard_cpu *rec, unsigned int cpu)
{
	s32 node = NUMA_NO_NODE;
	unsigned int other;

	for_each_possible_cpu(other) {
		if (rec[other].node < 0)
			continue;
		if (rec[cpu].llc >= 0 && rec[other].llc == rec[cpu].llc)
			return rec[other].node;
		if (node < 0 && rec[cpu].package >= 0 && rec[other].package == rec[cpu].package)
			node = rec[other].node;
	}
	return node < 0 ? first_online_node : node;
}

static void __init complete_nodes(struct shard_cpu *rec)
{
	s32 last_llc = -1, last_package = -1, node = NUMA_NO_NODE;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		if (rec[cpu].node >= 0)
			continue;
		/* Neighbours have neighbouring numbers: do not look again for each of them. */
		if (node < 0 || rec[cpu].llc != last_llc || rec[cpu].package != last_package)
			node = node_of_neighbour(rec, cpu);
		last_llc = rec[cpu].llc;
		last_package = rec[cpu].package;
		rec[cpu].node = node;
	}
}

/* Forget the level that shard_plan_build() found contradictory. */
static const char *__init drop_level(struct shard_cpu *rec, enum shard_plan_err err)
{
	const char *what = "package";
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		switch (err) {
		case SHARD_PLAN_CORE_SPANS_LLCS:
			what = "core";
			rec[cpu].core = -1;
			break;
		case SHARD_PLAN_L2_SPANS_LLCS:
			what = "L2";
			rec[cpu].l2 = -1;
			break;
		case SHARD_PLAN_LLC_SPANS_PACKAGES:
			what = "LLC";
			rec[cpu].llc = -1;
			break;
		default: /* SHARD_PLAN_CYCLIC */
			rec[cpu].package = -1;
		}
	}
	return what;
}

static const char *__init level_words(enum shard_plan_level level, const char *llc_source)
{
	switch (level) {
	case SHARD_LEVEL_LLC:
		return llc_source;
	case SHARD_LEVEL_NODE:
		return "NUMA nodes";
	case SHARD_LEVEL_PACKAGE:
		return "packages";
	case SHARD_LEVEL_ALL:
		break;
	}
	return "nothing known";
}

void __init schedshard_init(void)
{
	struct shard_cpu *rec = kvcalloc(nr_cpu_ids, sizeof(*rec), GFP_KERNEL);
	struct shard_topo topo = { .nr_cpus = nr_cpu_ids, .cpu = rec };
	struct shard_plan *plan = NULL;
	enum shard_plan_err err = SHARD_PLAN_NO_MEMORY;
	const char *llc_source;
	u32 bad_cpu = 0;

	if (!rec)
		goto fail;
	start_records(rec);
	llc_source = schedshard_arch_topology(rec);
	complete_nodes(rec);
	schedshard_opts.bad_cpu = &bad_cpu;
	while ((err = shard_plan_build(&plan, &topo, &schedshard_opts))) {
		if (err != SHARD_PLAN_CORE_SPANS_LLCS && err != SHARD_PLAN_L2_SPANS_LLCS &&
		    err != SHARD_PLAN_LLC_SPANS_PACKAGES && err != SHARD_PLAN_CYCLIC)
			goto fail;
		pr_warn("CPU %u: %s: %s numbers are ignored\n", bad_cpu, shard_plan_strerror(err),
			drop_level(rec, err));
	}
	schedshard_opts.bad_cpu = NULL;
	schedshard_source = level_words(plan->level, llc_source);
	schedshard_plan = plan;
	kvfree(rec);
	return;
fail:
	panic("schedshard: no shard plan: %s\n", shard_plan_strerror(err));
}
