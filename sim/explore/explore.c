// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-explore - run a small concurrent case in all its interleavings.
 *
 * Why "clean" means that the code is right, for the case, on the machine modelled:
 *
 * 1. The code is the real one: core/ as it is, compiled against port/sim. The compiler's
 *    thread-sanitizer instrumentation reports each access to shared memory, so that each is a
 *    step of the machine (explore_machine.c).
 * 2. Runs differ only in the order of steps, including a store buffer's flushes, and in the
 *    model weak in the value that a load returns. Nothing else is nondeterministic.
 * 3. The search runs each order of steps, with two exceptions. It leaves out an order that is
 *    equivalent to one that it ran: each program sees the same values (explore_dpor.c). It
 *    stops at a state from which it has continued before (explore_states.c). Otherwise the
 *    search says "complete": false.
 * 4. The property is a function of the values seen: it fails in the order that ran if it fails
 *    in an equivalent one. If a property speaks of real time, steps stand for real time
 *    (explore_ghost_set() in explore_case.h).
 *
 * "Clean" says nothing about more CPUs or longer programs than the case's. It says nothing about
 * the compiler's treatment of non-atomic accesses, except their data races. In no model do stores
 * pass earlier loads of their CPU. Only the model weak (explore_weak.c) shows whether smp_wmb(),
 * smp_rmb(), acquire and release are where they must be: on x86 they are not instructions.
 *
 * Exit status: 0 no violation, 1 violation, 2 bad usage.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "explore_report.h"
#include "explore_search.h"

/* Most executions for the search of a shorter failing schedule. */
#define SHORTEN_EXECUTIONS 200000

static void usage(FILE *to)
{
	fprintf(to,
		"usage: schedshard-explore CASE [--cpus N] [--model tso|sc|posted|weak]\n"
		"                               [--search dpor|states|brute]\n"
		"                               [--preemptions N] [--executions N] [--text]\n"
		"       schedshard-explore --list\n"
		"\n"
		"Runs CASE in every interleaving of its CPUs' memory accesses. JSON on stdout.\n"
		"\n"
		"  --cpus N         simulated CPUs (default: the least the case is made for)\n"
		"  --model M        tso: x86, each CPU with a store buffer; sc: without; posted: "
		"tso, and\n"
		"                   atomic operations without a result wait in the buffer too;\n"
		"                   weak: loads pass loads and stores, stores pass stores\n"
		"                   (default: the case's own, else tso)\n"
		"  --search S       dpor: one execution of each equivalence class (default, not "
		"for "
		"weak);\n"
		"                   states: each state once; brute: every execution\n"
		"  --preemptions N  only executions with at most N preemptions (search states or "
		"brute);\n"
		"                   a load of an old value counts as one\n"
		"  --executions N   stop after N executions\n"
		"  --text           text instead of JSON\n"
		"  --list           JSON list of all cases\n"
		"\n"
		"Exit status: 0 no violation, 1 violation found, 2 bad usage.\n");
}

#define BAD(...)                                             \
	do {                                                 \
		fprintf(stderr, "schedshard: " __VA_ARGS__); \
		fputc('\n', stderr);                         \
		exit(2);                                     \
	} while (0)

#define for_each_case(c)                                                                \
	for (const struct explore_case *const *list = explore_all_cases; *list; list++) \
		for (const struct explore_case *c = *list; c->name; c++)

/* Insertions, deletions and replacements that turn @a into @b. */
static size_t distance(const char *a, const char *b)
{
	size_t row[64], nb = strlen(b);

	if (nb >= 64)
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < nb; j++) {
			size_t best = diagonal + (a[i] != b[j]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j + 1] + 1 < best)
				best = row[j + 1] + 1;
			diagonal = row[j + 1];
			row[j + 1] = best;
		}
	}
	return row[nb];
}

static const struct explore_case *find_case(const char *name)
{
	const char *nearest = NULL;
	size_t least = SIZE_MAX;

	for_each_case(c)
	{
		size_t d = distance(name, c->name);

		if (!d)
			return c;
		if (d < least) {
			least = d;
			nearest = c->name;
		}
	}
	BAD("no case is called '%s'; the nearest name is '%s' (--list shows all)", name, nearest);
}

static enum x_model own_model(const struct explore_case *c)
{
	return c->weak ? X_WEAK : c->posted ? X_POSTED : X_TSO;
}

static int list_cases(void)
{
	json_t *all = json_array();

	for_each_case(c)
	{
		json_t *j = json_object();

		json_object_set_new(j, "name", json_string(c->name));
		json_object_set_new(j, "title", json_string(c->title));
		json_object_set_new(j, "kind", json_string(c->kind));
		json_object_set_new(j, "model", json_string(x_model_name(own_model(c))));
		json_object_set_new(j, "min_cpus", json_integer(c->min_cpus));
		json_object_set_new(j, "max_cpus", json_integer(c->max_cpus));
		json_array_append_new(all, j);
	}
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
	return 0;
}

static uint64_t parse_number(const char *option, const char *text, uint64_t min, uint64_t max)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || n < min || n > max)
		BAD("%s: '%s' is not a number from %llu to %llu", option, text,
		    (unsigned long long)min, (unsigned long long)max);
	return n;
}

