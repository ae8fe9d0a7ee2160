// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The loader of machine files: every preset loads, and what it makes of files that are right.
 */
#include <string.h>
#include <schedshard/machine.h>
#include "machine_text.h"
#include "test.h"

static int nr_machines;
static char **machines;

static struct machine *parse(const char *text)
{
	struct shard_err err = { "" };
	struct machine *machine = NULL;

	if (machine_parse(&machine, text, strlen(text), "file", &err))
		test_fail(__FILE__, __LINE__, "%s", err.text);
	return machine;
}

static void presets(void)
{
	CHECK(nr_machines > 0);
	for (int i = 0; i < nr_machines; i++) {
		struct shard_err err = { "" };
		struct machine *machine;

		if (machine_load(&machine, machines[i], &err))
			test_fail(__FILE__, __LINE__, "%s", err.text);
		test_state.shape = machine->name;
		/* the file is named after the machine */
		CHECK(strstr(machines[i], machine->name));
		CHECK(machine->nr_cpus <= machine->topo.nr_cpus);
		CHECK(machine->latency_ns.memory > 0);
		test_state.shape = NULL;
		machine_free(machine);
	}
}

static void regular(void)
{
	struct machine *m = parse(WHOLE);

	CHECK(!strcmp(m->name, "m") && !strcmp(m->title, "a machine"));
	CHECK_EQ(m->kind, MACHINE_ESTIMATE);
	CHECK(m->clock_ghz == 2.5);
	CHECK_EQ(m->nr_cpus, 64);
	CHECK_EQ(m->nr_cores, 32);
	CHECK_EQ(m->nr_llcs, 8);
	CHECK_EQ(m->nr_nodes, 4);
	CHECK_EQ(m->nr_packages, 2);
	CHECK_EQ(m->max_threads, 2);
	CHECK_EQ(m->topo.nr_cpus, 64);
	CHECK_EQ(m->topo.cpu[0].core, m->topo.cpu[32].core);
	CHECK_EQ(m->topo.cpu[63].package, 1);
	CHECK_EQ(m->topo.cpu[63].node, 3);
	CHECK_EQ(m->topo.cpu[63].llc, 7);
	CHECK_EQ(m->topo.cpu[63].l2, 15);
	CHECK_EQ(m->topo.cpu[63].core, 31);
	CHECK_EQ(m->topo.cpu[63].thread, 1);
	CHECK(m->latency_ns.llc == 20.5);
	/* the default */
	CHECK(m->latency_ns.home_remote == 200);
	CHECK_EQ(m->op_cycles.store_buffer, 56);
	CHECK(m->op_cycles.fence == 21);
	machine_free(m);
}

static void adjacent(void)
{
	char *text = edit(WHOLE, "threads-last", "threads-adjacent");
	struct machine *m = parse(text);

	CHECK_EQ(m->topo.cpu[0].core, m->topo.cpu[1].core);
	CHECK_EQ(m->topo.cpu[1].thread, 1);
	CHECK_EQ(m->topo.cpu[63].core, 31);
	machine_free(m);
	free(text);
}

/* Sub-NUMA clusters: an LLC over two nodes. */
static void llc_over_nodes(void)
{
	char *text = edit(WHOLE, "llcs_per_node = 2", "llcs_per_package = 1");
	struct machine *m = parse(text);

	CHECK_EQ(m->nr_llcs, 2);
	CHECK_EQ(m->nr_nodes, 4);
	CHECK_EQ(m->topo.cpu[0].llc, m->topo.cpu[3].llc);
	CHECK_EQ(m->topo.cpu[0].node + 1, m->topo.cpu[3].node);
	CHECK_EQ(machine_distance(m, 0, 3), MACHINE_SAME_LLC);
	machine_free(m);
	free(text);
}

static void irregular(void)
{
	struct machine *m = parse(UNEVEN);

	CHECK_EQ(m->topo.nr_cpus, 12);
	CHECK_EQ(m->nr_cpus, 10);
	CHECK_EQ(m->nr_cores, 6);
	CHECK_EQ(m->nr_llcs, 2);
	CHECK_EQ(m->max_threads, 2);
	CHECK(!m->topo.cpu[5].possible && !m->topo.cpu[7].possible);
	CHECK_EQ(m->topo.cpu[8].core, m->topo.cpu[0].core);
	CHECK_EQ(m->topo.cpu[8].thread, 1);
	CHECK_EQ(m->topo.cpu[9].l2, m->topo.cpu[0].l2);
	CHECK(m->topo.cpu[2].l2 != m->topo.cpu[0].l2);
	/* The file gives neither cores nor L2s for these CPUs: each CPU has its own. */
	CHECK_EQ(m->topo.cpu[4].core, 4);
	CHECK_EQ(m->topo.cpu[6].core, 5);
	CHECK_EQ(m->topo.cpu[4].l2, 2);
	CHECK_EQ(m->topo.cpu[6].l2, 3);
	CHECK_EQ(m->topo.cpu[6].package, 1);
	machine_free(m);
}

