// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The loader of machine files: every preset loads. The test breaks each rule of the format once, on
 * a file that is right otherwise; the error must name the rule and the line.
 */
#include <errno.h>
#include <string.h>
#include <schedshard/machine.h>
#include "test.h"

static int nr_machines;
static char **machines;

#define TOP \
	"schema = 1\nname = \"m\"\ntitle = \"a machine\"\nkind = \"estimate\"\nclock_ghz = 2.5\n"
#define REGULAR                                                                                   \
	"[topology]\npackages = 2\nnodes_per_package = 2\nllcs_per_node = 2\ncores_per_llc = 4\n" \
	"threads_per_core = 2\ncores_per_l2 = 2\nnumbering = \"threads-last\"\n"
#define LATENCY \
	"[latency_ns]\nsmt = 5\nllc = 20.5\nnode = 80\npackage = 90\nremote = 200\nmemory = 99\n"
#define OPS                                                                                  \
	"[op_cycles]\nload_hit = 4\nstore = 1\nlocked = 20\nfence = 21\nstore_buffer = 56\n" \
	"timestamp = 30\n"
#define PROTOCOL "[protocol]\nfar_burst = 3\nhop_fraction = 0.25\nz = 0\n"
#define SOURCE                                                                                   \
	"[source]\nclock_ghz = \"a\"\ntopology = \"b\"\nlatency_ns = \"c\"\nop_cycles = \"d\"\n" \
	"protocol = \"e\"\n"
#define SOURCE_FEW \
	"[source]\nclock_ghz = \"a\"\ntopology = \"b\"\nlatency_ns = \"c\"\nop_cycles = \"d\"\n"
#define WHOLE TOP REGULAR LATENCY OPS PROTOCOL SOURCE

#define IRREGULAR                                                                             \
	"[topology]\n"                                                                        \
	"[[topology.llc]]\npackage = 0\nnode = 0\ncpus = \"0-3,8-11\"\n"                      \
	"cores = [\"0,8\", \"1,9\", \"2,10\", \"3,11\"]\nl2 = [\"0-1,8-9\", \"2-3,10-11\"]\n" \
	"[[topology.llc]]\npackage = 1\nnode = 1\ncpus = \"4,6\"\n"
#define UNEVEN TOP IRREGULAR LATENCY OPS PROTOCOL SOURCE

static struct machine *parse(const char *text)
{
	struct shard_err err = { "" };
	struct machine *machine = NULL;

	if (machine_parse(&machine, text, strlen(text), "file", &err))
		test_fail(__FILE__, __LINE__, "%s", err.text);
	return machine;
}

