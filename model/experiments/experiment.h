/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * experiment.h - one run of an experiment: its inputs and its report.
 *
 * An experiment builds its data in the simulated arena, runs one body on every simulated CPU, and
 * reports figures by name. Its caller supplies the parameters (model/experiments/NAME.toml contains
 * them with their sources). There are no defaults here, so that each figure has one place.
 */
#ifndef EXPERIMENTS_EXPERIMENT_H
#define EXPERIMENTS_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim.h"

#define RUN_MAX_METRICS 64

struct machine;
struct run;

struct experiment {
	const char *name;
	const char *const *variants; /* NULL-terminated */
	const char *const *params;   /* NULL-terminated; all are required */
	const char *const *objects;  /* NULL-terminated: report only their lines; NULL: all */
	/* Returns 0, or -1 after run_fail(). The simulated machine has just been initialised. */
	int (*execute)(struct run *run);
};

struct run_value {
	const char *name;
	double value;
};

struct run {
	const struct experiment *experiment;
	const char *variant;
	const struct machine *machine;
	const struct model *model;
	uint32_t cap; /* most CPUs in a shard, 0: the plan's default */
	struct run_value param[RUN_MAX_METRICS];
	uint32_t nr_params;
	struct run_value metric[RUN_MAX_METRICS];
	uint32_t nr_metrics;
	uint64_t simulated; /* picoseconds */
	char failure[200];
};

extern const struct experiment *const experiments[]; /* NULL-terminated */

/**
 * run_param - return a parameter that the experiment lists; options.c has checked that it was
 * given.
 */
double run_param(const struct run *run, const char *name);

/** run_report - add a figure to the result; each name is reported once. */
void run_report(struct run *run, const char *name, double value);

/**
 * run_fail - record in one line why the run is impossible. Returns -1.
 */
int run_fail(struct run *run, const char *why);

static inline double run_cycles(const struct run *run, double ps)
{
	return ps / run->model->ps_per_cycle;
}

#endif
