// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Lines are sorted by the time that loads of them took, then by stores, then by address, because
 * readers of `perf c2c` look at lines in this order. The result contains the first MAX_LINES lines,
 * and the total number of lines. If an experiment also uses lines outside of the comparison, it
 * names the objects that count (struct experiment).
 */
#include "result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "hot_lines.h"
#include "machine.h"
#include "shard_plan.h"

#define MAX_LINES 64

static double cycles(const struct run *run, uint64_t ps, uint64_t n)
{
	return n ? run_cycles(run, (double)ps / (double)n) : 0;
}

static int by_heat(const void *a, const void *b)
{
	const struct hot_line *x = a, *y = b;

	if (x->load_time != y->load_time)
		return x->load_time > y->load_time ? -1 : 1;
	if (x->stores != y->stores)
		return x->stores > y->stores ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static json_t *access_json(const struct run *run, const struct stats *s, uint32_t i)
{
	static const char *const kind[] = { "load", "store", "rmw" };
	const struct access_record *r = stats_record(s, i);
	char pc[20];

	snprintf(pc, sizeof(pc), "0x%llx", (unsigned long long)stats_place(s, i)->pc);
	return json_pack(
		"{s:i, s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:i}", "offset", r->offset,
		"size", r->size, "kind", kind[r->kind], "pc", pc, "records", (json_int_t)r->records,
		"loads", (json_int_t)r->loads, "stores", (json_int_t)r->stores, "hitm_remote",
		(json_int_t)r->hitm_remote, "hitm_local", (json_int_t)r->hitm_local,
		"avg_load_cycles", r->kind == ACCESS_STORE ? 0 : cycles(run, r->time, r->loads),
		"max_load_cycles", cycles(run, r->load_max, 1), "cpus", (int)hot_lines_cpus(s, i));
}

static json_t *line_json(const struct run *run, const struct stats *s, const struct hot_line *h,
			 const uint32_t *access)
{
	const struct arena_object *o = arena_object_of(h->line);
	uint32_t in_object = h->line - (uint32_t)(o->offset >> LINE_SHIFT);
	json_t *accesses = json_array();
	char address[20];

	for (uint32_t i = h->first; i < h->first + h->accesses; i++)
		json_array_append_new(accesses, access_json(run, s, access[i]));
	snprintf(address, sizeof(address), "0x%llx",
		 (unsigned long long)(ARENA_BASE + ((uint64_t)h->line << LINE_SHIFT)));
	return json_pack("{s:s, s:s?, s:i, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o}",
			 "object", o->name, "type", o->type, "line", (int)in_object, "address",
			 address, "home", o->node, "records", (json_int_t)h->records, "loads",
			 (json_int_t)h->loads, "stores", (json_int_t)h->stores, "hitm_remote",
			 (json_int_t)h->hitm_remote, "hitm_local", (json_int_t)h->hitm_local,
			 "avg_load_cycles", cycles(run, h->load_time, h->loads), "max_load_cycles",
			 cycles(run, h->load_max, 1), "accesses", accesses);
}

static bool is_reported(const struct run *run, const struct hot_line *h)
{
	const char *const *name = run->experiment->objects;

	while (name && *name && strcmp(*name, arena_object_of(h->line)->name))
		name++;
	return !name || *name;
}

static json_t *lines_json(const struct run *run, uint32_t *total)
{
	const struct stats *s = sim_stats();
	json_t *lines = json_array();
	struct hot_line *hot;
	uint32_t all = hot_lines_add_up(s, &hot), n = 0, kept, *accesses;

	for (uint32_t i = 0; i < all; i++)
		if (is_reported(run, &hot[i]))
			hot[n++] = hot[i];
	kept = n < MAX_LINES ? n : MAX_LINES;
	qsort(hot, n, sizeof(*hot), by_heat);
	accesses = hot_lines_accesses(s, hot, kept);
	for (uint32_t i = 0; i < kept; i++)
		json_array_append_new(lines, line_json(run, s, &hot[i], accesses));
	free(accesses);
	free(hot);
	*total = n;
	return lines;
}

static json_t *values_json(const struct run_value *v, uint32_t n)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < n; i++)
		json_object_set_new(o, v[i].name, json_real(v[i].value));
	return o;
}

json_t *result_json(const struct run *run, uint64_t seed, const char *placement, double seconds)
{
	json_t *metrics = values_json(run->metric, run->nr_metrics), *lines;
	uint32_t total;

	json_object_set_new(metrics, "lines_touched", json_integer(sim_lines_touched()));
	lines = lines_json(run, &total);
	return json_pack(
		"{s:s, s:s, s:{s:s, s:i, s:f}, s:I, s:s, s:i, s:o, s:o, s:{s:I, s:f, s:f}, "
		"s:i, s:o}",
		"experiment", run->experiment->name, "variant", run->variant, "machine", "name",
		run->machine->name, "cpus", (int)run->model->nr_cpus, "clock_ghz",
		run->machine->clock_ghz, "seed", (json_int_t)seed, "placement", placement, "cap",
		(int)(run->cap ? run->cap : SHARD_MAX_CAP), "params",
		values_json(run->param, run->nr_params), "metrics", metrics, "simulator", "events",
		(json_int_t)sim_events(), "seconds", seconds, "simulated_cycles",
		run_cycles(run, (double)run->simulated), "nr_lines", (int)total, "lines", lines);
}

static json_t *names_json(const char *const *names)
{
	json_t *a = json_array();

	for (; *names; names++)
		json_array_append_new(a, json_string(*names));
	return a;
}

json_t *result_list(void)
{
	json_t *a = json_array();

	for (const struct experiment *const *e = experiments; *e; e++)
		json_array_append_new(a, json_pack("{s:s, s:o, s:o}", "name", (*e)->name,
						   "variants", names_json((*e)->variants), "params",
						   names_json((*e)->params)));
	return a;
}
