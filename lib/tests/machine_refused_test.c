// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Refusals of the loader of machine files: the test breaks each rule of the format once, in a file
 * that is right otherwise. The error must name the rule and the line.
 */
#include <errno.h>
#include <string.h>
#include <schedshard/machine.h>
#include "machine_text.h"
#include "test.h"

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

/* A tier of @count units, at the smallest count that is refused. */
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
	  "file:5: clock_gzh is not a known key, did you mean clock_ghz?" },
	{ WHOLE, "clock_ghz = 2.5", "clock_ghz = \xc2\xa1",
	  "file:5: has a character that is not ASCII" },
	{ WHOLE, "clock_ghz = 2.5", "clock_ghz = ", "file:5: is not valid TOML" },
	{ WHOLE, "clock_ghz = 2.5", "schema = 1", "is not valid TOML" },
	/* an assertion of toml++ 3.3 */
	{ WHOLE, "[op_cycles]", "[ =", "file:21: is not valid TOML" },
	{ WHOLE, "[op_cycles]", "[ ", "is not valid TOML" },
	{ WHOLE, "packages = 2\n", "packages = 0\n", "file:7: topology.packages is 0" },
	{ WHOLE, "packages = 2\n", "packages = 2.0\n", "file:7: topology.packages has the wrong" },
	{ WHOLE, "packages = 2\n", "packages = 9000\n", "from 1 to 8192" },
	{ WHOLE, "packages = 2\n", "", "topology.packages is missing" },
	{ WHOLE, "packages = 2\n", "packages = 2\nnr_packages = 2\n",
	  "topology.nr_packages is not a known key, did you mean topology.packages?" },
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
	{ WHOLE, "far_burst = 3", "FarBurst = 3", "protocol.FarBurst is not a key" },
	{ WHOLE, "far_burst = 3", "far_burst = \"3\"", "protocol.far_burst has the wrong type" },
	{ WHOLE, "protocol = \"e\"\n", "", "protocol.far_burst has no source" },
	{ WHOLE, "protocol = \"e\"", "\"protocol.z\" = \"e\"", "protocol.far_burst has no source" },
	{ WHOLE, "latency_ns = \"c\"", "latency = \"c\"", "latency_ns.smt has no source" },
	{ WHOLE, "latency_ns = \"c\"", "latency_ns = \"\"", "must be a non-empty string" },
	{ WHOLE, "latency_ns = \"c\"", "latency_ns.smt = \"c\"", "must be a non-empty string" },
	{ WHOLE, "protocol = \"e\"", "protocol = \"e\"\nprotocol_ = \"f\"", "does not name a" },
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
	  "latency_ns.llc.hihg is not a known key, did you mean latency_ns.llc.high?" },
	{ WHOLE, "llc = 20.5", "llc = [20, 21, 22]", "latency_ns.llc has the wrong type" },
	{ WHOLE, "store_buffer = 56", "store_buffer = { value = 56, low = 40.5, high = 60 }",
	  "op_cycles.store_buffer.low has the wrong type" },
	{ WHOLE, "packages = 2\n", "packages = { value = 2, low = 2, high = 2 }\n",
	  "topology.packages has the wrong type" },
	{ WHOLE, "z = 0", "z = { value = 0, low = -1, high = 1 }", "protocol.z.low is -1" },
	{ WHOLE, OPS, "tier = 3\n" OPS, "latency_ns.tier is not a known key" },
	{ WHOLE, "schema", "tier = 3\nschema", "file:1: tier must be tables: [[tier]]" },
	{ WHOLE, "schema", "tier = [3]\nschema", "file:1: tier must be tables: [[tier]]" },
	{ TIERED, "\"board\"", "\"Board\"", "file:22: tier.name must be a string of a-z" },
	{ TIERED, "name = \"board\"", "nam = \"board\"", "did you mean tier.name?" },
	{ TIERED, "name = \"board\"\n", "", "file:21: tier.name is missing" },
	{ TIERED, "\"board\"", "\"l2\"", "file:29: tier.l2 appears twice" },
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
	  "file:29: tier.l2 joins as many cores as tier.cluster, remove one of them" },
	{ TIERED, "cores = 4\nns", "cores = 5\nns",
	  "file:29: tier.l2 joins 2 cores and tier.cluster 5, one must be a multiple of the "
	  "other" },
	{ TIERED, "cores = 4\nns", "cores = 2.5\nns", "tier.cluster.cores has the wrong type" },
	{ TIERED, "tier = \"f\"\n", "", "file:28: tier.cluster has no source" },
	{ TIERED, "tier.board\" =", "tier.bord\" =", "source.\"tier.bord\" does not name" },
	{ UNEVEN, OPS, PAIR("cores", "4") OPS, "less than the cores of the largest LLC, 4" },
	{ UNEVEN, OPS, PAIR("packages", "2") OPS, "tier.p.packages is 2, it must be less than" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = \"3,6\"", "CPU 3 is in two LLCs" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = \"\"", "is empty" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = \"4,8192\"", "has a number above 8191" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = \"4-\"", "is not a list" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = 4", "must be CPU numbers in quotes" },
	{ UNEVEN, "cpus = \"4,6\"", "cpu = \"4,6\"", "topology.llc.cpus is missing" },
	{ UNEVEN, "cpus = \"4,6\"", "cpus = \"4,6\"\nllc = 3",
	  "topology.llc.llc is not a known key" },
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
	  "topology.packages is not a known key" },
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

/* A file that is cut anywhere before the last source is refused. */
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

int main(void)
{
	RUN(refused);
	RUN(truncated);
	RUN(not_files);
	RUN(long_and_dirty);
	return test_done();
}
