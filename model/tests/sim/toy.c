// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "toy.h"

#include <string.h>

#include "machine.h"
#include "sim.h"

static const char text[] = "schema = 1\nname = 'toy'\ntitle = 'toy'\nkind = 'hypothetical'\n"
			   "clock_ghz = 1.0\n"
			   "[topology]\npackages = 2\nnodes_per_package = 1\nllcs_per_node = 2\n"
			   "cores_per_llc = 2\nthreads_per_core = 2\ncores_per_l2 = 1\n"
			   "numbering = 'threads-last'\n"
			   "[latency_ns]\nsmt = 10\nllc = 20\nnode = 100\nremote = 300\n"
			   "home_remote = 310\nmemory = 80\n"
			   "[op_cycles]\nload_hit = 4\nstore = 1\nlocked = 15\nfence = 12\n"
			   "store_buffer = 4\ntimestamp = 30\n"
			   "[source]\nclock_ghz = 'x'\ntopology = 'x'\nlatency_ns = 'x'\n"
			   "op_cycles = 'x'\nprotocol = 'x'\n"
			   "[protocol]\ndata_leg = 0.4\n";

static struct machine *machine;
static struct model model;

void toy_begin(const char *protocol, uint64_t seed)
{
	static uint32_t cpus[16];
	struct shard_err err;
	char all[2048];

	snprintf(all, sizeof(all), "%s%s\n", text, protocol);
	if (machine_parse(&machine, all, strlen(all), "toy", &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	for (uint32_t i = 0; i < 16; i++)
		cpus[i] = i;
	CHECK(!model_build(&model, machine, cpus, 16));
	CHECK(!sim_init(&model, seed));
}

const struct model *toy_model(void)
{
	return &model;
}

void toy_end(void)
{
	sim_exit();
	model_free(&model);
	machine_free(machine);
}
