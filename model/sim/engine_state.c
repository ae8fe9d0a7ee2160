// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The state of the timing backend: made, freed, and read by reports.
 *
 * Each CPU has its own random number generator, so CPUs do not affect each other's numbers.
 */
#include "engine_state.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "sim.h"

#define STACK_SIZE (64u << 10)

struct sim sim;

static uint64_t mix(uint64_t x)
{
	/* SplitMix64's finaliser (Steele, Lea, Flood 2014): makes neighbouring seeds unrelated. */
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static struct cpu *cpus_alloc(size_t n)
{
	struct cpu *cpu = aligned_alloc(_Alignof(struct cpu), n * sizeof(*cpu));

	if (cpu)
		memset(cpu, 0, n * sizeof(*cpu));
	return cpu;
}

int sim_init(const struct model *model, uint64_t seed)
{
	memset(&sim, 0, sizeof(sim));
	sim.model = model;
	arena_init();
	sim.cpu = cpus_alloc(model->nr_cpus);
	sim.fibers = fiber_pool_alloc(model->nr_cpus, STACK_SIZE);
	if (!sim.cpu || !sim.fibers || coherence_init(&sim.coherence, model) ||
	    stats_init(&sim.stats, model->nr_cpus)) {
		sim_exit();
		return -1;
	}
	sim.coherence.seed = seed;
	for (uint32_t i = 0; i < model->nr_cpus; i++) {
		struct cpu *c = &sim.cpu[i];

		c->number = i;
		c->core = model->cpu[i].core;
		c->fiber = &sim.fibers[i];
		c->irq_at = NEVER;
		c->fetch.line = UINT32_MAX; /* no miss yet */
		c->random = mix(seed * 0x9e3779b97f4a7c15ull + i + 1);
		c->sb = calloc(model->stores, sizeof(*c->sb));
		if (!c->sb) {
			sim_exit();
			return -1;
		}
	}
	return 0;
}

void sim_exit(void)
{
	if (sim.cpu)
		for (uint32_t i = 0; i < sim.model->nr_cpus; i++)
			free(sim.cpu[i].sb);
	free(sim.cpu);
	sim.cpu = NULL;
	if (sim.fibers)
		fiber_pool_free(sim.fibers, sim.model->nr_cpus);
	sim.fibers = NULL;
	coherence_free(&sim.coherence);
	stats_free(&sim.stats);
}

uint64_t sim_random(void)
{
	struct cpu *c = sim.running;

	c->random += 0x9e3779b97f4a7c15ull;
	return mix(c->random);
}

void sim_measure_from_here(void)
{
	stats_reset(&sim.stats);
}

const struct stats *sim_stats(void)
{
	stats_settle(&sim.stats);
	return &sim.stats;
}

uint64_t sim_events(void)
{
	return sim.events;
}

uint32_t sim_lines_touched(void)
{
	return sim.stats.touched;
}
