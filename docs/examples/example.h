/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * example.h - how every example gets its machine, and ends on an error.
 *
 * An example uses the machine whose shape is its argument, or this machine if there is none. A
 * shape is packages x nodes of each x LLCs of each x cores of each x threads of each:
 *
 *   plan 2x1x8x8x2
 *   plan
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <schedshard/schedshard.h>

/* Ends the program with the message @what unless @have. */
static inline void example_need(bool have, const char *what)
{
	if (have)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

#define EXAMPLE_MAX_CPUS 1024

/* Makes the topology of a shape. All first threads of cores come first, then their siblings. */
static inline struct schedshard_topo *example_shape(const char *shape)
{
	static struct schedshard_cpu cpu[EXAMPLE_MAX_CPUS];
	static struct schedshard_topo topo = { 0, cpu };
	int packages, nodes, llcs, cores, threads, nr;

	example_need(sscanf(shape, "%dx%dx%dx%dx%d", &packages, &nodes, &llcs, &cores, &threads) ==
			     5,
		     "a shape is such as 2x1x8x8x2");
	nr = packages * nodes * llcs * cores;
	example_need(nr > 0 && threads > 0 && nr * threads <= EXAMPLE_MAX_CPUS,
		     "a shape has 1 to 1024 CPUs");
	for (int i = 0; i < nr * threads; i++) {
		int core = i % nr;

		cpu[i].package = core / (nodes * llcs * cores);
		cpu[i].node = core / (llcs * cores);
		cpu[i].llc = core / cores;
		cpu[i].l2 = core;
		cpu[i].core = core;
		cpu[i].thread = i / nr;
		cpu[i].possible = true;
	}
	topo.nr_cpus = (uint32_t)(nr * threads);
	return &topo;
}

/* Returns the topology of the shape argv[1], or of this machine. */
static inline struct schedshard_topo *example_topo(int argc, char **argv)
{
	struct schedshard_err err = { "" };
	struct schedshard_topo *topo = NULL;

	if (argc > 1)
		return example_shape(argv[1]);
	example_need(!schedshard_topo_from_sysfs(&topo, "/", &err), err.text);
	return topo;
}

/* Returns the shard plan of that topology. */
static inline struct schedshard_plan *example_plan(int argc, char **argv)
{
	struct schedshard_topo *topo = example_topo(argc, argv);
	struct schedshard_plan *plan = NULL;
	enum schedshard_plan_err ret = schedshard_plan_build(&plan, topo, NULL);

	example_need(!ret, schedshard_plan_strerror(ret));
	/* the plan does not need the topology any more */
	if (argc == 1)
		schedshard_topo_free(topo);
	return plan;
}

/* Returns an ordinary mask: a bit for each CPU number, all clear. */
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