static void distances(void)
{
	struct machine *m = parse(WHOLE);

	CHECK_EQ(machine_distance(m, 5, 5), MACHINE_SAME_CPU);
	CHECK_EQ(machine_distance(m, 0, 32), MACHINE_SAME_CORE);
	CHECK_EQ(machine_distance(m, 0, 35), MACHINE_SAME_LLC);
	CHECK_EQ(machine_distance(m, 0, 4), MACHINE_SAME_NODE);
	CHECK_EQ(machine_distance(m, 8, 0), MACHINE_SAME_PACKAGE);
	CHECK_EQ(machine_distance(m, 0, 31), MACHINE_OTHER_PACKAGE);
	CHECK(machine_pair_ns(m, 5, 5) == 0);
	CHECK(machine_pair_ns(m, 0, 32) == 5);
	CHECK(machine_pair_ns(m, 0, 35) == 20.5);
	CHECK(machine_pair_ns(m, 0, 4) == 80);
	CHECK(machine_pair_ns(m, 8, 0) == 90);
	CHECK(machine_pair_ns(m, 0, 31) == 200);
	CHECK(!strcmp(machine_pair_class(m, 5, 5), "cpu"));
	CHECK(!strcmp(machine_pair_class(m, 0, 32), "smt"));
	CHECK(!strcmp(machine_pair_class(m, 0, 35), "llc"));
	CHECK(!strcmp(machine_pair_class(m, 0, 4), "node"));
	CHECK(!strcmp(machine_pair_class(m, 8, 0), "package"));
	CHECK(!strcmp(machine_pair_class(m, 0, 31), "remote"));
	machine_free(m);
}

/* CPUs of a group at each level, and the latency inside it. */
static const struct {
	u32 cpus;
	double ns;
	const char *class;
} level[] = {
	{ 1, 0, "cpu" },       { 2, 5, "smt" },		{ 4, 12.5, "l2" },
	{ 8, 15, "cluster" },  { 16, 20.5, "llc" },	{ 32, 70, "quadrant-2" },
	{ 64, 80, "node" },    { 128, 85, "half" },	{ 256, 90, "package" },
	{ 512, 150, "board" }, { 1024, 200, "remote" },
};

/* Returns the lowest level at which two CPUs are in one group, by arithmetic on their numbers. */
static u32 level_of(u32 a, u32 b)
{
	u32 i = 0;

	while (a / level[i].cpus != b / level[i].cpus)
		i++;
	return i;
}

static void tiers(void)
{
	static const struct machine_tier want[] = {
		{ "l2", MACHINE_UNIT_CORES, 2, 12.5, NULL },
		{ "cluster", MACHINE_UNIT_CORES, 4, 15, NULL },
		{ "quadrant-2", MACHINE_UNIT_LLCS, 2, 70, NULL },
		{ "half", MACHINE_UNIT_NODES, 2, 85, NULL },
		{ "board", MACHINE_UNIT_PACKAGES, 2, 150, NULL },
	};
	struct machine *m = parse(TIERED);

	CHECK_EQ(m->nr_tiers, 5);
	for (u32 i = 0; i < 5; i++) {
		CHECK(!strcmp(m->tier[i].name, want[i].name));
		CHECK_EQ(m->tier[i].unit, want[i].unit);
		CHECK_EQ(m->tier[i].count, want[i].count);
		CHECK(m->tier[i].ns == want[i].ns);
	}
	CHECK_EQ(m->nr_cpus, 1024);
	CHECK_EQ(machine_tier_group(m, 0, &m->topo.cpu[1023]), 255);
	CHECK_EQ(machine_tier_group(m, 1, &m->topo.cpu[1023]), 127);
	CHECK_EQ(machine_tier_group(m, 2, &m->topo.cpu[1023]), 31);
	CHECK_EQ(machine_tier_group(m, 3, &m->topo.cpu[1023]), 7);
	CHECK_EQ(machine_tier_group(m, 4, &m->topo.cpu[1023]), 1);
	for (u32 a = 0; a < 1024; a++) {
		for (u32 b = 0; b < 1024; b++) {
			u32 i = level_of(a, b);

			CHECK(machine_pair_ns(m, a, b) == level[i].ns);
			CHECK(!strcmp(machine_pair_class(m, a, b), level[i].class));
		}
	}
	machine_free(m);
	m = parse(WHOLE);
	CHECK_EQ(m->nr_tiers, 0);
	machine_free(m);
}

