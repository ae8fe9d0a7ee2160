/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef EXPERIMENTS_OPTIONS_H
#define EXPERIMENTS_OPTIONS_H

#include "experiment.h"

struct options {
	const struct experiment *experiment; /* NULL with @list or @pairs */
	const char *variant, *machine;
	uint32_t cpus; /* 0: all */
	uint32_t cap;  /* most CPUs in a shard, 0: the plan's default */
	uint64_t seed;
	bool list;
	bool pairs;    /* print pairs of CPUs, run nothing */
	bool has_from; /* with @pairs: pair @from with every other CPU */
	uint32_t from;
	uint32_t *on; /* simulate these CPUs in this order, instead of @cpus by @placement */
	uint32_t nr_on;
	bool is_pair; /* @on came from a pair */
	struct run_value param[RUN_MAX_METRICS];
	uint32_t nr_params;
};

/**
 * options_parse - fill @o; on an error print one line and exit with status 2.
 */
void options_parse(struct options *o, int argc, char **argv);

#endif
