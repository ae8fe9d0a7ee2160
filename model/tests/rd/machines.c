// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "machines.h"

const struct shape rd_shapes[] = {
	{ .name = "one CPU", 1, 1, 1, 1, 1, 1 },
	{ .name = "16 CPUs", 1, 1, 1, 8, 2, 1 },
	{ .name = "16 CPUs, siblings adjacent", 1, 1, 1, 8, 2, 1, .adjacent = true },
	{ .name = "64 CPUs in one LLC", 1, 1, 1, 32, 2, 1 },
	{ .name = "384 CPUs in 24 LLCs", 2, 2, 6, 8, 2, 1 },
	{ .name = "480 CPUs in two LLCs", 2, 1, 1, 120, 2, 1 },
	{ .name = "480 CPUs, siblings adjacent", 2, 1, 1, 120, 2, 1, .adjacent = true },
	{ .name = "holes", 2, 1, 3, 15, 2, 1, .hole = 5 },
	{ .name = "2 CPUs per shard", 1, 1, 40, 1, 2, 1 },
	{ .name = "nothing known", 2, 2, 2, 10, 2, 1, .hidden = 31 },
	{ .name = "86 CPUs in one LLC", 1, 1, 1, 43, 2, 1 },
	{ .name = "more than 64 LLCs", 2, 1, 40, 2, 2, 1 },
	{ .name = "2048 CPUs", 4, 2, 8, 16, 2, 1 },
};

const u32 nr_rd_shapes = sizeof(rd_shapes) / sizeof(rd_shapes[0]);

void rd_machine_make(struct rd_machine *m, const struct shape *shape)
{
	test_state.shape = shape->name;
	m->shape = shape;
	m->cpu = shape_cpus(shape, &m->topo.nr_cpus);
	m->topo.cpu = m->cpu;
	m->plan = shape_plan(shape);
	memset(m->span, 0, sizeof(m->span));
	for (u32 cpu = 0; cpu < m->topo.nr_cpus; cpu++)
		if (rd_machine_has(m, cpu))
			test_set_bit(m->span, cpu);
}

void rd_machine_free(struct rd_machine *m)
{
	shard_plan_free(m->plan);
	free(m->cpu);
	test_state.shape = NULL;
}
