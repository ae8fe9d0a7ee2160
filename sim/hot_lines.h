/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* hot_lines.h - records of accesses, summed by cache line, for reports. */
#ifndef SIM_HOT_LINES_H
#define SIM_HOT_LINES_H

#include <stdint.h>

#include "stats.h"

struct hot_line {
	uint32_t line, first; /* first: its first record in the sorted array */
	uint64_t records, loads, stores, hitm_local, hitm_remote, load_time, load_max;
};

/**
 * hot_lines_add_up - one sum for each line
 * @rec: @n records; sorted by line, offset and instruction on return
 * @hot: room for @n sums; in order of lines
 *
 * Return: the number of lines.
 */
uint32_t hot_lines_add_up(struct access_record *rec, uint32_t n, struct hot_line *hot);

/** hot_lines_cpus - how many CPUs made this access; @words: of the record's bitmap. */
uint32_t hot_lines_cpus(const struct access_record *r, uint32_t words);

#endif
