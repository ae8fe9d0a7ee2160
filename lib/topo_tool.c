// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-topo: a topology and its shard plan, as JSON.
 *
 * The tool prints only after everything has succeeded, so that a reader gets all output or none.
 * Wrong input: one line on standard error, exit status 2.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "topo_json.h"

static const char usage[] = "usage: schedshard-topo SOURCE [--cap N] [--split-llc N]\n"
			    "\n"
			    "Prints a topology and its shard plan as JSON.\n"
			    "\n"
			    "source, one of\n"
			    "  --machine FILE    a machine file, as in machines/\n"
			    "  --sysfs ROOT      the tree below ROOT/sys; / is this machine\n"
			    "  --hwloc-xml FILE  a topology that lstopo wrote\n"
			    "  --live            this machine, as hwloc sees it\n"
			    "\n"
			    "  --cap N           most CPUs in a shard, 1 to 64 (default 64)\n"
			    "  --split-llc N     pretend that every LLC is N, 1 to 8192\n";

struct request {
	const char *source; /* "machine", ...; NULL: not given yet */
	const char *path;
	struct shard_plan_opts opts;
};

__attribute__((noreturn, format(printf, 2, 3))) static void fail(int status, const char *fmt, ...)
{
	va_list ap;

	fputs("schedshard-topo: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(status);
}

static u32 parse_number(const char *option, const char *text, u32 max)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (end == text || *end || errno || number < 1 || number > (long)max)
		fail(2, "--%s: '%s' must be a number from 1 to %u", option, text, max);
	return (u32)number;
}

static void set_source(struct request *request, const char *source, const char *path)
{
	if (request->source)
		fail(2, "--%s and --%s exclude each other: give one source", request->source,
		     source);
	request->source = source;
	request->path = path;
}

static struct request parse_arguments(int argc, char **argv)
{
	enum { MACHINE, SYSFS, HWLOC_XML, LIVE, CAP, SPLIT_LLC, HELP };
	static const struct option longs[] = {
		{ "machine", required_argument, NULL, MACHINE },
		{ "sysfs", required_argument, NULL, SYSFS },
		{ "hwloc-xml", required_argument, NULL, HWLOC_XML },
		{ "live", no_argument, NULL, LIVE },
		{ "cap", required_argument, NULL, CAP },
		{ "split-llc", required_argument, NULL, SPLIT_LLC },
		{ "help", no_argument, NULL, HELP },
		{ NULL, 0, NULL, 0 },
	};
	struct request request = { 0 };
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		switch (opt) {
		case MACHINE:
		case SYSFS:
		case HWLOC_XML:
		case LIVE:
			set_source(&request, longs[opt].name, optarg);
			break;
		case CAP:
			request.opts.cap = parse_number("cap", optarg, SHARD_MAX_CAP);
			break;
		case SPLIT_LLC:
			request.opts.split_llc = parse_number("split-llc", optarg, 8192);
			break;
		case HELP:
			fputs(usage, stdout);
			exit(0);
		case ':':
			fail(2, "%s needs a value (--help shows the usage)", argv[optind - 1]);
		default:
			fail(2, "unknown option '%s' (--help shows the usage)", argv[optind - 1]);
		}
	}
	if (optind < argc)
		fail(2, "'%s' is not an option (--help shows the usage)", argv[optind]);
	if (!request.source)
		fail(2, "give a source: --machine FILE, --sysfs ROOT, --hwloc-xml FILE or --live");
	return request;
}

/*
 * hwloc trusts XML: version 2.9 crashes on an object that has a cpuset but no complete_cpuset, for
 * one. So a child reads the file first; the tool refuses a file that kills it.
 */
static void try_hwloc_xml(const char *path)
{
	struct shard_topo *topo = NULL;
	pid_t child = fork();
	int status = 0;

	if (!child) {
		/* hwloc's assertions write to standard error, on which only our line may appear */
		fclose(stderr);
		alarm(60);
		shard_topo_from_hwloc_xml(&topo, path, NULL);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		fail(1, "no child process could be started: %s", strerror(errno));
	if (WIFSIGNALED(status))
		fail(2, "%s: hwloc fails on it (%s): it must be XML as lstopo writes it", path,
		     strsignal(WTERMSIG(status)));
}

/* Fills @machine or @topo, whichever the source has. */
static void load(const struct request *request, struct machine **machine, struct shard_topo **topo)
{
	struct shard_err err = { "" };
	int ret;

	if (!strcmp(request->source, "machine")) {
		ret = machine_load(machine, request->path, &err);
	} else if (!strcmp(request->source, "sysfs")) {
		ret = shard_topo_from_sysfs(topo, request->path, &err);
	} else if (!strcmp(request->source, "hwloc-xml")) {
		try_hwloc_xml(request->path);
		ret = shard_topo_from_hwloc_xml(topo, request->path, &err);
	} else {
		ret = shard_topo_from_hwloc(topo, &err);
	}
	if (ret)
		fail(2, "%s", err.text);
}

int main(int argc, char **argv)
{
	struct request request = parse_arguments(argc, argv);
	struct shard_topo *topo = NULL;
	struct machine *machine = NULL;
	const struct shard_topo *records;
	enum shard_plan_err plan_err;
	struct shard_plan *plan;
	u32 bad_cpu = UINT32_MAX;

	/* hwloc explains broken input in boxes of stars; only our line may appear */
	setenv("HWLOC_HIDE_ERRORS", "2", 1);
	load(&request, &machine, &topo);
	records = machine ? &machine->topo : topo;
	request.opts.bad_cpu = &bad_cpu;
	plan_err = shard_plan_build(&plan, records, &request.opts);
	if (plan_err && bad_cpu != UINT32_MAX)
		fail(2, "%s: no shard plan: %s (CPU %u)",
		     request.path ? request.path : "this machine", shard_plan_strerror(plan_err),
		     bad_cpu);
	if (plan_err)
		fail(2, "%s: no shard plan: %s", request.path ? request.path : "this machine",
		     shard_plan_strerror(plan_err));
	if (!topo_write_json(stdout, request.source, records, plan, machine))
		fail(1, "the output could not be written");
	shard_plan_free(plan);
	machine_free(machine);
	shard_topo_free(topo);
	return 0;
}
