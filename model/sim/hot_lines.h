/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* hot_lines.h - sums of access records by cache line, for reports. */
#ifndef SIM_HOT_LINES_H
#define SIM_HOT_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "stats.h"

struct hot_line {
	uint32_t line;
	uint32_t first, accesses; /* place in hot_lines_accesses(), number of records there */
	uint32_t user;		  /* a CPU that used it, + 1 */
	bool shared;		  /* another CPU used it, too */
	uint64_t records, loads, stores, hitm_local, hitm_remote, load_time, store_time, load_max;
};

/**
 * hot_lines_add_up - make one sum per line that has records
 * @sums: the sums, in order of lines; the caller frees them
 *
 * Return: the number of lines.
 */
uint32_t hot_lines_add_up(const struct stats *s, struct hot_line **sums);

/**
 * hot_lines_accesses - list the numbers of the records of some lines, grouped by line
 * @hot: the sums of these lines, @lines in number; receives where each line's numbers begin
 *
 * Return: the numbers, sorted by offset and instruction within a line; the caller frees them.
 */
uint32_t *hot_lines_accesses(const struct stats *s, struct hot_line *hot, uint32_t lines);

/** hot_lines_cpus - how many CPUs made the accesses of record @i. */
uint32_t hot_lines_cpus(const struct stats *s, uint32_t i);

#endif
