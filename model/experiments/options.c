// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* argp parses the options; this file checks what argp cannot check. */
#include "options.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "shard_plan.h"

#define MAX_CPU (1u << 20)

enum {
	KEY_MACHINE = 256,
	KEY_VARIANT,
	KEY_CPUS,
	KEY_CAP,
	KEY_SEED,
	KEY_PARAM,
	KEY_LIST,
	KEY_PAIR,
	KEY_ON,
	KEY_PAIRS,
	KEY_FROM
};

static const struct argp_option option[] = {
	{ "machine", KEY_MACHINE, "FILE", 0, "a machine in its flat form", 0 },
	{ "variant", KEY_VARIANT, "NAME", 0, "layout to run", 0 },
	{ "cpus", KEY_CPUS, "N", 0, "use only N CPUs of the machine (default: all)", 0 },
	{ "cap", KEY_CAP, "N", 0, "at most N CPUs per shard, 1 to 64 (default: 64)", 0 },
	{ "seed", KEY_SEED, "N", 0, "seed of every random decision (default: 1)", 0 },
	{ "param", KEY_PARAM, "NAME=NUMBER", 0, "parameter of the experiment, may be repeated", 0 },
	{ "pair", KEY_PAIR, "FROM,TO", 0, "use these two CPUs, instead of --cpus", 0 },
	{ "list", KEY_LIST, NULL, 0, "print experiments, variants and parameters as JSON", 0 },
	{ "on", KEY_ON, "CPU,...", 0, "use these CPUs in this order, instead of --cpus", 0 },
	{ "pairs", KEY_PAIRS, NULL, 0, "print one pair of CPUs per latency class as JSON", 0 },
	{ "from", KEY_FROM, "CPU", 0, "with --pairs: this CPU with every other", 0 },
	{ 0 },
};

static const struct experiment *find_experiment(const char *name)
{
	for (const struct experiment *const *e = experiments; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	errx(2, "there is no experiment '%s': --list names them", name);
}

static void add_param(struct options *o, char *text)
{
	char *value = strchr(text, '='), *end;
	struct run_value *p;

	if (!value || value == text)
		errx(2, "--param is '%s': give NAME=NUMBER", text);
	if (o->nr_params == RUN_MAX_METRICS)
		errx(2, "too many --param: at most %d", RUN_MAX_METRICS);
	*value++ = '\0';
	p = &o->param[o->nr_params++];
	p->name = text;
	p->value = strtod(value, &end);
	if (end == value || *end || !isfinite(p->value) || p->value < 0)
		errx(2, "--param %s is '%s': give a number of at least 0", text, value);
}

static void set_on(struct options *o, char *text, const char *name)
{
	char *rest = text, *part;

	free(o->on);
	o->on = calloc(strlen(text) + 1, sizeof(*o->on)); /* more than enough */
	if (!o->on)
		errx(2, "out of memory");
	for (o->nr_on = 0; (part = strsep(&rest, ",")); o->nr_on++) {
		uint32_t cpu = (uint32_t)whole_number(name, part, 0, MAX_CPU);

		for (uint32_t i = 0; i < o->nr_on; i++)
			if (o->on[i] == cpu)
				errx(2, "%s names CPU %u twice: give different ones", name, cpu);
		o->on[o->nr_on] = cpu;
	}
}

static void set_pair(struct options *o, char *text)
{
	set_on(o, text, "--pair");
	if (o->nr_on != 2)
		errx(2, "--pair names %u CPUs: give two, FROM,TO", o->nr_on);
	o->is_pair = true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case KEY_MACHINE:
		o->machine = arg;
		return 0;
	case KEY_VARIANT:
		o->variant = arg;
		return 0;
	case KEY_CPUS:
		o->cpus = (uint32_t)whole_number("--cpus", arg, 1, MAX_CPU);
		return 0;
	case KEY_CAP:
		o->cap = (uint32_t)whole_number("--cap", arg, 1, SHARD_MAX_CAP);
		return 0;
	case KEY_SEED:
		o->seed = whole_number("--seed", arg, 0, UINT64_MAX);
		return 0;
	case KEY_PARAM:
		add_param(o, arg);
		return 0;
	case KEY_LIST:
		o->list = true;
		return 0;
	case KEY_PAIR:
		set_pair(o, arg);
		return 0;
	case KEY_ON:
		set_on(o, arg, "--on");
		return 0;
	case KEY_PAIRS:
		o->pairs = true;
		return 0;
	case KEY_FROM:
		o->from = (uint32_t)whole_number("--from", arg, 0, MAX_CPU);
		o->has_from = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->experiment)
			errx(2, "'%s' is one argument too many: give one experiment", arg);
		o->experiment = find_experiment(arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool listed(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

static void check(struct options *o)
{
	const struct experiment *e = o->experiment;

	if (!o->machine)
		errx(2, "no machine given: --machine FILE");
	if (o->has_from && !o->pairs)
		errx(2, "--from is for --pairs: an experiment takes --pair FROM,TO");
	if (o->pairs)
		return;
	if (!e)
		errx(2, "no experiment given: --list names them");
	if (o->on && o->cpus)
		errx(2, "%s and --cpus exclude each other", o->is_pair ? "--pair" : "--on");
	if (!o->variant)
		errx(2, "no variant of %s given: --variant NAME, --list names them", e->name);
	if (!listed(e->variants, o->variant))
		errx(2, "%s has no variant '%s': --list names them", e->name, o->variant);
	for (uint32_t i = 0; i < o->nr_params; i++)
		if (!listed(e->params, o->param[i].name))
			errx(2, "%s has no parameter '%s': --list names them", e->name,
			     o->param[i].name);
	for (const char *const *p = e->params; *p; p++) {
		bool given = false;

		for (uint32_t i = 0; i < o->nr_params; i++)
			given |= !strcmp(o->param[i].name, *p);
		if (!given)
			errx(2,
			     "%s needs --param %s=NUMBER: its usual value is in "
			     "model/experiments/%s.toml",
			     e->name, *p, e->name);
	}
}

static const struct argp argp = {
	.options = option,
	.parser = parse,
	.args_doc = "EXPERIMENT",
	.doc = "Run one experiment on a simulated machine and print the result as JSON.",
};

void options_parse(struct options *o, int argc, char **argv)
{
	*o = (struct options){ .seed = 1 };
	command_line(&argp, argc, argv, o);
	if (!o->list)
		check(o);
}
