// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "shapes.h"
#include "test.h"

const struct shape shapes[] = {
	{ .name = "one CPU", 1, 1, 1, 1, 1, 1 },
	{ .name = "one shard", 1, 1, 1, 8, 2, 1 },
	{ .name = "one full shard", 1, 1, 1, 32, 2, 1 },
	{ .name = "2 CPUs per shard", 1, 1, 16, 1, 2, 1 },
	{ .name = "240 CPUs in one LLC", 1, 1, 1, 120, 2, 1 },
	{ .name = "480 CPUs in two LLCs", 2, 1, 1, 120, 2, 1 },
	{ .name = "480 CPUs in one LLC", 1, 1, 1, 240, 2, 1 },
	{ .name = "480 CPUs, siblings adjacent", 2, 1, 1, 120, 2, 1, .adjacent = true },
	{ .name = "numbers 0-47,192-239 a node", 2, 2, 6, 8, 2, 1 },
	{ .name = "12 LLCs", 1, 1, 12, 4, 2, 1 },
	{ .name = "holes", 2, 1, 3, 5, 2, 1, .hole = 3 },
	{ .name = "holes, siblings adjacent", 2, 2, 2, 7, 2, 2, .adjacent = true, .hole = 5 },
	{ .name = "4096 CPUs", 8, 2, 8, 16, 2, 1 },
	{ .name = "4096 CPUs, 2 a shard", 8, 4, 64, 1, 2, 1 },
	{ .name = "cap 1", 2, 2, 2, 6, 2, 1, .cap = 1 },
	{ .name = "cap 2", 2, 2, 2, 6, 2, 1, .cap = 2 },
	{ .name = "cap 16", 2, 1, 2, 25, 2, 1, .cap = 16 },
	{ .name = "cap 64", 2, 1, 2, 50, 2, 1, .cap = 64 },
	{ .name = "cap 10, clusters of 8", 1, 1, 2, 32, 1, 8, .cap = 10 },
	{ .name = "clusters larger than the cap", 1, 1, 2, 50, 2, 25, .cap = 20 },
	{ .name = "cores larger than the cap", 1, 2, 1, 12, 8, 1, .cap = 5 },
	{ .name = "split 4", 1, 1, 2, 16, 2, 1, .split_llc = 4 },
	{ .name = "split 3 of 7 cores", 1, 1, 2, 7, 2, 1, .split_llc = 3 },
	{ .name = "split more than cores", 1, 1, 2, 4, 2, 1, .split_llc = 100 },
	{ .name = "split and cap", 1, 1, 1, 60, 2, 1, .cap = 16, .split_llc = 5 },
	{ .name = "LLC in two nodes", 2, 2, 1, 60, 2, 1, .llc_nodes = 2 },
	{ .name = "LLC in four nodes", 2, 4, 1, 15, 2, 1, .llc_nodes = 4 },
	{ .name = "no cache information", 2, 2, 4, 4, 2, 1, .hidden = NO_LLC },
	{ .name = "no cache, no nodes", 4, 1, 2, 4, 2, 1, .hidden = NO_LLC | NO_NODE },
	{ .name = "nothing known", 2, 2, 2, 10, 2, 1, .hidden = 31 },
	{ .name = "no nodes", 2, 2, 3, 4, 2, 1, .hidden = NO_NODE },
	{ .name = "no packages", 2, 2, 3, 4, 2, 1, .hidden = NO_PACKAGE },
	{ .name = "no cores, no L2", 2, 1, 2, 40, 2, 1, .hidden = NO_CORE | NO_L2 },
};

const u32 nr_shapes = sizeof(shapes) / sizeof(shapes[0]);

/* The CPU number of a thread, before holes are made. */
static u32 number_of(const struct shape *s, u32 core, u32 thread)
{
	u32 cores = s->packages * s->nodes * s->llcs * s->cores;

	return s->adjacent ? core * s->threads + thread : thread * cores + core;
}

/* Every @hole-th number is skipped: 0 1 (2) 3 4 (5) for 3. */
static u32 skip_holes(u32 number, u32 hole)
{
	return hole ? number + number / (hole - 1) : number;
}

static void fill_cpu(struct shard_cpu *c, const struct shape *s, u32 core, u32 thread)
{
	u32 llc = core / s->cores, node = llc / s->llcs;

	c->package = s->hidden & NO_PACKAGE ? -1 : (s32)(node / s->nodes);
	c->node = s->hidden & NO_NODE ? -1 : (s32)node;
	/* Ids have gaps and an offset: no code may rely on small ids. */
	c->llc = s->hidden & NO_LLC ? -1 : (s32)(llc / (s->llc_nodes ? s->llc_nodes : 1) * 16 + 3);
	c->l2 = s->hidden & NO_L2 ? -1 : (s32)(llc * 1000 + core % s->cores / s->l2_cores);
	c->core = s->hidden & NO_CORE ? -1 : (s32)core * 2 + 7;
	c->thread = (s32)thread;
	c->possible = true;
}

struct shard_cpu *shape_cpus(const struct shape *s, u32 *nr_cpus)
{
	u32 cores = s->packages * s->nodes * s->llcs * s->cores;
	u32 nr = skip_holes(cores * s->threads - 1, s->hole) + 1;
	struct shard_cpu *cpu = calloc(nr, sizeof(*cpu));

	if (!cpu)
		test_fail(__FILE__, __LINE__, "no memory");
	for (u32 core = 0; core < cores; core++)
		for (u32 thread = 0; thread < s->threads; thread++)
			fill_cpu(&cpu[skip_holes(number_of(s, core, thread), s->hole)], s, core,
				 thread);
	*nr_cpus = nr;
	return cpu;
}

struct shard_plan *shape_plan(const struct shape *s)
{
	struct shard_plan_opts opts = { .cap = s->cap, .split_llc = s->split_llc };
	struct shard_topo topo;
	struct shard_cpu *cpu = shape_cpus(s, &topo.nr_cpus);
	enum shard_plan_err err;
	struct shard_plan *plan;

	topo.cpu = cpu;
	err = shard_plan_build(&plan, &topo, &opts);
	if (err)
		test_fail(__FILE__, __LINE__, "%s: %s", s->name, shard_plan_strerror(err));
	free(cpu);
	return plan;
}
