/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * explore_report.h - the result of a search as JSON, and the same JSON as text.
 *
 * The schedule of a violation is a table with one line per step: the CPU, its program or its store
 * buffer, the operation, the object and the value. A line ends with the function and source line,
 * which addr2line finds in the program's debug information.
 */
#ifndef SIM_EXPLORE_REPORT_H
#define SIM_EXPLORE_REPORT_H

#include <jansson.h>

#include "explore_search.h"

struct x_run {
	const struct explore_case *c;
	uint32_t nr_cpus;
	enum x_model model;
	struct x_options options;
	double seconds;
};

/* Names as on the command line. */
const char *x_model_name(enum x_model m);
const char *x_search_name(enum x_search s);

/*
 * Return the report, a new reference. Call it while the machine still has the state of the case's
 * set-up.
 */
json_t *x_report(const struct x_run *run, const struct x_stats *s);

/* Print a report for people, on stdout. */
void x_report_text(const json_t *report);

#endif
