// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-bench: compares the cost of the sharded structures with plain ones on this host's
 * CPUs.
 *
 * All comparisons run inside one process and one run. Before the first measurement the program
 * checks that all variants compute the same.
 */
#include "bench.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command_line.h"

enum { SHORT = 256, MACHINE, INSTRUCTIONS };

static const struct argp_option option[] = {
	{ "short", SHORT, NULL, 0, "fewer and shorter rounds: a few seconds in all", 0 },
	{ "machine", MACHINE, "FILE", 0,
	  "for the CPUs of a machine file: only make and free, set and clear, and walks", 0 },
	{ "instructions", INSTRUCTIONS, NULL, 0,
	  "only count instructions (nothing is timed); an error without valgrind", 0 },
	{ 0 },
};

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

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case SHORT:
		o->effort = (struct bench_effort){ .rounds = 31, .turn_ns = 100e3 };
		return 0;
	case MACHINE:
		o->machine = arg;
		return 0;
	case INSTRUCTIONS:
		o->only_count = true;
		return 0;
	case ARGP_KEY_END:
		if (o->machine && o->only_count)
			errx(2, "give --machine or --instructions, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option,
	.parser = parse,
	.doc = "Measure sets and counters on this host's CPUs and print JSON: "
	       "nanoseconds per operation, the ratio to the reference of the same group (median, "
	       "10th and 90th percentile of interleaved rounds), and instructions per operation, "
	       "counted by valgrind.",
};

int main(int argc, char **argv)
{
	struct options options = { .effort = { .rounds = 101, .turn_ns = 400e3 } };
	int result;

	/* instructions.c starts the copy of the program with this private option. */
	if (argc == 2 && !strcmp(argv[1], "--count-kernels")) {
		result = bench_counts_run();
		bench_plans_put();
		return result;
	}
	command_line(&argp, argc, argv, &options);
	result = options.machine ? bench_plans_of_machine(options.machine) : 0;
	result = result ? result : bench(&options);
	bench_plans_put();
	return result;
}
