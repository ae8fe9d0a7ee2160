// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * JSON of schedshard-topo.
 *
 * A jansson function that gets a NULL, because another one had no memory, returns an error.
 * json_pack() with "o" passes it on as NULL. So the code checks only the last value. Loops that
 * fill lists check each result.
 */
#include <jansson.h>
#include "topo_json.h"

static const char *level_name(enum shard_plan_level level)
{
	switch (level) {
	case SHARD_LEVEL_LLC:
		return "llc";
	case SHARD_LEVEL_NODE:
		return "node";
	case SHARD_LEVEL_PACKAGE:
		return "package";
	case SHARD_LEVEL_ALL:
		break;
	}
	return "all";
}

static const char *kind_name(enum machine_kind kind)
{
	switch (kind) {
	case MACHINE_MEASURED:
		return "measured";
	case MACHINE_ESTIMATE:
		return "estimate";
	case MACHINE_HYPOTHETICAL:
		break;
	}
	return "hypothetical";
}

/* Appends @value and takes its reference; on failure *list becomes NULL. */
static void append(json_t **list, json_t *value)
{
	if (json_array_append_new(*list, value) < 0) {
		json_decref(*list);
		*list = NULL;
	}
}

static json_t *cpus_json(const struct shard_topo *topo)
{
	json_t *list = json_array();

	for (u32 nr = 0; list && nr < topo->nr_cpus; nr++) {
		const struct shard_cpu *cpu = &topo->cpu[nr];

		if (cpu->possible)
			append(&list, json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "cpu",
						(int)nr, "package", cpu->package, "node", cpu->node,
						"llc", cpu->llc, "l2", cpu->l2, "core", cpu->core,
						"thread", cpu->thread));
	}
	return list;
}

static json_t *plan_json(const struct shard_plan *plan)
{
	json_t *shards = json_array();

	for (u32 nr = 0; shards && nr < plan->nr_shards; nr++) {
		const struct shard *shard = &plan->shard[nr];
		json_t *cpus = json_array();

		for (u32 pos = 0; cpus && pos < shard->nr_cpus; pos++)
			append(&cpus, json_integer(plan->idx_to_cpu[shard->first_idx + pos]));
		append(&shards, json_pack("{s:i, s:i, s:i, s:i, s:o}", "shard", (int)nr, "llc",
					  (int)shard->llc, "node", shard->node, "package",
					  shard->package, "cpus", cpus));
	}
	return json_pack("{s:i, s:i, s:i, s:s, s:i, s:i, s:o}", "nr_shards", (int)plan->nr_shards,
			 "nr_llcs", (int)plan->nr_llcs, "nr_cpus", (int)plan->nr_possible, "level",
			 level_name(plan->level), "cap", (int)plan->cap, "split_llc",
			 (int)plan->split_llc, "shards", shards);
}

static const char *unit_name(enum machine_unit unit)
{
	switch (unit) {
	case MACHINE_UNIT_CORES:
		return "cores";
	case MACHINE_UNIT_LLCS:
		return "llcs";
	case MACHINE_UNIT_NODES:
		return "nodes";
	case MACHINE_UNIT_PACKAGES:
		break;
	}
	return "packages";
}

static json_t *tiers_json(const struct machine *machine)
{
	json_t *list = json_array();

	for (u32 i = 0; list && i < machine->nr_tiers; i++) {
		const struct machine_tier *tier = &machine->tier[i];

		append(&list,
		       json_pack("{s:s, s:s, s:i, s:f}", "name", tier->name, "unit",
				 unit_name(tier->unit), "count", (int)tier->count, "ns", tier->ns));
	}
	return list;
}

static json_t *ranges_json(const struct machine *machine)
{
	json_t *ranges = json_object();

	for (u32 i = 0; ranges && i < machine->nr_ranges; i++) {
		const struct machine_range *range = &machine->range[i];

		if (json_object_set_new(ranges, range->key,
					json_pack("[f, f]", range->low, range->high)) < 0) {
			json_decref(ranges);
			ranges = NULL;
		}
	}
	return ranges;
}

static json_t *machine_json(const struct machine *machine)
{
	const struct machine_latency *lat;
	const struct machine_ops *ops;
	json_t *latency, *cycles, *protocol;

	if (!machine)
		return json_null();
	lat = &machine->latency_ns;
	ops = &machine->op_cycles;
	latency = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "smt", lat->smt, "llc", lat->llc,
			    "node", lat->node, "package", lat->package, "remote", lat->remote,
			    "home_remote", lat->home_remote, "memory", lat->memory);
	cycles = json_pack("{s:f, s:f, s:f, s:f, s:f, s:i}", "load_hit", ops->load_hit, "store",
			   ops->store, "locked", ops->locked, "fence", ops->fence, "timestamp",
			   ops->timestamp, "store_buffer", (int)ops->store_buffer);
	protocol = json_object();
	for (u32 i = 0; i < machine->nr_protocol; i++) {
		if (json_object_set_new(protocol, machine->protocol[i].key,
					json_real(machine->protocol[i].value)) < 0) {
			json_decref(protocol);
			protocol = NULL;
		}
	}
	return json_pack("{s:s, s:s, s:s, s:f, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o}",
			 "name", machine->name, "title", machine->title, "kind",
			 kind_name(machine->kind), "clock_ghz", machine->clock_ghz, "cpus",
			 (int)machine->nr_cpus, "cores", (int)machine->nr_cores, "llcs",
			 (int)machine->nr_llcs, "nodes", (int)machine->nr_nodes, "packages",
			 (int)machine->nr_packages, "latency_ns", latency, "tiers",
			 tiers_json(machine), "op_cycles", cycles, "protocol", protocol, "ranges",
			 ranges_json(machine));
}

bool topo_write_json(FILE *out, const char *source, const struct shard_topo *topo,
		     const struct shard_plan *plan, const struct machine *machine)
{
	json_t *all =
		json_pack("{s:s, s:o, s:o, s:o}", "source", source, "machine",
			  machine_json(machine), "cpus", cpus_json(topo), "plan", plan_json(plan));
	bool written = all && !json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(10)) &&
		       fputc('\n', out) != EOF && fflush(out) != EOF;

	json_decref(all);
	return written;
}
