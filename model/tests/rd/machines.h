/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Machines that every layout is tested on, and their plans. */
#ifndef TESTS_RD_MACHINES_H
#define TESTS_RD_MACHINES_H

#include "shapes.h"
#include "test.h"

struct rd_machine {
	const struct shape *shape;
	struct shard_topo topo;
	struct shard_cpu *cpu;
	struct shard_plan *plan;
	unsigned long span[TEST_MAX_WORDS]; /* all possible CPUs */
};

extern const struct shape rd_shapes[];
extern const u32 nr_rd_shapes;

void rd_machine_make(struct rd_machine *m, const struct shape *shape);
void rd_machine_free(struct rd_machine *m);

static inline bool rd_machine_has(const struct rd_machine *m, u32 cpu)
{
	return m->topo.cpu[cpu].possible;
}

/* Returns a random possible CPU. */
static inline u32 rd_machine_any(const struct rd_machine *m, u64 *random)
{
	return m->plan->idx_to_cpu[test_below(random, m->plan->nr_possible)];
}

#endif
