// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-measure: measures latencies between CPUs, and operation costs, of this host.
 *
 * Output is JSON on stdout. It contains only numbers, so printf() can write it: no text needs
 * escaping. The program writes it once, at the end, so after an error there is no output. Errors
 * are one line on stderr and exit status 2 (wrong request) or 1.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "command_line.h"
#include "cpulist.h"
#include "measure.h"

#define MAX_SAMPLES 10000
#define MAX_LIMIT   86400

/* A pair to measure, and its result. */
struct job {
	u32 a, b, home;
	double ns;
};

struct jobs {
	struct job *job;
	u32 nr, room;
};

/* The parsed command line. Without pairs: all pairs of cpus. limit: seconds, 0: none. */
struct request {
	struct cpulist cpus;
	struct jobs pairs, homes;
	long samples, limit;
};

static struct {
	bool shown;
	u32 done, total;
	double last;
} progress;

/* Report progress after a measurement: at most ten lines per second, and always the last one. */
static void step(void)
{
	double now = sample_now_ns();

	progress.done++;
	if (!progress.shown || (now - progress.last < 1e8 && progress.done < progress.total))
		return;
	progress.last = now;
	fprintf(stderr, "progress %u %u\n", progress.done, progress.total);
	fflush(stderr);
}

static void add_job(struct jobs *jobs, u32 a, u32 b, u32 home)
{
	if (jobs->nr == jobs->room) {
		u32 room = jobs->room ? jobs->room * 2 : 256;
		struct job *job = realloc(jobs->job, room * sizeof(*job));

		if (!job)
			errx(1, "out of memory");
		jobs->job = job;
		jobs->room = room;
	}
	jobs->job[jobs->nr++] = (struct job){ .a = a, .b = b, .home = home };
}

enum { CPUS = 256, PAIRS, LIMIT, SAMPLES, HOME, PROGRESS };

static const struct argp_option option[] = {
	{ "cpus", CPUS, "LIST", 0, "measure between all of these CPUs, operations on the first one",
	  0 },
	{ "pairs", PAIRS, "A:B,...", 0, "measure these pairs only, in this order", 0 },
	{ "limit", LIMIT, "SECONDS", 0,
	  "time for all measurements: operations get a third, pairs the rest", 0 },
	{ "samples", SAMPLES, "N", 0,
	  "runs of each measurement, of which the lower quartile counts (default: 50)", 0 },
	{ "home", HOME, "A:B@H", 0,
	  "measure A and B once more, with the line's home on the node of CPU H", 0 },
	{ "progress", PROGRESS, NULL, 0, "lines 'progress DONE TOTAL' on stderr", 0 },
	{ 0 },
};

static void add_home(const char *text, struct jobs *jobs)
{
	unsigned int a, b, home;
	int end = 0;

	if (strspn(text, "0123456789:@") != strlen(text) ||
	    sscanf(text, "%6u:%6u@%6u%n", &a, &b, &home, &end) != 3 || text[end])
		errx(2, "--home %.40s: CPU numbers as A:B@H are needed", text);
	if (a == b)
		errx(2, "--home %.40s: two different CPUs are needed", text);
	if (a >= SHARD_LIB_MAX_CPUS || b >= SHARD_LIB_MAX_CPUS || home >= SHARD_LIB_MAX_CPUS)
		errx(2, "--home %.40s: CPU numbers must be at most %d", text,
		     SHARD_LIB_MAX_CPUS - 1);
	add_job(jobs, a, b, home);
}

/* Pairs of two different CPUs, separated by commas. */
static void add_pairs(const char *text, struct jobs *jobs)
{
	while (*text) {
		unsigned int a, b;
		int end = 0;

		if (strspn(text, "0123456789:") < 3 ||
		    sscanf(text, "%6u:%6u%n", &a, &b, &end) != 2 ||
		    (text[end] && (text[end] != ',' || !text[end + 1])))
			errx(2, "--pairs: \"%.40s\": CPU numbers as A:B,A:B are needed", text);
		if (a == b || a >= SHARD_LIB_MAX_CPUS || b >= SHARD_LIB_MAX_CPUS)
			errx(2, "--pairs: %u:%u: two different CPUs below %d are needed", a, b,
			     SHARD_LIB_MAX_CPUS);
		add_job(jobs, a, b, a);
		text += end + (text[end] == ',');
	}
	if (!jobs->nr)
		errx(2, "--pairs is empty: name at least one pair");
}

static void print_jobs(const char *name, const struct job *job, u32 nr, bool home)
{
	printf(",\"%s\":[", name);
	for (u32 i = 0; i < nr; i++) {
		printf("%s{\"a\":%u,\"b\":%u", i ? "," : "", job[i].a, job[i].b);
		if (home)
			printf(",\"home\":%u", job[i].home);
		printf(",\"ns\":%.3f}", job[i].ns);
	}
	putchar(']');
}

