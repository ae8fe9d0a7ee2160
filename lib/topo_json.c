// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Makes the JSON of schedshard-topo.
 *
 * A jansson function without memory returns NULL. A function that gets a NULL returns an error, and
 * json_pack() with "o" returns NULL. So the code checks only the last value. In loops that fill
 * lists it checks each result.
 */
#include <jansson.h>
#include "machine.h"
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

static json_t *machine_json(const struct machine *machine)
{
	return machine ? json_pack("{s:s, s:s}", "name", machine->name, "title", machine->title)
		       : json_null();
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
