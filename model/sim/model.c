// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The free parameters of the protocol. Each parameter has one default, which is below with its
 * source; a machine's [protocol] table overrides the default.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "machine.h"

/*
 * The data leg's share of a transfer. The rest is the time for which a new owner keeps the line
 * when others wait: see ordering_point.c.
 */
#define DATA_LEG 0.62
/*
 * Estimate: a home agent or L3 slice takes a new request for a line about every 4 cycles at
 * 2 GHz.
 */
#define READ_OCCUPANCY_NS 2.0
/*
 * Estimate, if the file has no number: between AMD's 46 cycles (Zen 3) and Intel's 70 (Skylake-SP).
 */
#define L3_HIT_CYCLES 60.0
/*
 * One round: when a line enters a group, the requests that wait in the group get it, each once.
 * Then the group passes the line on.
 */
#define NEAR_ROUNDS 1.0
/* Each LLC orders the requests of its own cores. */
#define LLC_ORDERS 1.0
/* The home updates its directory during the transfer, in no extra time. */
#define DIRECTORY 0.0
/* Time that each request waiting at the home adds to a move of the line between groups. */
#define RETRY_NS 0.0
/* Extra time of the first load after the sibling wrote the line. */
#define SMT_READ_NS 0.0

/* A load waits until the preceding locked operation is complete, as measured on x86 cores. */
#define AFTER_LOCKED 0.0
/* The core executes locked operations, and needs the line for them. */
#define FAR_ATOMICS 0.0
/* Graviton2 takes 8.5 to 9.4 ns for each addition, on 2 to 16 cores (measured). */
#define FAR_NS 9.0
/* Stores leave the buffer one by one. */
#define STORES_MERGE 1.0

static void costs(struct model *m)
{
	const struct machine *mc = m->machine;

	m->ps_per_cycle = 1000 / mc->clock_ghz;
	m->load_hit = model_cycles(m, mc->op_cycles.load_hit);
	m->store = model_cycles(m, mc->op_cycles.store);
	m->drain = m->store;
	m->locked = model_cycles(m, mc->op_cycles.locked);
	m->after_locked =
		model_cycles(m, machine_protocol(mc, "after_locked_cycles", AFTER_LOCKED));
	m->forward =
		model_cycles(m, machine_protocol(mc, "forward_cycles", mc->op_cycles.load_hit));
	m->far_atomics = machine_protocol(mc, "far_atomics", FAR_ATOMICS) >= 0.5;
	m->far = model_ns(machine_protocol(mc, "far_ns", FAR_NS));
	m->fence = model_cycles(m, mc->op_cycles.fence);
	m->timestamp = model_cycles(m, mc->op_cycles.timestamp);
	m->store_buffer = mc->op_cycles.store_buffer ? mc->op_cycles.store_buffer : 1;
	m->stores_merge = (uint32_t)(machine_protocol(mc, "stores_merge", STORES_MERGE) + 0.5);
	if (!m->stores_merge)
		m->stores_merge = 1;
	m->stores = m->store_buffer * m->stores_merge;
	m->memory = model_ns(mc->latency_ns.memory);
	m->l3_hit = model_cycles(m, machine_protocol(mc, "l3_hit_cycles", L3_HIT_CYCLES));
	m->read_occupancy = model_ns(machine_protocol(mc, "read_occupancy_ns", READ_OCCUPANCY_NS));
	m->near_rounds = machine_protocol(mc, "near_rounds", NEAR_ROUNDS);
	m->retry = model_ns(machine_protocol(mc, "retry_ns", RETRY_NS));
	m->directory = machine_protocol(mc, "directory", DIRECTORY);
	m->smt = model_ns(machine_protocol(mc, "smt_locked_ns", mc->latency_ns.smt));
	m->smt_read = model_ns(machine_protocol(mc, "smt_read_ns", SMT_READ_NS));
}

/* Set the places of all cores, including those without a simulated CPU. */
static void places(struct model *m)
{
	bool llc_orders = machine_protocol(m->machine, "llc_orders", LLC_ORDERS) > 0;

	m->nr_groups = llc_orders ? m->machine->nr_llcs : m->machine->nr_packages;
	for (uint32_t i = 0; i < m->machine->topo.nr_cpus; i++) {
		const struct shard_cpu *t = &m->machine->topo.cpu[i];
		struct model_core *core;

		if (!t->possible)
			continue;
		core = &m->core[t->core];
		core->llc = (uint32_t)t->llc;
		core->node = (uint32_t)t->node;
		core->package = (uint32_t)t->package;
		core->group = llc_orders ? core->llc : core->package;
		m->node_package[core->node] = core->package;
		m->group_package[core->group] = core->package;
	}
}

static bool allocate(struct model *m)
{
	m->cpu = calloc(m->nr_cpus, sizeof(*m->cpu));
	m->core = calloc(m->nr_cores, sizeof(*m->core));
	m->node_package = calloc(m->nr_nodes, sizeof(*m->node_package));
	m->group_package = calloc(m->machine->nr_llcs + m->nr_packages, sizeof(*m->group_package));
	return m->cpu && m->core && m->node_package && m->group_package;
}

int model_build(struct model *m, const struct machine *machine, const uint32_t *cpu,
		uint32_t nr_cpus)
{
	memset(m, 0, sizeof(*m));
	m->machine = machine;
	m->nr_cpus = nr_cpus;
	m->nr_cores = machine->nr_cores;
	m->nr_llcs = machine->nr_llcs;
	m->nr_nodes = machine->nr_nodes;
	m->nr_packages = machine->nr_packages;
	if (!allocate(m))
		goto failed;
	places(m);
	for (uint32_t i = 0; i < nr_cpus; i++) {
		uint32_t of = (uint32_t)machine->topo.cpu[cpu[i]].core;
		struct model_core *core = &m->core[of];

		if (core->nr_cpus == MODEL_MAX_THREADS)
			goto failed;
		m->cpu[i] = (struct model_cpu){ .core = of, .number = cpu[i] };
		core->cpu[core->nr_cpus++] = i;
	}
	costs(m);
	if (model_build_tiers(m, machine_protocol(machine, "data_leg", DATA_LEG)))
		goto failed;
	return 0;
failed:
	model_free(m);
	return -1;
}

void model_free(struct model *m)
{
	free(m->cpu);
	free(m->core);
	free(m->node_package);
	free(m->group_package);
	free(m->pair);
	free(m->group_pair);
	free(m->crossing);
	free(m->home_crossing);
	memset(m, 0, sizeof(*m));
}