static void print_all(const struct jobs *pairs, const struct jobs *homes,
		      const struct measure_ops *ops, u32 cpu, u32 samples, u32 left_out)
{
	printf("{\"cpu\":%u,\"samples\":%u,\"left_out\":%u,\"ops_ns\":{\"cycle\":%.5f,\"load_hit\":"
	       "%.4f,"
	       "\"store\":%.4f,\"locked\":%.4f,\"fence\":%.4f,\"timestamp\":%.4f,"
	       "\"memory\":%.3f,\"yield_switch\":%.2f}",
	       cpu, samples, left_out, ops->cycle, ops->load_hit, ops->store, ops->locked,
	       ops->fence, ops->timestamp, ops->memory, ops->yield_switch);
	print_jobs("pairs", pairs->job, pairs->nr, false);
	print_jobs("homes", homes->job, homes->nr, true);
	puts("}");
	if (fflush(stdout) || ferror(stdout))
		err(1, "cannot write to stdout");
}

/* The text of an error. EINVAL: the CPU for the thread does not exist. */
static const char *reason(int error)
{
	return error == EINVAL ? "no such CPU, or this process may not use it" : strerror(error);
}

/* Measure the pairs one after the other; when the time is up, drop the rest. */
static void run_jobs(struct jobs *jobs, u32 samples, double deadline)
{
	for (u32 i = 0; i < jobs->nr; i++) {
		struct job *job = &jobs->job[i];
		int ret;

		if (deadline > 0 && sample_now_ns() >= deadline) {
			jobs->nr = i;
			break;
		}
		ret = measure_pair(job->a, job->b, job->home, samples, deadline, &job->ns);
		if (ret)
			errx(ret == EINVAL ? 2 : 1, "CPUs %u, %u (home %u): %s", job->a, job->b,
			     job->home, reason(ret));
		step();
	}
}

static void all_pairs(const struct cpulist *cpus, struct jobs *pairs)
{
	u32 a, b;

	cpulist_for_each(a, cpus)
	{
		for (b = shard_cpulist_next(cpus, a + 1); b < SHARD_LIB_MAX_CPUS;
		     b = shard_cpulist_next(cpus, b + 1)) {
			add_job(pairs, a, b, a);
		}
	}
}

/* Measure operations first, then the few pairs with a far home, then the other pairs. */
static void measure(u32 cpu, struct request *request)
{
	struct jobs *pairs = &request->pairs, *homes = &request->homes;
	double limit = (double)request->limit * 1e9;
	double deadline = limit > 0 ? sample_now_ns() + limit : 0;
	u32 asked = pairs->nr + homes->nr, samples = (u32)request->samples;
	struct measure_ops ops = { 0 };
	int ret;

	progress.total = asked + MEASURE_OPS;
	ret = measure_ops(cpu, samples, limit / 3, &ops, step);
	if (ret)
		errx(ret == EINVAL ? 2 : 1, "CPU %u: %s", cpu, reason(ret));
	run_jobs(homes, samples, deadline);
	run_jobs(pairs, samples, deadline);
	print_all(pairs, homes, &ops, cpu, samples, asked - pairs->nr - homes->nr);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;
	const char *why;

	switch (key) {
	case CPUS:
		why = shard_cpulist_parse(&request->cpus, arg, strlen(arg));
		if (why)
			errx(2, "--cpus: \"%.60s\" %s", arg, why);
		return 0;
	case SAMPLES:
		request->samples = (long)whole_number("--samples", arg, 1, MAX_SAMPLES);
		return 0;
	case HOME:
		add_home(arg, &request->homes);
		return 0;
	case PAIRS:
		add_pairs(arg, &request->pairs);
		return 0;
	case LIMIT:
		request->limit = (long)whole_number("--limit", arg, 1, MAX_LIMIT);
		return 0;
	case PROGRESS:
		progress.shown = true;
		return 0;
	case ARGP_KEY_END:
		if (!shard_cpulist_weight(&request->cpus))
			errx(2, "give the CPUs to measure: --cpus LIST");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option,
	.parser = parse,
	.doc = "Measure latencies between CPUs and operation costs of this host; print JSON.",
};

int main(int argc, char **argv)
{
	struct request request = { .samples = 50 };

	command_line(&argp, argc, argv, &request);
	if (!request.pairs.nr)
		all_pairs(&request.cpus, &request.pairs);
	measure(shard_cpulist_next(&request.cpus, 0), &request);
	free(request.homes.job);
	free(request.pairs.job);
	return 0;
}
