// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One sort with one key per CPU. The key of scatter is: the sibling's rank, the core's rank in its
 * LLC, the LLC's rank in its package, the package. Neighbours in this order are as far apart as the
 * machine allows.
 */
#include "placement.h"

#include <stdlib.h>

#include "machine.h"

struct place {
	uint64_t key;
	uint32_t cpu;
};

static int by_key(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* The lowest number in the same group, from which ranks count. */
static int32_t base_of(const struct machine *m, const struct shard_cpu *cpu, bool core_in_llc)
{
	int32_t low = INT32_MAX;

	for (uint32_t i = 0; i < m->topo.nr_cpus; i++) {
		const struct shard_cpu *c = &m->topo.cpu[i];
		int32_t value = core_in_llc ? c->core : c->llc;

		if (c->possible &&
		    (core_in_llc ? c->llc == cpu->llc : c->package == cpu->package) && value < low)
			low = value;
	}
	return low;
}

static uint64_t key_of(const struct machine *m, uint32_t number, enum placement how)
{
	const struct shard_cpu *c = &m->topo.cpu[number];
	uint64_t core, llc;

	switch (how) {
	case PLACEMENT_COMPACT:
		return (uint64_t)c->core << 8 | (uint64_t)c->thread;
	case PLACEMENT_SCATTER:
		core = (uint64_t)(c->core - base_of(m, c, true));
		llc = (uint64_t)(c->llc - base_of(m, c, false));
		return (uint64_t)c->thread << 48 | core << 32 | llc << 16 | (uint64_t)c->package;
	case PLACEMENT_OS:
		break;
	}
	return number;
}

uint32_t *placement_cpus(const struct machine *machine, enum placement how)
{
	struct place *place = calloc(machine->nr_cpus, sizeof(*place));
	uint32_t *cpu = calloc(machine->nr_cpus, sizeof(*cpu)), n = 0;

	if (!place || !cpu) {
		free(place);
		free(cpu);
		return NULL;
	}
	for (uint32_t i = 0; i < machine->topo.nr_cpus; i++)
		if (machine->topo.cpu[i].possible)
			place[n++] = (struct place){ key_of(machine, i, how), i };
	qsort(place, n, sizeof(*place), by_key);
	for (uint32_t i = 0; i < n; i++)
		cpu[i] = place[i].cpu;
	free(place);
	return cpu;
}
