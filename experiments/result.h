/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* result.h - a finished run as JSON; docs/reports.md describes the format. */
#ifndef EXPERIMENTS_RESULT_H
#define EXPERIMENTS_RESULT_H

#include <jansson.h>

#include "experiment.h"

/** result_json - all about a run; only @seconds (of processor time) does not repeat. */
json_t *result_json(const struct run *run, uint64_t seed, const char *placement, double seconds);

/** result_list - all experiments with variants and parameters. */
json_t *result_list(void);

#endif
