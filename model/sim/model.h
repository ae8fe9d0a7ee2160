/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * model.h - what the coherence protocol needs from a machine file: the caches of each CPU, and the
 * time of each leg of a transfer.
 *
 * A published core-to-core latency is one number for a whole transfer. The model divides a transfer
 * into three legs, so that it can treat a distant home node and a queue at the line separately:
 *
 *   request  requester -> ordering point    \ share 1 - data_leg of the latency,
 *   snoop    ordering point -> owner        / half each
 *   data     owner -> requester               share data_leg
 *
 * A *group* is a set of cores whose requests pass one ordering point before they reach the line's
 * home. If each LLC orders its own requests, a group is the cores of an LLC (AMD's core complexes).
 * If one slice of the mesh orders a line for all cores of a package, a group is the package (Intel,
 * also with sub-NUMA clusters).
 *
 * line_latency() in ordering_point.c adds the legs up.
 *
 * A leg that crosses packages takes an extra time R. A transfer between packages with its home at
 * one end has two crossings, and R is such that this transfer takes exactly the latency of the
 * machine file. A transfer between two groups of one package, with its home in another package,
 * also has two crossings (request and snoop). According to published measurements it costs as much
 * as a transfer between packages.
 *
 * All times are picoseconds in u64, because integers add up the same way on every host.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct machine;

#define MODEL_MAX_THREADS 8
#define MODEL_MAX_TIERS	  16

struct model_cpu {
	uint32_t core;
	uint32_t number; /* CPU number of the machine file */
};

/* Cores, LLCs, nodes and packages are numbered as in struct machine. */
struct model_core {
	uint32_t llc, node, package, group;
	uint32_t nr_cpus;		 /* simulated CPUs */
	uint32_t cpu[MODEL_MAX_THREADS]; /* simulated CPUs; may be fewer than the hardware has */
};

/**
 * struct model_tier - pairs of cores whose smallest common level is the same
 * @request: request leg, without crossings
 * @snoop: snoop leg, without crossings
 * @data: data leg, without crossings
 */
struct model_tier {
	uint64_t request, snoop, data;
};

/**
 * struct model - the simulated machine
 * @cpu: simulated CPUs; the index is the "CPU" of sim.h
 * @core: by core; a core without a simulated CPU has nr_cpus 0
 * @tier: legs by tier; tier 0 is the core itself
 * @pair: tier of two cores, [a * nr_cores + b]
 * @group_package: package of a group
 * @group_pair: fastest tier between cores of two groups, [a * nr_groups + b]; for one group the
 *	slowest tier inside it
 * @node_package: package of a node
 * @ps_per_cycle: picoseconds per core cycle
 * @crossing: extra time of one leg between two packages, [a * nr_packages + b]
 * @home_crossing: as @crossing, for a transfer inside a package that is not its home's
 * @nearest: shortest snoop leg between two cores; no core can lose a line in less time
 * @memory: time of a load from local DRAM
 * @l3_hit: load of a line that is in the LLC and that none of its cores has modified
 * @load_hit: load of a line that is in the core's cache
 * @store: store to a line that the core has exclusively
 * @drain: the same, for a store that leaves the store buffer
 * @locked: locked operation on a line that the core has exclusively
 * @after_locked: how much longer the first load after a locked operation takes
 * @forward: load of the word that the same CPU stored last
 * @fence: full fence with an empty store buffer
 * @timestamp: reading the time-stamp counter
 * @smt: locked operation on a line that the sibling wrote last; protocol.smt_locked_ns where it
 *	differs from the latency between siblings
 * @smt_read: extra time of the first load of a line after the sibling wrote it
 * @read_occupancy: how long a read of an unmodified line keeps the ordering point busy
 * @store_buffer: entries of a store buffer
 * @stores_merge: maximum number of consecutive stores to one line that share an entry and leave
 *	together; 1: stores do not merge
 * @stores: maximum number of stores in a buffer if all are merged
 * @near_rounds: consecutive requests of one group (then of one package) that are served, as a
 *	multiple of the number that waited when the line entered; 0: first come, first served
 * @retry: time that each request waiting at the home adds to a move between groups
 * @directory: how long the home stays busy after a package read a line that another package had
 *	modified, as a share of the latency between the two
 * @far_atomics: the line's home executes locked operations other than compare-and-swap, unless the
 *	core has the line exclusively
 * @waits_by_store: the records count a locked operation's wait for earlier stores as theirs
 * @far: how long the home is busy with an operation that it executes itself
 */
struct model {
	const struct machine *machine;
	struct model_cpu *cpu;
	struct model_core *core;
	uint32_t nr_cpus, nr_cores, nr_llcs, nr_groups, nr_nodes, nr_packages, nr_tiers;
	struct model_tier tier[MODEL_MAX_TIERS];
	uint8_t *pair, *group_pair;
	uint32_t *group_package, *node_package;

	double ps_per_cycle;
	uint64_t *crossing, *home_crossing;
	uint64_t nearest;
	uint64_t memory, l3_hit, load_hit, store, drain, locked, after_locked, forward, fence;
	uint64_t timestamp;
	uint64_t read_occupancy, smt, smt_read, retry, far;
	bool far_atomics, waits_by_store;
	uint32_t store_buffer, stores_merge, stores;
	double near_rounds, directory;
};

/**
 * model_build - prepare a machine for simulation.
 * @m: filled in; release with model_free()
 * @machine: must outlive @m
 * @cpu: CPU numbers of the machine to simulate, in the order of simulated CPUs
 * @nr_cpus: how many numbers @cpu has
 *
 * Return: 0, or -1 if there is no memory or a core has more than MODEL_MAX_THREADS threads.
 */
int model_build(struct model *m, const struct machine *machine, const uint32_t *cpu,
		uint32_t nr_cpus);
void model_free(struct model *m);

/**
 * model_build_tiers - fill in the tiers, the tables of pairs and the crossings, for model_build().
 * @m: @core, @node_package and the sizes must be set
 * @data_leg: share of a transfer that is the data leg
 *
 * Return: 0, or -1 if there is no memory or the machine has too many tiers.
 */
int model_build_tiers(struct model *m, double data_leg);

static inline uint32_t model_tier_between(const struct model *m, uint32_t core_a, uint32_t core_b)
{
	return m->pair[(size_t)core_a * m->nr_cores + core_b];
}

static inline uint64_t model_cycles(const struct model *m, double cycles)
{
	return (uint64_t)(cycles * m->ps_per_cycle + 0.5);
}

static inline uint64_t model_ns(double ns)
{
	return (uint64_t)(ns * 1000 + 0.5);
}

#endif
