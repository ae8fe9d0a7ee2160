// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-bench: what the sharded structures cost on this host's CPUs, beside the plain ones.
 *
 * All comparisons run inside one process and one run. Before the first measurement, a check shows
 * that all variants compute the same.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
	"usage: schedshard-bench [--short] [--instructions | --machine FILE]\n"
	"\n"
	"Measures sets, byte maps and counters on this host's CPUs and prints JSON: nanoseconds "
	"an\n"
	"operation, the ratio to the reference of the same group (median, 10th and 90th percentile "
	"of\n"
	"interleaved rounds), and instructions an operation, counted by valgrind.\n"
	"\n"
	"  --short          fewer and shorter rounds: a few seconds in all\n"
	"  --machine FILE   with the CPUs of a machine file: make and free, set and clear, walk; "
	"no\n"
	"                   instructions\n"
	"  --instructions   only count instructions (nothing is timed); an error without "
	"valgrind\n";

struct options {
	bool only_count;
	const char *machine;
	struct bench_effort effort;
};

struct job {
	const struct options *options;
	struct bench_counts *counts;
	struct bench_report *report;
};

static int do_bout(struct bench_bout *bout, void *context)
{
	struct job *job = context;
	int err = 0;

	if (!job->options->only_count)
		err = bench_time_bout(bout, &job->options->effort);
	if (job->counts)
		bench_counts_apply(job->counts, bout);
	return err ? err : bench_report_add(job->report, bout);
}

static int do_contended_bout(struct bench_bout *bout, void *context)
{
	struct job *job = context;
	int err = 0;

	if (!job->options->only_count)
		err = bench_contend_bout(bout, &job->options->effort);
	return err ? err : bench_report_add(job->report, bout);
}

static int bench(const struct options *options)
{
	struct bench_pair pair = bench_pair_find();
	struct job job = { .options = options };
	int err;

	if (bench_verify())
		return 1;
	if (!options->machine) {
		job.counts = bench_counts_get();
		if (!job.counts && options->only_count)
			return 2;
	}
	job.report = bench_report_new(&pair);
	if (!job.report)
		err = -ENOMEM;
	else if (options->machine)
		err = bench_for_each_machine_bout(do_bout, &job);
	else
		err = bench_for_each_bout(do_bout, &job);
	if (!err && !options->machine)
		err = bench_for_each_contended_bout(do_contended_bout, &job);
	if (!err)
		err = bench_report_print(job.report);
	if (err)
		fprintf(stderr, "schedshard-bench: %s\n", strerror(-err));
	bench_report_free(job.report);
	bench_counts_free(job.counts);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct options options = { .effort = { .rounds = 101, .turn_ns = 400e3 } };
	int result;

	/* instructions.c calls its copy this way; private. */
	if (argc == 2 && !strcmp(argv[1], "--count-kernels")) {
		result = bench_counts_run();
		bench_plans_put();
		return result;
	}
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--short")) {
			options.effort = (struct bench_effort){ .rounds = 31, .turn_ns = 100e3 };
		} else if (!strcmp(argv[i], "--instructions")) {
			options.only_count = true;
		} else if (!strcmp(argv[i], "--machine")) {
			options.machine = argv[++i];
			if (!options.machine) {
				fputs("schedshard-bench: --machine needs a file\n", stderr);
				return 2;
			}
		} else if (!strcmp(argv[i], "--help")) {
			fputs(usage, stdout);
			return 0;
		} else {
			fprintf(stderr, "schedshard-bench: unknown option '%s' (see --help)\n",
				argv[i]);
			return 2;
		}
	}
	if (options.machine && options.only_count) {
		fputs("schedshard-bench: give --machine or --instructions, not both\n", stderr);
		return 2;
	}
	result = options.machine ? bench_plans_of_machine(options.machine) : 0;
	result = result ? result : bench(&options);
	bench_plans_put();
	return result;
}