static void search(const struct x_run *run, const struct x_options *o, struct x_stats *s)
{
	bool dpor = o->search == X_SEARCH_DPOR;

	memset(s, 0, sizeof(*s));
	x_machine_init(run->c, run->nr_cpus, run->model, o->search == X_SEARCH_STATES);
	if (dpor)
		x_search_dpor(o, s);
	else
		x_search_states(o, s);
}

/*
 * A failing schedule with as few preemptions as possible: search with a bound that grows from 0
 * until an execution fails. These searches supply only the schedule.
 */
static void shorten(const struct x_run *run, struct x_stats *found)
{
	for (uint32_t bound = 0; bound <= found->shortest->preemptions; bound++) {
		struct x_options o = { .search = X_SEARCH_STATES,
				       .preemptions = bound,
				       .max_executions = SHORTEN_EXECUTIONS };
		struct x_stats s;

		search(run, &o, &s);
		if (s.shortest) {
			struct x_schedule *longer = found->shortest;

			found->shortest = s.shortest;
			s.shortest = longer;
			x_stats_free(&s);
			return;
		}
		x_stats_free(&s);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static enum x_model parse_model(const char *text)
{
	enum x_model model = X_SC;

	for (; strcmp(text, x_model_name(model)); model++) {
		if (model == X_WEAK)
			BAD("--model: '%s' is none of 'tso', 'sc', 'posted', 'weak'", text);
	}
	return model;
}

static enum x_search parse_search(const char *text)
{
	enum x_search search = X_SEARCH_DPOR;

	for (; strcmp(text, x_search_name(search)); search++) {
		if (search == X_SEARCH_BRUTE)
			BAD("--search: '%s' is none of 'dpor', 'states', 'brute'", text);
	}
	return search;
}

/* What was not given, for the case that was; refuses what does not go together. */
static void complete(struct x_run *run, const char *name, bool search_given, bool model_given)
{
	struct x_options *o = &run->options;

	if (o->preemptions != X_NO_BOUND) {
		if (search_given && o->search == X_SEARCH_DPOR)
			BAD("--preemptions does not go with --search dpor, only with states or "
			    "brute");
		if (!search_given)
			o->search = X_SEARCH_STATES;
	}
	run->c = find_case(name);
	if (!model_given)
		run->model = own_model(run->c);
	if (run->model == X_WEAK && search_given && o->search == X_SEARCH_DPOR)
		BAD("--model weak does not go with --search dpor, only with states or brute");
	if (run->model == X_WEAK && !search_given)
		o->search = X_SEARCH_STATES;
	if (!run->nr_cpus)
		run->nr_cpus = run->c->min_cpus;
	if (run->nr_cpus < run->c->min_cpus || run->nr_cpus > run->c->max_cpus)
		BAD("--cpus %u: case '%s' is for %u to %u CPUs", run->nr_cpus, run->c->name,
		    run->c->min_cpus, run->c->max_cpus);
}

static void parse(int argc, char **argv, struct x_run *run, bool *text)
{
	static const struct option longs[] = {
		{ "cpus", required_argument, NULL, 'c' },
		{ "model", required_argument, NULL, 'm' },
		{ "search", required_argument, NULL, 's' },
		{ "preemptions", required_argument, NULL, 'p' },
		{ "executions", required_argument, NULL, 'e' },
		{ "text", no_argument, NULL, 't' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct x_options *o = &run->options;
	bool search_given = false, model_given = false;
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		switch (opt) {
		case 'c':
			run->nr_cpus = (uint32_t)parse_number("--cpus", optarg, 1, 4096);
			break;
		case 'm':
			model_given = true;
			run->model = parse_model(optarg);
			break;
		case 's':
			search_given = true;
			o->search = parse_search(optarg);
			break;
		case 'p':
			o->preemptions = (uint32_t)parse_number("--preemptions", optarg, 0, 1000);
			break;
		case 'e':
			o->max_executions = parse_number("--executions", optarg, 1, UINT64_MAX);
			break;
		case 't':
			*text = true;
			break;
		case 'l':
			exit(list_cases());
		case 'h':
			usage(stdout);
			exit(0);
		case ':':
			BAD("%s needs a value (--help shows the usage)", argv[optind - 1]);
		default:
			BAD("unknown option '%s' (--help shows the usage)", argv[optind - 1]);
		}
	}
	if (optind + 1 != argc)
		BAD("%s (--help shows the usage)",
		    optind == argc ? "which case? (--list shows all)" : "only one case at a time");
	complete(run, argv[optind], search_given, model_given);
}

int main(int argc, char **argv)
{
	struct x_run run = { .options.preemptions = X_NO_BOUND };
	struct x_stats stats;
	bool text = false;
	json_t *report;
	double start;
	int status;

	parse(argc, argv, &run, &text);
	start = now();
	search(&run, &run.options, &stats);
	run.seconds = now() - start;
	if (stats.shortest)
		shorten(&run, &stats);
	report = x_report(&run, &stats);
	if (text) {
		x_report_text(report);
	} else {
		json_dumpf(report, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(report);
	status = stats.failing ? 1 : 0;
	x_stats_free(&stats);
	return status;
}
