/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * feed_time.h - how long accesses waited for lines, over the run.
 *
 * The run is divided by the instructions of all CPUs, not by time. So parts compare with those of a
 * replay of the same trace on another machine, or with bytes moved.
 *
 * Concurrency: the model's thread only.
 */
#ifndef PLUGIN_FEED_TIME_H
#define PLUGIN_FEED_TIME_H

#include <jansson.h>
#include <stdint.h>

#define FEED_TIME_PARTS 128u

/**
 * struct feed_time - the parts of a run; all zero: it has not begun
 * @width: instructions of a part. It doubles when the run needs more parts than there are
 * @took: picoseconds of the accesses that waited in each part, of all CPUs
 */
struct feed_time {
	uint64_t width;
	uint64_t took[FEED_TIME_PARTS];
};

/** feed_time_add - an access took @ps picoseconds when all CPUs had executed @instructions. */
void feed_time_add(struct feed_time *t, uint64_t instructions, uint64_t ps);

/** feed_time_json - return the width, and each part's picoseconds, of a run of @instructions. */
json_t *feed_time_json(const struct feed_time *t, uint64_t instructions);

#endif
