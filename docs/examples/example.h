/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * example.h - how every example gets its machine, and ends on an error.
 *
 * An example runs on the machine file of its argument, or without one on this machine:
 *
 *   plan machines/epyc-7763-2s.toml
 *   plan
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <schedshard/schedshard.h>

/* Ends the program when a resource is missing. */
static inline void example_need(bool have, const char *what)
{
	if (have)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

/* The topology of the machine file argv[1], or of this machine. */
static inline struct schedshard_topo *example_topo(int argc, char **argv)
{
	struct schedshard_err err = { "" };
	struct schedshard_topo *topo = NULL;
	int ret = argc > 1 ? schedshard_topo_from_machine(&topo, argv[1], &err)
			   : schedshard_topo_from_sysfs(&topo, "/", &err);

	example_need(!ret, err.text);
	return topo;
}

/* The machine's shard plan. It does not need the topology any more. */
static inline struct schedshard_plan *example_plan(int argc, char **argv)
{
	struct schedshard_topo *topo = example_topo(argc, argv);
	struct schedshard_plan *plan = NULL;
	enum schedshard_plan_err ret = schedshard_plan_build(&plan, topo, NULL);

	example_need(!ret, schedshard_plan_strerror(ret));
	schedshard_topo_free(topo);
	return plan;
}

/* An ordinary mask: a bit for each CPU number, all clear. */
static inline unsigned long *example_mask(const struct schedshard_plan *plan)
{
	unsigned long *mask =
		(unsigned long *)calloc((plan->nr_cpus + 63) / 64, sizeof(unsigned long));

	example_need(mask, "out of memory");
	return mask;
}

static inline void example_mask_set(unsigned long *mask, uint32_t cpu)
{
	mask[cpu / 64] |= 1ul << cpu % 64;
}

#endif
