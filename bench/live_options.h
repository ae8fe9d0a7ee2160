/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef BENCH_LIVE_OPTIONS_H
#define BENCH_LIVE_OPTIONS_H

#include "port.h"

struct live_list {
	u32 *value;
	u32 nr;
};

struct live_options {
	bool list, progress, ping_pong;
	const char *what;
	char *ops;
	struct live_list cpus, threads, pairs; /* pairs: two entries each */
	u32 hold, work, lines, home, repeats, limit;
	bool has_home;
};

/** live_options_parse - fill @o; on an error print one line and exit with status 2. */
void live_options_parse(struct live_options *o, int argc, char **argv);

/** live_options_free - free the lists. */
void live_options_free(struct live_options *o);

/**
 * live_list_add - append a value; if there is no memory, exit with status 1.
 */
void live_list_add(struct live_list *list, u32 value);

/**
 * live_chosen - is @name in @ops, a list with commas? With @ops NULL all names are.
 */
bool live_chosen(const char *ops, const char *name);

#endif
