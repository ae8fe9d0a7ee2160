// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-topo: a topology and its shard plan, as JSON.
 *
 * The tool prints only after everything else has succeeded, so a reader gets all output or none.
 * Wrong input: one line on standard error, exit status 2.
 */
#include <err.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "command_line.h"
#include "machine.h"
#include "topo_json.h"

enum { MACHINE = 256, SYSFS, LIVE, CAP, SPLIT_LLC };

static const struct argp_option option[] = {
	{ "machine", MACHINE, "FILE", 0, "a machine in its flat form", 1 },
	{ "sysfs", SYSFS, "ROOT", 0, "the tree below ROOT/sys; / is this machine", 1 },
	{ "live", LIVE, NULL, 0, "this machine", 1 },
	{ "cap", CAP, "N", 0, "most CPUs in a shard, 1 to 64 (default 64)", 2 },
	{ "split-llc", SPLIT_LLC, "N", 0, "treat every LLC as N LLCs, 1 to 8192", 2 },
	{ 0 },
};

struct request {
	const char *source; /* "machine", ...; NULL: not given yet */
	const char *path;
	struct shard_plan_opts opts;
};

static void set_source(struct request *request, const char *source, const char *path)
{
	if (request->source)
		errx(2, "--%s and --%s exclude each other: give one source", request->source,
		     source);
	request->source = source;
	request->path = path;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case MACHINE:
	case SYSFS:
	case LIVE:
		set_source(request, option[key - MACHINE].name, arg);
		return 0;
	case CAP:
		request->opts.cap = (u32)whole_number("--cap", arg, 1, SHARD_MAX_CAP);
		return 0;
	case SPLIT_LLC:
		request->opts.split_llc = (u32)whole_number("--split-llc", arg, 1, 8192);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option,
	.parser = parse,
	.args_doc = "--machine FILE|--sysfs ROOT|--live",
	.doc = "Print the topology of one source and its shard plan as JSON.",
};

/* Fills @machine or @topo, depending on the source. */
static void load(const struct request *request, struct machine **machine, struct shard_topo **topo)
{
	struct shard_err err = { "" };
	int ret;

	if (!strcmp(request->source, "machine"))
		ret = machine_load(machine, request->path, &err);
	else
		ret = shard_topo_from_sysfs(topo, request->path ? request->path : "/", &err);
	if (ret)
		errx(2, "%s", err.text);
}

int main(int argc, char **argv)
{
	struct request request = { 0 };
	struct shard_topo *topo = NULL;
	struct machine *machine = NULL;
	const struct shard_topo *records;
	enum shard_plan_err plan_err;
	struct shard_plan *plan;
	u32 bad_cpu = UINT32_MAX;

	command_line(&argp, argc, argv, &request);
	if (!request.source)
		errx(2, "give a source: --machine FILE, --sysfs ROOT or --live");
	load(&request, &machine, &topo);
	records = machine ? &machine->topo : topo;
	request.opts.bad_cpu = &bad_cpu;
	plan_err = shard_plan_build(&plan, records, &request.opts);
	if (plan_err && bad_cpu != UINT32_MAX)
		errx(2, "%s: no shard plan: %s (CPU %u)",
		     request.path ? request.path : "this machine", shard_plan_strerror(plan_err),
		     bad_cpu);
	if (plan_err)
		errx(2, "%s: no shard plan: %s", request.path ? request.path : "this machine",
		     shard_plan_strerror(plan_err));
	if (!topo_write_json(stdout, request.source, records, plan, machine))
		errx(1, "the output could not be written");
	shard_plan_free(plan);
	machine_free(machine);
	shard_topo_free(topo);
	return 0;
}
