/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* placement.h - which CPUs of a machine a smaller run uses, and in what order. */
#ifndef EXPERIMENTS_PLACEMENT_H
#define EXPERIMENTS_PLACEMENT_H

#include <stdint.h>

struct machine;

enum placement {
	PLACEMENT_OS,	   /* CPU numbers in order, like a program that pins thread i to CPU i */
	PLACEMENT_COMPACT, /* topology order: siblings, then the LLC, then the package */
	PLACEMENT_SCATTER, /* far apart: packages in turn, LLCs in turn, siblings last */
};

/**
 * placement_cpus - list all CPUs of @machine in the order in which a run uses them.
 *
 * Return: array of machine->nr_cpus CPU numbers, which the caller frees; NULL: no memory.
 */
uint32_t *placement_cpus(const struct machine *machine, enum placement how);

#endif
