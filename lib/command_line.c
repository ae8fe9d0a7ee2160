// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The C library's getopt prints one line about an unknown option, and argp would print a second
 * one. So argp's stream for errors is NULL, and argp prints nothing.
 */
#include "command_line.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_HELP 1

static const struct argp_option own_option[] = {
	{ "help", KEY_HELP, NULL, 0, "print this", -1 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		state->err_stream = NULL;
		return 0;
	case KEY_HELP:
		argp_help(state->root_argp, stdout, ARGP_HELP_STD_HELP,
			  program_invocation_short_name);
		exit(0);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void command_line(const struct argp *argp, int argc, char **argv, void *input)
{
	const struct argp_child children[] = { { argp, 0, NULL, 0 }, { 0 } };
	const struct argp all = { .options = own_option, .parser = parse, .children = children };

	int first;

	argv[0] = program_invocation_short_name; /* begins getopt's line */
	if (argp_parse(&all, argc, argv, ARGP_NO_HELP, &first, input))
		exit(2);
	if (first < argc)
		errx(2, "'%.40s' is not an option (see --help)", argv[first]);
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
