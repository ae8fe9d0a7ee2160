/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * model.h - a machine file turned into what the coherence protocol asks for:
 * which caches a CPU has, and how long each leg of a transfer takes.
 *
 * A published core-to-core latency is one number for a whole transfer. Here it has three
 * legs, so that a home node far away, and a queue at the line, can be told apart:
 *
 *   request  requester -> ordering point    \ share 1 - data_leg of the latency,
 *   snoop    ordering point -> owner        / half each
 *   data     owner -> requester               share data_leg
 *
 * The ordering point is the LLC itself when owner and requester share one, else the line's
 * home. A leg that crosses packages costs R more; R is chosen such that a transfer between
 * packages whose home is at one end, i.e. with two crossings, takes exactly the published
 * time. A transfer inside a package whose home is in another one also has two crossings
 * (request and snoop): that it then costs as much as a transfer between packages is what the
 * published measurements show.
 *
 * All times are picoseconds in u64: integers add up the same way on every host.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct machine;

#define MODEL_MAX_THREADS 8

/* Nearest level that two cores share. */
enum tier { TIER_CORE, TIER_LLC, TIER_NODE, TIER_PACKAGE, TIER_REMOTE };

struct model_cpu {
	uint32_t core;
	uint32_t number; /* CPU number of the machine file */
};

/* Cores, LLCs, nodes and packages are numbered as in struct machine. */
struct model_core {
	uint32_t llc, node, package;
	uint32_t nr_cpus;
	uint32_t cpu[MODEL_MAX_THREADS]; /* simulated CPUs, may be fewer than the hardware's */
};

/**
 * struct model - the simulated machine
 * @cpu: simulated CPUs; the index is the "CPU" of sim.h
 * @core: by core; one without a simulated CPU has nr_cpus 0
 * @ps_per_cycle: picoseconds a core cycle
 * @request: request leg by tier, without crossings
 * @snoop: snoop leg by tier, without crossings
 * @data: data leg by tier, without crossings
 * @crossing: what one leg between two packages costs more
 * @home_crossing: the same where owner and requester share a package but not its home
 * @memory: load from local DRAM
 * @l3_hit: load of a line that the LLC holds and no core of it has modified
 * @load_hit: load of a line that the core holds
 * @store: store to a line that the core holds exclusively
 * @locked: locked operation on such a line
 * @fence: full fence with an empty store buffer
 * @timestamp: reading the time-stamp counter
 * @read_occupancy: how long a read of an unmodified line keeps the ordering point busy
 * @store_buffer: entries
 * @near_rounds: requests of one group (LLC, then package) that are served in a row, as a
 *	multiple of those that waited when the line entered the group; 0: first come, first served
 */
struct model {
	const struct machine *machine;
	struct model_cpu *cpu;
	struct model_core *core;
	uint32_t nr_cpus, nr_cores, nr_llcs, nr_nodes, nr_packages;
	uint32_t *node_package;
	uint32_t *llc_package;

	double ps_per_cycle;
	uint64_t request[TIER_REMOTE + 1], snoop[TIER_REMOTE + 1], data[TIER_REMOTE + 1];
	uint64_t crossing, home_crossing;
	uint64_t memory, l3_hit, load_hit, store, locked, fence, timestamp, read_occupancy;
	uint32_t store_buffer;
	double near_rounds;
};

/**
 * model_build - prepare a machine for simulation.
 * @m: filled in; release with model_free()
 * @machine: must outlive @m
 * @cpu: CPU numbers of the machine to simulate, in the order of simulated CPUs
 * @nr_cpus: how many
 *
 * Return: 0; -1 when memory is short, or a core has more than MODEL_MAX_THREADS threads.
 */
int model_build(struct model *m, const struct machine *machine, const uint32_t *cpu,
		uint32_t nr_cpus);
void model_free(struct model *m);

static inline enum tier model_tier(const struct model *m, uint32_t core_a, uint32_t core_b)
{
	const struct model_core *a = &m->core[core_a], *b = &m->core[core_b];

	if (core_a == core_b)
		return TIER_CORE;
	if (a->llc == b->llc)
		return TIER_LLC;
	if (a->node == b->node)
		return TIER_NODE;
	return a->package == b->package ? TIER_PACKAGE : TIER_REMOTE;
}

static inline uint64_t model_cycles(const struct model *m, double cycles)
{
	return (uint64_t)(cycles * m->ps_per_cycle + 0.5);
}

#endif
