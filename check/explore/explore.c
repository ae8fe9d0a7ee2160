// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-explore - run a small concurrent case in all its interleavings.
 *
 * Why "clean" means that the code of the case is correct on the machine modelled:
 *
 * 1. The code is the real one: core/ as it is, compiled against port/sim. The compiler's
 *    thread-sanitizer instrumentation reports each access to shared memory, so each access is a
 *    step of the machine (explore_machine.c).
 * 2. Executions differ only in the order of steps, including flushes of store buffers, and under
 *    the model "weak" in the values that loads return. Nothing else is nondeterministic.
 * 3. The search runs each order of steps, but stops at a state from which it has continued before
 *    (explore_states.c). If it omits anything else, it reports "complete": false.
 * 4. The property is a function of the values seen, which are part of the state. If a property
 *    refers to real time, ghost steps stand for real time (explore_ghost_set() in explore_case.h).
 *
 * "Clean" says nothing about more CPUs or longer programs than the case's. It says nothing about
 * the compiler's treatment of non-atomic accesses, except their data races. In no model do stores
 * pass earlier loads of their CPU. Only the model "weak" (explore_weak.c) shows whether smp_wmb(),
 * smp_rmb(), acquire and release are in the right places, because on x86 they are not instructions.
 *
 * Exit status: 0 no violation, 1 violation, 2 bad usage.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command_line.h"
#include "explore_report.h"
#include "explore_search.h"

/* Maximum number of executions for the search of a shorter failing schedule. */
#define SHORTEN_EXECUTIONS 200000

enum { CPUS = 256, MODEL, SEARCH, PREEMPTIONS, EXECUTIONS, TEXT, LIST };

static const struct argp_option option[] = {
	{ "cpus", CPUS, "N", 0, "simulated CPUs (default: the least the case is made for)", 0 },
	{ "model", MODEL, "M", 0,
	  "tso: x86, each CPU with a store buffer; sc: without; posted: tso, and atomic operations "
	  "without a result wait in the buffer too; weak: loads pass loads and stores, stores pass "
	  "stores (default: the case's own, else tso)",
	  0 },
	{ "search", SEARCH, "S", 0, "states: each state once (default); brute: every execution",
	  0 },
	{ "preemptions", PREEMPTIONS, "N", 0,
	  "only executions with at most N preemptions ; a load of an old "
	  "value counts as one",
	  0 },
	{ "executions", EXECUTIONS, "N", 0, "stop after N executions", 0 },
	{ "text", TEXT, NULL, 0, "text instead of JSON", 0 },
	{ "list", LIST, NULL, 0, "JSON list of all cases", 0 },
	{ 0 },
};

/* The parsed command line. */
struct request {
	struct x_run run;
	const char *name;
	bool model_given, text;
};

#define for_each_case(c)                                                                \
	for (const struct explore_case *const *list = explore_all_cases; *list; list++) \
		for (const struct explore_case *c = *list; c->name; c++)

/* The number of insertions, deletions and replacements that turn @a into @b. */
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
	errx(2, "no case is called '%s'; the nearest name is '%s' (--list shows all)", name,
	     nearest);
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

static void search(const struct x_run *run, const struct x_options *o, struct x_stats *s)
{
	memset(s, 0, sizeof(*s));
	x_machine_init(run->c, run->nr_cpus, run->model, o->search == X_SEARCH_STATES);
	x_search_states(o, s);
}

/*
 * Find a failing schedule with as few preemptions as possible: search with a bound that grows from
 * 0 until an execution fails. The statistics of these searches are not used.
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
			errx(2, "--model: '%s' is not one of 'tso', 'sc', 'posted', 'weak'", text);
	}
	return model;
}

static enum x_search parse_search(const char *text)
{
	enum x_search search = X_SEARCH_STATES;

	for (; strcmp(text, x_search_name(search)); search++) {
		if (search == X_SEARCH_BRUTE)
			errx(2, "--search: '%s' is not one of 'states', 'brute'", text);
	}
	return search;
}

/* Fill in options that were not given, from the case; refuse options that do not go together. */
static void complete(struct request *r)
{
	struct x_run *run = &r->run;

	run->c = find_case(r->name);
	if (!r->model_given)
		run->model = own_model(run->c);
	if (!run->nr_cpus)
		run->nr_cpus = run->c->min_cpus;
	if (run->nr_cpus < run->c->min_cpus || run->nr_cpus > run->c->max_cpus)
		errx(2, "--cpus %u: case '%s' is for %u to %u CPUs", run->nr_cpus, run->c->name,
		     run->c->min_cpus, run->c->max_cpus);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *r = state->input;
	struct x_options *o = &r->run.options;

	switch (key) {
	case CPUS:
		r->run.nr_cpus = (uint32_t)whole_number("--cpus", arg, 1, 4096);
		return 0;
	case MODEL:
		r->model_given = true;
		r->run.model = parse_model(arg);
		return 0;
	case SEARCH:
		o->search = parse_search(arg);
		return 0;
	case PREEMPTIONS:
		o->preemptions = (uint32_t)whole_number("--preemptions", arg, 0, 1000);
		return 0;
	case EXECUTIONS:
		o->max_executions = whole_number("--executions", arg, 1, UINT64_MAX);
		return 0;
	case TEXT:
		r->text = true;
		return 0;
	case LIST:
		exit(list_cases());
	case ARGP_KEY_ARG:
		if (r->name)
			errx(2, "only one case at a time (see --help)");
		r->name = arg;
		return 0;
	case ARGP_KEY_END:
		if (!r->name)
			errx(2, "give a case (--list shows all)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option,
	.parser = parse,
	.args_doc = "CASE",
	.doc = "Run CASE in every interleaving of its CPUs' memory accesses. JSON on stdout.\v"
	       "Exit status: 0 no violation, 1 violation found, 2 bad usage.",
};

int main(int argc, char **argv)
{
	struct request request = { .run.options.preemptions = X_NO_BOUND };
	struct x_run *run = &request.run;
	struct x_stats stats;
	json_t *report;
	double start;
	int status;

	command_line(&argp, argc, argv, &request);
	complete(&request);
	start = now();
	search(run, &run->options, &stats);
	run->seconds = now() - start;
	if (stats.shortest)
		shorten(run, &stats);
	report = x_report(run, &stats);
	if (request.text) {
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
