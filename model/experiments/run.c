// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Functions that experiments call while they run: parameters and reports. */
#include <stdlib.h>
#include <string.h>

#include "experiment.h"

double run_param(const struct run *run, const char *name)
{
	for (uint32_t i = 0; i < run->nr_params; i++)
		if (!strcmp(run->param[i].name, name))
			return run->param[i].value;
	abort(); /* the experiment reads a parameter that it did not list */
}

void run_report(struct run *run, const char *name, double value)
{
	if (run->nr_metrics == RUN_MAX_METRICS)
		abort();
	run->metric[run->nr_metrics++] = (struct run_value){ name, value };
}

int run_fail(struct run *run, const char *why)
{
	size_t n = strlen(why);

	if (n >= sizeof(run->failure))
		n = sizeof(run->failure) - 1;
	memcpy(run->failure, why, n);
	run->failure[n] = '\0';
	return -1;
}
