/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* result.h - a finished run as JSON; docs/reports.md describes the format. */
#ifndef EXPERIMENTS_RESULT_H
#define EXPERIMENTS_RESULT_H

#include <jansson.h>

#include "experiment.h"

/*
 * result_json - return the whole result of a run; only @seconds (of processor time) differs between
 * runs.
 */
json_t *result_json(const struct run *run, uint64_t seed, const char *placement, double seconds);

/** result_list - return all experiments with variants and parameters. */
json_t *result_list(void);

#endif
