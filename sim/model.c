// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Constants that are not in every machine file have one default each, below, with
 * its source; a machine's [protocol] table overrides them.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "machine.h"

/*
 * Share of a transfer that is the data leg. Calibrated, once for all machines, on the
 * contended-atomic curve of 8 x Xeon 8176: with every core waiting, one increment follows the
 * other by data leg + operation, while two threads alone take request + snoop. See DESIGN.md.
 */
#define DATA_LEG 0.38
/*
 * Estimate: a home agent or L3 slice takes a new request for a line about every 4 cycles at
 * 2 GHz.
 */
#define READ_OCCUPANCY_NS 2.0
/* Estimate where the file has none: between AMD's 46 cycles (Zen 3) and Intel's 70 (Skylake-SP). */
#define L3_HIT_CYCLES 60.0
/* One round: a group hands the line on once everybody who waited when it came has had it. */
#define NEAR_ROUNDS 1.0

static uint64_t ns_to_ps(double ns)
{
	return (uint64_t)(ns * 1000 + 0.5);
}

static void legs(struct model *m)
{
	const struct machine_latency *lat = &m->machine->latency_ns;
	double data_leg = machine_protocol(m->machine, "data_leg", DATA_LEG);
	double base[TIER_REMOTE + 1], far;

	base[TIER_CORE] = lat->smt;
	base[TIER_LLC] = lat->llc;
	base[TIER_NODE] = lat->node > 0 ? lat->node : lat->llc;
	base[TIER_PACKAGE] = lat->package > 0 ? lat->package : base[TIER_NODE];
	/*
	 * What a transfer between packages costs without its crossings: the longest way
	 * inside one.
	 */
	far = base[TIER_PACKAGE];
	base[TIER_REMOTE] = far;
	for (int t = TIER_CORE; t <= TIER_REMOTE; t++) {
		m->request[t] = ns_to_ps(base[t] * (1 - data_leg) / 2);
		m->snoop[t] = m->request[t];
		m->data[t] = ns_to_ps(base[t] * data_leg);
	}
	m->crossing = lat->remote > far ? ns_to_ps((lat->remote - far) / 2) : 0;
	m->home_crossing =
		lat->home_remote > far ? ns_to_ps((lat->home_remote - far) / 2) : m->crossing;
}

static void costs(struct model *m)
{
	const struct machine *mc = m->machine;

	m->ps_per_cycle = 1000 / mc->clock_ghz;
	m->load_hit = model_cycles(m, mc->op_cycles.load_hit);
	m->store = model_cycles(m, mc->op_cycles.store);
	m->locked = model_cycles(m, mc->op_cycles.locked);
	m->fence = model_cycles(m, mc->op_cycles.fence);
	m->timestamp = model_cycles(m, mc->op_cycles.timestamp);
	m->store_buffer = mc->op_cycles.store_buffer ? mc->op_cycles.store_buffer : 1;
	m->memory = ns_to_ps(mc->latency_ns.memory);
	m->l3_hit = model_cycles(m, machine_protocol(mc, "l3_hit_cycles", L3_HIT_CYCLES));
	m->read_occupancy = ns_to_ps(machine_protocol(mc, "read_occupancy_ns", READ_OCCUPANCY_NS));
	m->near_rounds = machine_protocol(mc, "near_rounds", NEAR_ROUNDS);
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
	m->cpu = calloc(nr_cpus, sizeof(*m->cpu));
	m->core = calloc(m->nr_cores, sizeof(*m->core));
	m->node_package = calloc(m->nr_nodes, sizeof(*m->node_package));
	m->llc_package = calloc(m->nr_llcs, sizeof(*m->llc_package));
	if (!m->cpu || !m->core || !m->node_package || !m->llc_package) {
		model_free(m);
		return -1;
	}
	for (uint32_t i = 0; i < machine->topo.nr_cpus; i++) {
		const struct shard_cpu *t = &machine->topo.cpu[i];

		if (!t->possible)
			continue;
		m->node_package[t->node] = (uint32_t)t->package;
		m->llc_package[t->llc] = (uint32_t)t->package;
	}
	for (uint32_t i = 0; i < nr_cpus; i++) {
		const struct shard_cpu *t = &machine->topo.cpu[cpu[i]];
		struct model_core *core = &m->core[t->core];

		if (core->nr_cpus == MODEL_MAX_THREADS) {
			model_free(m);
			return -1;
		}
		m->cpu[i] = (struct model_cpu){ .core = (uint32_t)t->core, .number = cpu[i] };
		core->llc = (uint32_t)t->llc;
		core->node = (uint32_t)t->node;
		core->package = (uint32_t)t->package;
		core->cpu[core->nr_cpus++] = i;
	}
	costs(m);
	legs(m);
	return 0;
}

void model_free(struct model *m)
{
	free(m->cpu);
	free(m->core);
	free(m->node_package);
	free(m->llc_package);
	memset(m, 0, sizeof(*m));
}
