// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-measure: latencies between CPUs and operation costs of this host.
 *
 * Output is JSON on stdout with numbers only, so that printf() writes it: no text needs escaping.
 * The program writes it at the end, in one piece: after an error there is none. Errors are one line
 * on stderr and exit status 2 (wrong request) or 1.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "complain.h"
#include "cpulist.h"
#include "measure.h"

#define MAX_SAMPLES 10000
#define MAX_LIMIT   86400

/* A pair to measure; its result. */
struct job {
	u32 a, b, home;
	double ns;
};

struct jobs {
	struct job *job;
	u32 nr, room;
};

/* The command line. Without pairs: all of cpus; limit: seconds, 0 is none. */
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

static int add_job(struct jobs *jobs, u32 a, u32 b, u32 home)
{
	if (jobs->nr == jobs->room) {
		u32 room = jobs->room ? jobs->room * 2 : 256;
		struct job *job = realloc(jobs->job, room * sizeof(*job));

		if (!job)
			return ENOMEM;
		jobs->job = job;
		jobs->room = room;
	}
	jobs->job[jobs->nr++] = (struct job){ .a = a, .b = b, .home = home };
	return 0;
}

static const char usage[] =
	"usage: schedshard-measure --cpus LIST [--pairs A:B,...] [--samples N] [--home A:B@H]...\n"
	"                          [--limit SECONDS] [--progress]\n"
	"  --cpus LIST      measure between all of these CPUs, operations on the first one\n"
	"  --pairs A:B,...  measure these pairs only, in this order\n"
	"  --limit SECONDS  operations get a third of it; then pairs, as many as there is time "
	"for\n"
	"  --samples N      runs of each measurement, of which the lower quartile counts (default "
	"50)\n"
	"  --home A:B@H     measure A and B once more, with the line's home on the node of CPU H\n"
	"  --progress       lines 'progress DONE TOTAL' on stderr\n";

static int parse_home(const char *text, struct jobs *jobs)
{
	unsigned int a, b, home;
	int end = 0;

	if (strspn(text, "0123456789:@") != strlen(text) ||
	    sscanf(text, "%6u:%6u@%6u%n", &a, &b, &home, &end) != 3 || text[end])
		return complain(2, "--home %.40s: CPU numbers as A:B@H are needed", text);
	if (a == b)
		return complain(2, "--home %.40s: two different CPUs are needed", text);
	if (a >= SHARD_LIB_MAX_CPUS || b >= SHARD_LIB_MAX_CPUS || home >= SHARD_LIB_MAX_CPUS)
		return complain(2, "--home %.40s: CPU numbers end at %d", text,
				SHARD_LIB_MAX_CPUS - 1);
	return add_job(jobs, a, b, home) ? complain(1, "out of memory") : 0;
}

/* Pairs of two different CPUs, separated by commas. */
static int parse_pairs(const char *text, struct jobs *jobs)
{
	while (*text) {
		unsigned int a, b;
		int end = 0;

		if (strspn(text, "0123456789:") < 3 ||
		    sscanf(text, "%6u:%6u%n", &a, &b, &end) != 2 ||
		    (text[end] && (text[end] != ',' || !text[end + 1])))
			return complain(2, "--pairs: \"%.40s\": CPU numbers as A:B,A:B are needed",
					text);
		if (a == b || a >= SHARD_LIB_MAX_CPUS || b >= SHARD_LIB_MAX_CPUS)
			return complain(2, "--pairs: %u:%u: two different CPUs below %d are needed",
					a, b, SHARD_LIB_MAX_CPUS);
		if (add_job(jobs, a, b, a))
			return complain(1, "out of memory");
		text += end + (text[end] == ',');
	}
	return jobs->nr ? 0 : complain(2, "--pairs: it is empty, it must name at least one pair");
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

static int print_all(const struct jobs *pairs, const struct jobs *homes,
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
		return complain(1, "cannot write to stdout: %s", strerror(errno));
	return 0;
}

/* EINVAL: the CPU on which to place the thread does not exist. */
static const char *reason(int error)
{
	return error == EINVAL ? "no such CPU, or this process may not use it" : strerror(error);
}

/* Measures one after the other; when the time is up it drops the rest. */
static int run_jobs(struct jobs *jobs, u32 samples, double deadline)
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
			return complain(ret == EINVAL ? 2 : 1, "CPUs %u, %u (home %u): %s", job->a,
					job->b, job->home, reason(ret));
		step();
	}
	return 0;
}

static int all_pairs(const struct cpulist *cpus, struct jobs *pairs)
{
	u32 a, b;

	cpulist_for_each(a, cpus)
	{
		for (b = shard_cpulist_next(cpus, a + 1); b < SHARD_LIB_MAX_CPUS;
		     b = shard_cpulist_next(cpus, b + 1)) {
			if (add_job(pairs, a, b, a))
				return complain(1, "out of memory");
		}
	}
	return 0;
}

/* Operations first, then pairs with a far home, which are few, then the others. */
static int measure(u32 cpu, struct request *request)
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
		return complain(ret == EINVAL ? 2 : 1, "CPU %u: %s", cpu, reason(ret));
	ret = run_jobs(homes, samples, deadline);
	if (!ret)
		ret = run_jobs(pairs, samples, deadline);
	if (!ret)
		ret = print_all(pairs, homes, &ops, cpu, samples, asked - pairs->nr - homes->nr);
	return ret;
}

static int parse_number(const char *option, const char *text, const char *what, long most,
			long *number)
{
	char *end;
	long parsed = strtol(text, &end, 10);

	if (*end || end == text || parsed < 1 || parsed > most)
		return complain(2, "%s %.40s: give %s from 1 to %ld", option, text, what, most);
	*number = parsed;
	return 0;
}

static int parse_cpus(const char *text, struct cpulist *cpus)
{
	const char *why = shard_cpulist_parse(cpus, text, strlen(text));

	return why ? complain(2, "--cpus: \"%.60s\" %s", text, why) : 0;
}

static int parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{ "cpus", required_argument, NULL, 'c' },
		{ "samples", required_argument, NULL, 's' },
		{ "home", required_argument, NULL, 'h' },
		{ "pairs", required_argument, NULL, 'a' },
		{ "limit", required_argument, NULL, 'l' },
		{ "progress", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, '?' },
		{ NULL, 0, NULL, 0 },
	};
	int option, ret = 0;

	while (!ret && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			ret = parse_cpus(optarg, &request->cpus);
			break;
		case 's':
			ret = parse_number("--samples", optarg, "a number", MAX_SAMPLES,
					   &request->samples);
			break;
		case 'h':
			ret = parse_home(optarg, &request->homes);
			break;
		case 'a':
			ret = parse_pairs(optarg, &request->pairs);
			break;
		case 'l':
			ret = parse_number("--limit", optarg, "seconds", MAX_LIMIT,
					   &request->limit);
			break;
		case 'p':
			progress.shown = true;
			break;
		default:
			fputs(usage, stderr);
			ret = 2;
		}
	}
	if (!ret && (optind < argc || !shard_cpulist_weight(&request->cpus))) {
		ret = complain(2, "--cpus LIST is needed, nothing else without --");
		fputs(usage, stderr);
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct request request = { .samples = 50 };
	int ret = parse(argc, argv, &request);

	if (!ret && !request.pairs.nr)
		ret = all_pairs(&request.cpus, &request.pairs);
	if (!ret)
		ret = measure(shard_cpulist_next(&request.cpus, 0), &request);
	free(request.homes.job);
	free(request.pairs.job);
	return ret;
}