/* @text with @from replaced by @to: "" deletes. */
static char *edit(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *edited = malloc(strlen(text) + strlen(to) + 1);

	if (!at || !edited)
		test_fail(__FILE__, __LINE__, "\"%s\" is not in the text", from);
	sprintf(edited, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	return edited;
}

static void check_refused(const char *text, const char *said)
{
	struct shard_err err = { "" };
	struct machine *machine = NULL;

	CHECK_EQ(machine_parse(&machine, text, strlen(text), "file", &err), -EINVAL);
	CHECK(!machine);
	if (!strstr(err.text, said) || strncmp(err.text, "file:", 5) || strchr(err.text, '\n'))
		test_fail(__FILE__, __LINE__, "said \"%s\", must say \"%s\"", err.text, said);
	/* no description wanted */
	CHECK_EQ(machine_parse(&machine, text, strlen(text), "file", NULL), -EINVAL);
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
	/* neither cores nor l2 are given: one of each for each CPU */
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

/* 4 packages of 4 nodes of 4 LLCs of 8 cores, and a tier at every level, in any order. */
#define MANY_LEVELS                                                                               \
	"[topology]\npackages = 4\nnodes_per_package = 4\nllcs_per_node = 4\ncores_per_llc = 8\n" \
	"threads_per_core = 2\ncores_per_l2 = 2\nnumbering = \"threads-adjacent\"\n"
#define TIERS                                                                                \
	"[[tier]]\nname = \"board\"\npackages = 2\nns = 150\n"                               \
	"[[tier]]\nname = \"cluster\"\ncores = 4\nns = 15\n"                                 \
	"[[tier]]\nname = \"l2\"\ncores = 2\nns = 12.5\n"                                    \
	"[[tier]]\nname = \"half\"\nnodes = 2\nns = { value = 85, low = 82.5, high = 86 }\n" \
	"[[tier]]\nname = \"quadrant-2\"\nllcs = 2\nns = 70\n"
#define TIERED \
	TOP MANY_LEVELS LATENCY TIERS OPS PROTOCOL SOURCE "tier = \"f\"\n\"tier.board\" = \"g\"\n"

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

/* The rule in other words: the parts of the place that two CPUs share. */
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

/* Groups start anew in each LLC; the last one of an LLC may be smaller. */
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

/* Where an LLC spans nodes, a tier of LLCs counts them inside the package. */
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

/* Parts that may be absent because they do not occur on the machine. */
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

/* Tiers that are cut at the largest one possible. */
#define PAIR(unit, count) "[[tier]]\nname = \"p\"\n" unit " = " count "\nns = 7\n"

static const struct broken {
	const char *whole, *from, *to, *said;
} broken[] = {
	{ WHOLE, "schema = 1", "schema = 2", "file:1: schema is 2, it must be 1" },
	{ WHOLE, "schema = 1", "schema = \"1\"", "file:1: schema has the wrong type" },
	{ WHOLE, "schema = 1\n", "", "schema is missing" },
	{ WHOLE, "\"m\"", "\"M x\"", "file:2: name must be" },
	{ WHOLE, "\"a machine\"", "\"\"", "file:3: title must be" },
	{ WHOLE, "\"a machine\"", "\"a\\nb\"", "file:3: title must be" },
	{ WHOLE, "\"estimate\"", "\"guess\"", "file:4: kind must be" },
	{ WHOLE, "clock_ghz = 2.5", "clock_ghz = 2500", "file:5: clock_ghz is 2500" },
	{ WHOLE, "clock_ghz = 2.5", "clock_gzh = 2.5",
	  "file:5: clock_gzh is no known key, did you mean clock_ghz?" },
	{ WHOLE, "clock_ghz = 2.5", "clock_ghz = \xc2\xa1",
	  "file:5: has a character that is not ASCII" },
	{ WHOLE, "clock_ghz = 2.5", "clock_ghz = ", "file:5: is no valid TOML" },
	{ WHOLE, "clock_ghz = 2.5", "schema = 1", "is no valid TOML" },
	/* an assertion of toml++ 3.3 */
	{ WHOLE, "[op_cycles]", "[ =", "file:21: is no valid TOML" },
	{ WHOLE, "[op_cycles]", "[ ", "is no valid TOML" },
	{ WHOLE, "packages = 2\n", "packages = 0\n", "file:7: topology.packages is 0" },
	{ WHOLE, "packages = 2\n", "packages = 2.0\n", "file:7: topology.packages has the wrong" },
	{ WHOLE, "packages = 2\n", "packages = 9000\n", "from 1 to 8192" },
	{ WHOLE, "packages = 2\n", "", "topology.packages is missing" },
	{ WHOLE, "packages = 2\n", "packages = 2\nnr_packages = 2\n",
	  "topology.nr_packages is no known key, did you mean topology.packages?" },
	{ WHOLE, "llcs_per_node = 2", "llcs_per_node = 0", "file:9: topology.llcs_per_node is 0" },
	{ WHOLE, "llcs_per_node = 2", "llcs_per_node = 2\nllcs_per_package = 1", "contradicts" },
	{ WHOLE, "cores_per_llc = 4", "cores_per_llc = 600", "more than the 8192 CPUs" },
	{ WHOLE, "nodes_per_package = 2\nllcs_per_node = 2",
	  "nodes_per_package = 8000\nllcs_per_node = 8000", "more than the 8192 CPUs" },
	{ WHOLE, "cores_per_l2 = 2", "cores_per_l2 = 3",
	  "file:12: topology.cores_per_l2 must divide" },
	{ WHOLE, "nodes_per_package = 2\nllcs_per_node = 2",
	  "nodes_per_package = 3\nllcs_per_package = 2", "must divide the 8 cores" },
	{ WHOLE, "threads-last", "random", "file:13: topology.numbering must be" },
	{ WHOLE, REGULAR, "topology = 3\n", "topology must be a table" },
	{ WHOLE, REGULAR, "", "table [topology] is missing" },
	{ WHOLE, "smt = 5", "smt = -5", "file:15: latency_ns.smt is -5" },
	{ WHOLE, "smt = 5", "smt = 0", "it must be a number above 0" },
	{ WHOLE, "smt = 5", "smt = nan", "latency_ns.smt is nan" },
	{ WHOLE, "smt = 5", "smt = inf", "latency_ns.smt is inf" },
	{ WHOLE, "smt = 5", "smt = true", "latency_ns.smt has the wrong type" },
	{ WHOLE, "smt = 5\n", "", "file:14: latency_ns.smt is missing, but cores have several" },
	{ WHOLE, "llc = 20.5\n", "", "latency_ns.llc is missing" },
	{ WHOLE, "node = 80\n", "", "latency_ns.node is missing" },
	{ WHOLE, "package = 90\n", "", "latency_ns.package is missing" },
	{ WHOLE, "remote = 200\n", "", "latency_ns.remote is missing" },
	{ WHOLE, "memory = 99\n", "", "latency_ns.memory is missing" },
	{ WHOLE, "remote = 200", "remot = 200", "did you mean latency_ns.remote?" },
	{ WHOLE, LATENCY, "", "table [latency_ns] is missing" },
	{ WHOLE, "locked = 20", "lock = 20", "did you mean op_cycles.locked?" },
	{ WHOLE, "locked = 20\n", "", "op_cycles.locked is missing" },
	{ WHOLE, "store = 1", "store = -1", "op_cycles.store is -1" },
	{ WHOLE, "store_buffer = 56", "store_buffer = 0", "op_cycles.store_buffer is 0" },
	{ WHOLE, "store_buffer = 56", "store_buffer = 5.5", "has the wrong type" },
	{ WHOLE, OPS, "", "table [op_cycles] is missing" },
	{ WHOLE, "far_burst = 3", "far_burst = -3", "protocol.far_burst is -3" },
	{ WHOLE, "far_burst = 3", "FarBurst = 3", "protocol.FarBurst is no key" },
	{ WHOLE, "far_burst = 3", "far_burst = \"3\"", "protocol.far_burst has the wrong type" },
	{ WHOLE, "protocol = \"e\"\n", "", "protocol.far_burst has no source" },
	{ WHOLE, "protocol = \"e\"", "\"protocol.z\" = \"e\"", "protocol.far_burst has no source" },
	{ WHOLE, "latency_ns = \"c\"", "latency = \"c\"", "latency_ns.smt has no source" },
	{ WHOLE, "latency_ns = \"c\"", "latency_ns = \"\"", "must say in quotes" },
	{ WHOLE, "latency_ns = \"c\"", "latency_ns.smt = \"c\"", "must say in quotes" },
	{ WHOLE, "protocol = \"e\"", "protocol = \"e\"\nprotocol_ = \"f\"", "names no number" },
	{ WHOLE, SOURCE, "", "table [source] is missing" },
	{ WHOLE, "llc = 20.5", "llc = { value = 20.5, low = 21, high = 22 }",
	  "file:16: latency_ns.llc.low must be at most latency_ns.llc.value" },
	{ WHOLE, "llc = 20.5", "llc = { value = 20.5, low = 20, high = 20.4 }",
	  "file:16: latency_ns.llc.high must be at least latency_ns.llc.value" },
	{ WHOLE, "llc = 20.5", "llc = { value = 20.5, low = 20 }",
	  "file:16: latency_ns.llc.high is missing, an uncertain number is { value = " },
	{ WHOLE, "llc = 20.5", "llc = { low = 20, high = 22 }", "latency_ns.llc.value is missing" },
	{ WHOLE, "llc = 20.5", "llc = { value = 20.5, low = 0, high = 22 }",
	  "file:16: latency_ns.llc.low is 0, it must be a number above 0" },
	{ WHOLE, "llc = 20.5", "llc = { value = 20.5, low = nan, high = 22 }",
	  "latency_ns.llc.low is nan" },
	{ WHOLE, "llc = 20.5", "llc = { value = 20.5, low = 20, hihg = 22 }",
	  "latency_ns.llc.hihg is no known key, did you mean latency_ns.llc.high?" },
	{ WHOLE, "llc = 20.5", "llc = [20, 21, 22]", "latency_ns.llc has the wrong type" },
	{ WHOLE, "store_buffer = 56", "store_buffer = { value = 56, low = 40.5, high = 60 }",
	  "op_cycles.store_buffer.low has the wrong type" },
	{ WHOLE, "packages = 2\n", "packages = { value = 2, low = 2, high = 2 }\n",
	  "topology.packages has the wrong type" },
	{ WHOLE, "z = 0", "z = { value = 0, low = -1, high = 1 }", "protocol.z.low is -1" },
	{ WHOLE, OPS, "tier = 3\n" OPS, "latency_ns.tier is no known key" },
	{ WHOLE, "schema", "tier = 3\nschema", "file:1: tier must be tables: [[tier]]" },
	{ WHOLE, "schema", "tier = [3]\nschema", "file:1: tier must be tables: [[tier]]" },
	{ TIERED, "\"board\"", "\"Board\"", "file:22: tier.name must be a string of a-z" },
	{ TIERED, "name = \"board\"", "nam = \"board\"", "did you mean tier.name?" },
	{ TIERED, "name = \"board\"\n", "", "file:21: tier.name is missing" },
	{ TIERED, "\"board\"", "\"l2\"", "file:29: tier.l2 is there twice" },
	{ TIERED, "packages = 2\nns = 150", "ns = 150",
	  "file:21: tier.board joins nothing, it must have exactly one of cores, llcs" },
	{ TIERED, "packages = 2\nns = 150", "packages = 2\nnodes = 3\nns = 150",
	  "tier.board has both nodes and packages" },
	{ TIERED, "packages = 2\nns = 150", "packages = 2\n", "file:21: tier.board.ns is missing" },
	{ TIERED, "ns = 150", "ns = 0", "file:24: tier.board is 0, it must be a number above 0" },
	{ TIERED, "ns = 150", "ns = { value = 150, low = 160, high = 170 }",
	  "file:24: tier.board.low must be at most tier.board.value" },
	{ TIERED, "packages = 2\nns", "packages = 1\nns",
	  "file:23: tier.board.packages is 1, it must be a whole number from 2" },
	{ TIERED, "packages = 2\nns", "packages = 4\nns",
	  "file:23: tier.board.packages is 4, it must be less than the packages of the largest "
	  "machine, 4" },
	{ TIERED, "nodes = 2", "nodes = 4", "less than the nodes of the largest package, 4" },
	{ TIERED, "llcs = 2", "llcs = 5", "less than the llcs of the largest node, 4" },
	{ TIERED, "cores = 4\nns", "cores = 8\nns", "less than the cores of the largest LLC, 8" },
	{ TIERED, "cores = 4\nns", "cores = 2\nns",
	  "file:29: tier.l2 joins as many cores as tier.cluster, one of them must go" },
	{ TIERED, "cores = 4\nns", "cores = 5\nns",
	  "file:29: tier.l2 joins 2 cores and tier.cluster 5, one must be a multiple of the "
	  "other" },
	{ TIERED, "cores = 4\nns", "cores = 2.5\nns", "tier.cluster.cores has the wrong type" },
	{ TIERED, "tier = \"f\"\n", "", "file:28: tier.cluster has no source" },
	{ TIERED, "tier.board\" =", "tier.bord\" =", "source.\"tier.bord\" names no number" },
	{ UNEVEN, OPS, PAIR("cores", "4") OPS, "less than the cores of the largest LLC, 4" },
	{ UNEVEN, OPS, PAIR("packages", "2") OPS, "tier.p.packages is 2, it must be less than" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = \"3,6\"", "CPU 3 is in two LLCs" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = \"\"", "is empty" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = \"4,8192\"", "has a number above 8191" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = \"4-\"", "is not a list" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = 4", "must be CPU numbers in quotes" },
	{ UNEVEN, "cpus = \"4,6\"", "cpu = \"4,6\"", "topology.llc.cpus is missing" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = \"4,6\"\nllc = 3", "topology.llc.llc is no known key" },
	{ UNEVEN, "\"0,8\", ", "", "CPU 0 of this LLC is in none" },
	{ UNEVEN, "\"0,8\"", "\"0,9\"", "CPU 9 is in two groups" },
	{ UNEVEN, "\"0,8\"", "\"0,4\"", "CPU 4 is not in this LLC" },
	{ UNEVEN, "\"0,8\"", "0", "must be CPU numbers in quotes" },
	{ UNEVEN, "[\"0,8\", \"1,9\", \"2,10\", \"3,11\"]", "4", "must be a list" },
	{ UNEVEN, "[\"0-1,8-9\", \"2-3,10-11\"]", "[\"0-1,8,10\", \"2-3,9,11\"]",
	  "CPU 9 and its SMT sibling" },
	{ UNEVEN, "package = 1\nnode = 1", "package = 1\nnode = 0", "node 0 is in two packages" },
	{ UNEVEN, "package = 1\nnode = 1", "package = 1\nnode = 2", "no LLC is in node 1" },
	{ UNEVEN, "package = 1\nnode = 1", "package = 2\nnode = 1", "no LLC is in package 1" },
	{ UNEVEN, "package = 1\nnode = 1", "package = -1\nnode = 1", "topology.llc.package is -1" },
	{ UNEVEN, "[topology]\n", "[topology]\npackages = 2\n",
	  "topology.packages is no known key" },
	{ UNEVEN, IRREGULAR, "[topology]\nllc = []\n", "no LLC, it must have at least one" },
	{ UNEVEN, IRREGULAR, "[topology]\nllc = 5\n", "[[topology.llc]]" },
	{ UNEVEN, IRREGULAR, "[topology]\nllc = [5]\n", "[[topology.llc]]" },
};

static void refused(void)
{
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		char *text = edit(broken[i].whole, broken[i].from, broken[i].to);

		test_state.shape = broken[i].to;
		check_refused(text, broken[i].said);
		free(text);
	}
	test_state.shape = NULL;
}

/* A file cut anywhere is refused, or complete, if only words of the last source are gone. */
static void truncated(void)
{
	size_t whole = strlen(WHOLE);

	for (size_t len = 0; len < whole - sizeof(SOURCE); len++) {
		struct shard_err err = { "" };
		struct machine *machine = NULL;

		CHECK_EQ(machine_parse(&machine, WHOLE, len, "file", &err), -EINVAL);
		CHECK(!machine && err.text[0]);
	}
}

static void not_files(void)
{
	struct shard_err err = { "" };
	struct machine *machine;

	CHECK_EQ(machine_load(&machine, "/nonexistent.toml", &err), -ENOENT);
	CHECK(strstr(err.text, "/nonexistent.toml"));
	CHECK_EQ(machine_load(&machine, "/", &err), -EINVAL);
	CHECK(strstr(err.text, "regular file"));
	machine_free(NULL);
}

/* A message quotes, cuts and cleans what a file says: always one printable line. */
static void long_and_dirty(void)
{
	struct shard_err err = { "" };
	struct machine *machine;
	static char text[6000];

	memset(text, 'k', 5000);
	strcpy(text + 5000, " = 1\n");
	CHECK_EQ(machine_parse(&machine, text, strlen(text), "file", &err), -EINVAL);
	CHECK(strlen(err.text) < 200);
	strcpy(text, "\"a\\u0007\\nb\" = 1\n");
	CHECK_EQ(machine_parse(&machine, text, strlen(text), "file", &err), -EINVAL);
	CHECK(strstr(err.text, "a??b"));
	/* a file name that fills the whole text */
	memset(text, 'f', 5000);
	text[5000] = '\0';
	CHECK_EQ(machine_parse(&machine, "", 0, text, &err), -EINVAL);
	CHECK_EQ(strlen(err.text), sizeof(err.text) - 1);
	CHECK(!strcmp(err.text + strlen(err.text) - 3, "..."));
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
	RUN(refused);
	RUN(truncated);
	RUN(not_files);
	RUN(long_and_dirty);
	return test_done();
}