/* Groups of a tier do not cross LLCs; the last group of an LLC may be smaller. */
static void uneven_tiers(void)
{
	struct machine *m =
		parse(TOP "[topology]\n"
			  "[[topology.llc]]\npackage = 0\nnode = 0\ncpus = \"0-4\"\n"
			  "[[topology.llc]]\npackage = 0\nnode = 0\ncpus = \"8-10\"\n"
			  "[[tier]]\nname = \"l2\"\ncores = 2\nns = 10\n" LATENCY OPS SOURCE_FEW
			  "\"tier.l2\" = \"e\"\n");
	static const u32 cpu[] = { 0, 1, 2, 3, 4, 8, 9, 10 };
	static const u32 group[] = { 0, 0, 1, 1, 2, 3, 3, 4 };

	for (u32 i = 0; i < 8; i++)
		CHECK_EQ(machine_tier_group(m, 0, &m->topo.cpu[cpu[i]]), group[i]);
	CHECK(machine_pair_ns(m, 3, 4) == 20.5);
	CHECK(machine_pair_ns(m, 8, 9) == 10);
	CHECK(machine_pair_ns(m, 4, 8) == 80);
	machine_free(m);
}

/* Where an LLC spans nodes, a tier of LLCs groups the LLCs of a package. */
static void tiers_over_nodes(void)
{
	char *wide = edit(TIERED, "llcs_per_node = 4", "llcs_per_package = 6");
	struct machine *m = parse(wide);

	CHECK_EQ(m->nr_llcs, 24);
	CHECK_EQ(machine_tier_group(m, 2, &m->topo.cpu[0]), 0);
	CHECK_EQ(machine_tier_group(m, 2, &m->topo.cpu[95]), 2);
	CHECK_EQ(machine_tier_group(m, 2, &m->topo.cpu[96]), 3);
	/* one LLC, two nodes */
	CHECK(m->topo.cpu[23].node != m->topo.cpu[24].node);
	CHECK(machine_pair_ns(m, 23, 24) == 20.5);
	machine_free(m);
	free(wide);
}

static void ranges(void)
{
	static const struct machine_range want[] = {
		{ "clock_ghz", 2, 3.5 },
		{ "latency_ns.llc", 15, 20.5 },
		{ "op_cycles.store_buffer", 40, 72 },
		{ "protocol.z", 0, 1 },
		{ "tier.half", 82.5, 86 },
	};
	char *clock =
		edit(TIERED, "clock_ghz = 2.5", "clock_ghz = { low = 2, value = 2.5, high = 3.5 }");
	char *llc = edit(clock, "llc = 20.5", "llc = { value = 20.5, low = 15, high = 20.5 }");
	char *depth = edit(llc, "store_buffer = 56",
			   "store_buffer = { value = 56, low = 40, high = 72 }");
	char *z = edit(depth, "z = 0", "z = { value = 0, low = 0, high = 1 }");
	struct machine *m = parse(z);

	CHECK(m->clock_ghz == 2.5 && m->latency_ns.llc == 20.5);
	CHECK_EQ(m->op_cycles.store_buffer, 56);
	CHECK(machine_protocol(m, "z", 9) == 0);
	CHECK_EQ(m->nr_ranges, 5);
	for (u32 i = 0; i < 5; i++) {
		CHECK(!strcmp(m->range[i].key, want[i].key));
		CHECK(m->range[i].low == want[i].low && m->range[i].high == want[i].high);
	}
	machine_free(m);
	free(clock);
	free(llc);
	free(depth);
	free(z);
}

static void protocol(void)
{
	struct machine *m = parse(WHOLE);

	CHECK_EQ(m->nr_protocol, 3);
	CHECK(machine_protocol(m, "hop_fraction", 9) == 0.25);
	CHECK(machine_protocol(m, "far_burst", 9) == 3);
	CHECK(machine_protocol(m, "z", 9) == 0);
	CHECK(machine_protocol(m, "y", 9) == 9);
	CHECK(machine_protocol(m, "zz", 9) == 9);
	CHECK(machine_protocol(m, "", 9) == 9);
	machine_free(m);
}

/* Latencies of distances that do not occur on a machine may be absent. */
static void absent(void)
{
	char *small = edit(WHOLE, "packages = 2", "packages = 1");
	char *text = edit(small, "remote = 200\n", "");
	struct machine *m = parse(text);

	CHECK(m->latency_ns.remote == 0 && m->latency_ns.home_remote == 0);
	machine_free(m);
	free(text);
	free(small);
}

int main(int argc, char **argv)
{
	machines = argv + 1;
	nr_machines = argc - 1;
	RUN(presets);
	RUN(regular);
	RUN(adjacent);
	RUN(llc_over_nodes);
	RUN(irregular);
	RUN(distances);
	RUN(tiers);
	RUN(uneven_tiers);
	RUN(tiers_over_nodes);
	RUN(ranges);
	RUN(protocol);
	RUN(absent);
	return test_done();
}
