// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* argp parses the options; this file checks what argp cannot check. */
#include "live_options.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "live.h"
#include "ping_pong.h"
#include "primitive.h"
#include "shard_topo.h"

#define MAX_LIMIT   86400u
#define MAX_REPEATS 1000u
#define MAX_HOLD_NS 1000000u

enum {
	KEY_CPUS = 256,
	KEY_PAIRS,
	KEY_OP,
	KEY_THREADS,
	KEY_HOLD,
	KEY_WORK,
	KEY_LINES,
	KEY_HOME,
	KEY_REPEATS,
	KEY_LIMIT,
	KEY_PROGRESS,
	KEY_LIST
};

static const struct argp_option option[] = {
	{ "cpus", KEY_CPUS, "A,B,...", 0, "primitives: CPUs in the order to take them", 0 },
	{ "threads", KEY_THREADS, "N,...", 0, "primitives: numbers of threads (default: 1)", 0 },
	{ "hold", KEY_HOLD, "NS", 0, "primitives: time between acquire and release", 0 },
	{ "work", KEY_WORK, "NS", 0, "primitives: time between two operations", 0 },
	{ "lines", KEY_LINES, "N", 0,
	  "primitives: do each operation on N objects, one after the other", 0 },
	{ "home", KEY_HOME, "NODE", 0, "ping-pong: the line is memory of this NUMA node", 0 },
	{ "pairs", KEY_PAIRS, "A:B,...", 0, "ping-pong: pairs of CPUs", 0 },
	{ "op", KEY_OP, "NAME,...", 0, "operations (default: all)", 0 },
	{ "repeats", KEY_REPEATS, "N", 0, "measurements of each point (default: 15)", 0 },
	{ "limit", KEY_LIMIT, "SECONDS", 0, "begin no measurement after this (default: 50 s)", 0 },
	{ "progress", KEY_PROGRESS, NULL, 0, "lines 'progress DONE TOTAL' on stderr", 0 },
	{ "list", KEY_LIST, NULL, 0, "print the operations as JSON", 0 },
	{ 0 },
};

void live_list_add(struct live_list *list, u32 value)
{
	u32 *grown = realloc(list->value, (list->nr + 1) * sizeof(*grown));

	if (!grown)
		errx(1, "out of memory");
	list->value = grown;
	list->value[list->nr++] = value;
}

static void add_numbers(struct live_list *list, char *text, const char *what, u32 least, u32 most)
{
	char *rest = text, *part;

	while ((part = strsep(&rest, ",")))
		live_list_add(list, (u32)whole_number(what, part, least, most));
}

