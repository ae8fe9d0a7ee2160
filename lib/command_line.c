// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * argp prints two lines for an unknown option, and ends with another status. So it prints nothing,
 * and calls the parser below with ARGP_KEY_ERROR. The C library's getopt has then taken the option
 * that it does not know.
 */
#include "command_line.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEY_HELP 1

static const struct argp_option own_option[] = {
	{ "help", KEY_HELP, NULL, 0, "print this", -1 },
	{ 0 },
};

static _Noreturn void refuse(const struct argp *argp, char *const *next)
{
	/* Of several letters in one word, getopt is not beyond that word. */
	const char *given = next[-1][0] == '-' ? next[-1] : next[0];
	const char *name = given + strspn(given, "-");

	for (const struct argp_option *o = argp->options; o->name; o++)
		if (o->arg && *name && !strncmp(o->name, name, strlen(name)))
			errx(2, "%s needs a value (see --help)", given);
	errx(2, "unknown option '%.60s' (see --help)", given);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const struct argp_child *child = state->root_argp->children;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	case KEY_HELP:
		argp_help(state->root_argp, stdout, ARGP_HELP_STD_HELP,
			  program_invocation_short_name);
		exit(0);
	case ARGP_KEY_ERROR:
		refuse(child->argp, &state->argv[state->next]);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void command_line(const struct argp *argp, int argc, char **argv, void *input)
{
	const struct argp_child children[] = { { argp, 0, NULL, 0 }, { 0 } };
	const struct argp all = { .options = own_option, .parser = parse, .children = children };

	if (argp_parse(&all, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, input))
		errx(2, "the arguments cannot be parsed (see --help)");
}

uint64_t whole_number(const char *what, const char *text, uint64_t least, uint64_t most)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || end == text || text[strspn(text, "0123456789")] || v < least ||
	    v > most)
		errx(2, "%s is '%.40s': give a whole number from %llu to %llu", what, text,
		     (unsigned long long)least, (unsigned long long)most);
	return v;
}
