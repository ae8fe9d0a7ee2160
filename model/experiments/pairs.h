/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* pairs.h - pairs of CPUs of every latency class of a machine. */
#ifndef EXPERIMENTS_PAIRS_H
#define EXPERIMENTS_PAIRS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct machine;

/**
 * pairs_has_cpu - does the machine have a CPU of that number?
 */
bool pairs_has_cpu(const struct machine *machine, uint64_t cpu);

/**
 * pairs_by_class - return one pair of each class that occurs, as JSON: class, from, to.
 *
 * The pair with the lowest first CPU, then the lowest second one; nearest classes first.
 */
json_t *pairs_by_class(const struct machine *machine);

/*
 * pairs_from - return @from with every other CPU, in the order of their numbers. @from must exist.
 */
json_t *pairs_from(const struct machine *machine, uint32_t from);

#endif