static void add_pairs(struct live_list *list, char *text)
{
	char *rest = text, *part;

	while ((part = strsep(&rest, ","))) {
		char *second = strchr(part, ':');
		u32 a, b;

		if (!second)
			errx(2, "--pairs names '%.40s': give two CPUs as A:B", part);
		*second++ = '\0';
		a = (u32)whole_number("a CPU of --pairs", part, 0, SHARD_MAX_CPUS - 1);
		b = (u32)whole_number("a CPU of --pairs", second, 0, SHARD_MAX_CPUS - 1);
		if (a == b)
			errx(2, "--pairs names CPU %u twice in one pair: give two different ones",
			     a);
		live_list_add(list, a);
		live_list_add(list, b);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct live_options *o = state->input;

	switch (key) {
	case KEY_CPUS:
		add_numbers(&o->cpus, arg, "a CPU of --cpus", 0, SHARD_MAX_CPUS - 1);
		return 0;
	case KEY_THREADS:
		add_numbers(&o->threads, arg, "--threads", 1, SHARD_MAX_CPUS);
		return 0;
	case KEY_PAIRS:
		add_pairs(&o->pairs, arg);
		return 0;
	case KEY_OP:
		o->ops = arg;
		return 0;
	case KEY_HOLD:
		o->hold = (u32)whole_number("--hold", arg, 0, MAX_HOLD_NS);
		return 0;
	case KEY_WORK:
		o->work = (u32)whole_number("--work", arg, 0, MAX_HOLD_NS);
		return 0;
	case KEY_LINES:
		o->lines = (u32)whole_number("--lines", arg, 1, LIVE_MAX_LINES);
		return 0;
	case KEY_HOME:
		o->home = (u32)whole_number("--home", arg, 0, SHARD_MAX_CPUS - 1);
		o->has_home = true;
		return 0;
	case KEY_REPEATS:
		o->repeats = (u32)whole_number("--repeats", arg, 1, MAX_REPEATS);
		return 0;
	case KEY_LIMIT:
		o->limit = (u32)whole_number("--limit", arg, 1, MAX_LIMIT);
		return 0;
	case KEY_PROGRESS:
		o->progress = true;
		return 0;
	case KEY_LIST:
		o->list = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->what)
			errx(2, "'%.40s' is one argument too many", arg);
		o->what = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option,
	.parser = parse,
	.args_doc = "primitives|ping-pong",
	.doc = "Measure what operations on shared lines cost on this host's CPUs; print JSON.",
};

bool live_chosen(const char *ops, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = ops; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, name, length) && (at[length] == ',' || !at[length]))
			return true;
	return !ops;
}

static bool known(const struct live_options *o, const char *name)
{
	return o->ping_pong ? ping_pong_find(name) != NULL : primitive_find(name) != NULL;
}

static void check_ops(const struct live_options *o)
{
	char *copy = o->ops ? strdup(o->ops) : NULL, *rest = copy, *name;

	while (rest && (name = strsep(&rest, ",")))
		if (!known(o, name))
			errx(2, "there is no operation '%.40s' of %s: --list names them", name,
			     o->what);
	free(copy);
	for (const struct primitive *const *p = primitives; !o->ping_pong && *p; p++)
		if (o->hold && !(*p)->holds && o->ops && live_chosen(o->ops, (*p)->name))
			errx(2, "%s has no hold time: omit --hold", (*p)->name);
}

static void check(struct live_options *o)
{
	if (!o->what || (strcmp(o->what, "primitives") && strcmp(o->what, "ping-pong")))
		errx(2, "give 'primitives' or 'ping-pong' (see --help)");
	o->ping_pong = !strcmp(o->what, "ping-pong");
	if (o->ping_pong &&
	    (!o->pairs.nr || o->cpus.nr || o->threads.nr || o->hold || o->work || o->lines != 1))
		errx(2, "ping-pong takes --pairs, and no --cpus, --threads, --hold, --work or "
			"--lines");
	if (!o->ping_pong && (!o->cpus.nr || o->pairs.nr || o->has_home))
		errx(2, "primitives takes --cpus, and no --pairs or --home");
	if (!o->threads.nr)
		live_list_add(&o->threads, 1);
	for (u32 i = 0; i < o->threads.nr; i++)
		if (!o->ping_pong && o->threads.value[i] > o->cpus.nr)
			errx(2,
			     "--threads is %u, but --cpus names %u CPUs: give one CPU per thread",
			     o->threads.value[i], o->cpus.nr);
	for (u32 i = 0; i < o->cpus.nr; i++)
		for (u32 k = 0; k < i; k++)
			if (o->cpus.value[i] == o->cpus.value[k])
				errx(2, "--cpus names CPU %u twice", o->cpus.value[i]);
	check_ops(o);
}

void live_options_parse(struct live_options *o, int argc, char **argv)
{
	*o = (struct live_options){ .lines = 1, .repeats = 15, .limit = 50 };
	command_line(&argp, argc, argv, o);
	if (!o->list)
		check(o);
}

void live_options_free(struct live_options *o)
{
	free(o->cpus.value);
	free(o->threads.value);
	free(o->pairs.value);
}
