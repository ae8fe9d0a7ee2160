// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Two fixed machines instead of this host, so that every host measures the same code paths. The
 * host may have only two CPUs: the CPU numbers in the structures are not those of the host.
 *
 * one-shard-64 is one cache of 32 cores with two threads each: all CPUs in one shard, where a
 * sharded structure has costs and no advantage. epyc-256 is 2 sockets x 8 caches x 8 cores x 2
 * threads: 16 shards. Both number all first threads before the second threads, as most x86 machines
 * do.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "create.h"
#include "topology.h"

#define NR_PLANS 2 /* with a machine file only one */

struct shape {
	const char *name;
	u32 packages;
	u32 llcs;    /* per package */
	u32 cores;   /* per LLC */
	u32 threads; /* per core */
};

static const struct shape shapes[NR_PLANS] = {
	{ "one-shard-64", 1, 1, 32, 2 },
	{ "epyc-256", 2, 8, 8, 2 },
};

static struct bench_plan plans[NR_PLANS];
static bool of_machine;

static struct shard_plan *build(const struct shape *shape)
{
	u32 nr_cores = shape->packages * shape->llcs * shape->cores;
	struct shard_topo topo = { .nr_cpus = nr_cores * shape->threads };
	struct shard_cpu *cpu = calloc(topo.nr_cpus, sizeof(*cpu));
	struct shard_plan *plan = NULL;
	enum shard_plan_err err = SHARD_PLAN_NO_MEMORY;

	if (cpu) {
		for (u32 i = 0; i < topo.nr_cpus; i++) {
			s32 core = i % nr_cores;

			cpu[i] = (struct shard_cpu){
				.package = core / (shape->llcs * shape->cores),
				.node = core / (shape->llcs * shape->cores),
				.llc = core / shape->cores,
				.l2 = core,
				.core = core,
				.thread = i / nr_cores,
				.possible = true,
			};
		}
		topo.cpu = cpu;
		err = shard_plan_build(&plan, &topo, NULL);
	}
	if (err != SHARD_PLAN_OK)
		fprintf(stderr, "schedshard-bench: plan %s: %s\n", shape->name,
			shard_plan_strerror(err));
	free(cpu);
	return plan;
}

int bench_plans_of_machine(const char *path)
{
	const struct shard_plan_opts usual = { .cap = SHARD_CAP_LOCKED };
	const struct shard_plan_opts pools = { .cap = SHARD_CAP_POOL, .cores = true };
	struct shard_topo *topo;
	enum shard_plan_err plan_err;
	struct shard_err err;

	if (shard_topo_from_machine(&topo, path, &err)) {
		fprintf(stderr, "schedshard-bench: %s\n", err.text);
		return 2;
	}
	of_machine = true;
	plans[0].name = "machine";
	plan_err = shard_plan_build(&plans[0].plan, topo, &usual);
	if (plan_err == SHARD_PLAN_OK)
		plan_err = shard_plan_build(&plans[0].pools, topo, &pools);
	shard_topo_free(topo);
	if (plan_err == SHARD_PLAN_OK)
		return 0;
	fprintf(stderr, "schedshard-bench: %s: %s\n", path, shard_plan_strerror(plan_err));
	return 2;
}

const struct bench_plan *bench_plans_get(u32 *nr)
{
	if (of_machine) {
		*nr = 1;
		return plans;
	}
	for (u32 i = 0; i < NR_PLANS; i++) {
		if (plans[i].plan)
			continue;
		plans[i] = (struct bench_plan){ shapes[i].name, build(&shapes[i]), NULL };
		if (!plans[i].plan)
			return NULL;
	}
	*nr = NR_PLANS;
	return plans;
}

void bench_plans_put(void)
{
	for (u32 i = 0; i < NR_PLANS; i++) {
		shard_plan_free(plans[i].plan);
		shard_plan_free(plans[i].pools);
		plans[i].plan = plans[i].pools = NULL;
	}
}
