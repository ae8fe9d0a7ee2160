// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests topologies that are read from trees of /sys.
 *
 * The main test is a round trip. Code that shares nothing with the reader writes the records of
 * many machines as a tree. The test reads them back and compares partitions, because the reader
 * chooses its own ids.
 */
#include <errno.h>
#include <string.h>
#include <schedshard/schedshard.h>
#include "shapes.h"
#include "test.h"
#include "topo_build.h"
#include "tree.h"

static const char *trees_dir;

static s32 member_of(const struct shard_cpu *cpu, size_t member)
{
	return *(const s32 *)((const char *)cpu + member);
}

/* Both topologies divide the CPUs into the same groups at a level, or neither knows the level. */
static void check_level(const char *level, size_t member, const struct shard_cpu *want,
			const struct shard_topo *got)
{
	s32 *match = calloc(1u << 20, sizeof(*match));
	bool *used = calloc(1u << 20, sizeof(*used));

	CHECK(match && used);
	for (u32 nr = 0; nr < got->nr_cpus; nr++) {
		s32 a = member_of(&want[nr], member), b = member_of(&got->cpu[nr], member);

		if (!want[nr].possible)
			continue;
		if ((a < 0) != (b < 0))
			test_fail(__FILE__, __LINE__, "%s of CPU %u: %d written, %d read", level,
				  nr, a, b);
		if (a < 0)
			continue;
		CHECK(a < 1 << 20 && b < 1 << 20);
		if (!match[a] && !used[b]) {
			match[a] = b + 1;
			used[b] = true;
		}
		if (match[a] != b + 1)
			test_fail(__FILE__, __LINE__,
				  "%s of CPU %u: %d written, %d read, elsewhere %d", level, nr, a,
				  b, match[a] - 1);
	}
	free(match);
	free(used);
}

static void check_same(const struct shard_cpu *want, u32 nr_cpus, const struct shard_topo *got)
{
	CHECK_EQ(got->nr_cpus, nr_cpus);
	for (u32 nr = 0; nr < nr_cpus; nr++)
		CHECK_EQ(got->cpu[nr].possible, want[nr].possible);
	check_level("package", offsetof(struct shard_cpu, package), want, got);
	check_level("node", offsetof(struct shard_cpu, node), want, got);
	check_level("llc", offsetof(struct shard_cpu, llc), want, got);
	check_level("l2", offsetof(struct shard_cpu, l2), want, got);
	check_level("core", offsetof(struct shard_cpu, core), want, got);
}

/* Reading as on a live machine, which opens few files, gives the same records. */
static void check_few_files(const char *root, const struct shard_topo *want)
{
	struct shard_err err = { "" };
	struct shard_topo *got;

	if (shard_topo_read(&got, root, true, &err))
		test_fail(__FILE__, __LINE__, "%s", err.text);
	CHECK_EQ(got->nr_cpus, want->nr_cpus);
	for (u32 nr = 0; nr < got->nr_cpus; nr++) {
		const struct shard_cpu *a = &got->cpu[nr], *b = &want->cpu[nr];

		CHECK_EQ(a->possible, b->possible);
		CHECK_EQ(a->package, b->package);
		CHECK_EQ(a->node, b->node);
		CHECK_EQ(a->llc, b->llc);
		CHECK_EQ(a->l2, b->l2);
		CHECK_EQ(a->core, b->core);
		CHECK_EQ(a->thread, b->thread);
	}
	shard_topo_free(got);
}

/* The topology of a tree given as text. */
static int read_text(struct shard_topo **topo, const char *text, size_t len, struct shard_err *err)
{
	char root[64];
	int ret;

	CHECK(tree_make(root));
	CHECK(tree_write(root, text, len, UINT32_MAX));
	ret = shard_topo_from_sysfs(topo, root, err);
	if (!ret)
		check_few_files(root, *topo);
	tree_remove(root);
	return ret;
}

static void round_trip(struct shard_cpu *cpu, u32 nr_cpus)
{
	struct shard_err err = { "" };
	struct shard_topo *topo;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	tree_print_records(out, cpu, nr_cpus);
	fclose(out);
	if (read_text(&topo, text, len, &err))
		test_fail(__FILE__, __LINE__, "%s", err.text);
	/* without a level 3 the L2 is the last-level cache */
	for (u32 nr = 0; nr < nr_cpus; nr++) {
		if (cpu[nr].llc < 0)
			cpu[nr].llc = cpu[nr].l2;
	}
	check_same(cpu, nr_cpus, topo);
	shard_topo_free(topo);
	free(text);
}

static void trees_of_all_shapes(void)
{
	for (u32 i = 0; i < nr_shapes; i++) {
		u32 nr_cpus;
		struct shard_cpu *cpu = shape_cpus(&shapes[i], &nr_cpus);

		test_state.shape = shapes[i].name;
		/* thousands of CPUs are tens of thousands of files: once is enough */
		if (nr_cpus <= 256 || !strcmp(shapes[i].name, "4096 CPUs"))
			round_trip(cpu, nr_cpus);
		free(cpu);
	}
	test_state.shape = NULL;
}

/* A fixture of lib/tests/trees. */
static struct shard_topo *read_fixture(const char *name)
{
	struct shard_err err = { "" };
	struct shard_topo *topo;
	static char text[1 << 16];
	char path[512];
	size_t len;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.tree", trees_dir, name);
	file = fopen(path, "r");
	if (!file)
		test_fail(__FILE__, __LINE__, "%s cannot be opened", path);
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	CHECK(len < sizeof(text));
	if (read_text(&topo, text, len, &err))
		test_fail(__FILE__, __LINE__, "%s", err.text);
	return topo;
}

static void check_cpu(const struct shard_topo *topo, u32 nr, struct shard_cpu want)
{
	const struct shard_cpu *cpu = &topo->cpu[nr];

	if (cpu->package != want.package || cpu->node != want.node || cpu->llc != want.llc ||
	    cpu->l2 != want.l2 || cpu->core != want.core || cpu->thread != want.thread)
		test_fail(__FILE__, __LINE__,
			  "CPU %u: package %d node %d llc %d l2 %d core %d thread %d, must be "
			  "%d %d %d %d %d %d",
			  nr, cpu->package, cpu->node, cpu->llc, cpu->l2, cpu->core, cpu->thread,
			  want.package, want.node, want.llc, want.l2, want.core, want.thread);
}

static void hybrid_with_holes(void)
{
	struct shard_topo *topo = read_fixture("hybrid-holes");

	CHECK_EQ(topo->nr_cpus, 14);
	check_cpu(topo, 0, (struct shard_cpu){ 0, 0, 0, 0, 0, 0, true });
	check_cpu(topo, 1, (struct shard_cpu){ 0, 0, 0, 0, 0, 1, true });
	check_cpu(topo, 3, (struct shard_cpu){ 0, 0, 0, 1, 1, 1, true });
	check_cpu(topo, 9, (struct shard_cpu){ 0, 0, 0, 2, 5, 0, true });
	check_cpu(topo, 12, (struct shard_cpu){ 0, 0, 1, 3, 6, 0, true });
	check_cpu(topo, 13, (struct shard_cpu){ 0, 0, 1, 3, 7, 0, true });
	CHECK(!topo->cpu[4].possible && !topo->cpu[11].possible);
	shard_topo_free(topo);
}

static void no_cache_information(void)
{
	struct shard_topo *topo = read_fixture("arm64-no-cache");
	struct shard_plan *plan;

	check_cpu(topo, 0, (struct shard_cpu){ -1, 0, -1, -1, 0, 0, true });
	check_cpu(topo, 7, (struct shard_cpu){ -1, 1, -1, -1, 7, 0, true });
	CHECK_EQ(shard_plan_build(&plan, topo, NULL), SHARD_PLAN_OK);
	CHECK_EQ(plan->level, SHARD_LEVEL_NODE);
	CHECK_EQ(plan->nr_shards, 2);
	shard_plan_free(plan);
	shard_topo_free(topo);
}

static void offline_cpus(void)
{
	struct shard_topo *topo = read_fixture("offline");
	struct shard_plan *plan;

	check_cpu(topo, 0, (struct shard_cpu){ 0, 0, 0, -1, 0, 0, true });
	check_cpu(topo, 4, (struct shard_cpu){ 1, 1, 1, -1, 3, 0, true });
	/* offline CPUs are in an invented LLC of their node */
	check_cpu(topo, 3, (struct shard_cpu){ 0, 0, 2, -1, -1, -1, true });
	check_cpu(topo, 5, (struct shard_cpu){ 1, 1, 3, -1, -1, -1, true });
	check_cpu(topo, 7, (struct shard_cpu){ 1, 1, 3, -1, -1, -1, true });
	/* CPUs 8 and 9 are not present: no records, and no shards */
	CHECK_EQ(topo->nr_cpus, 8);
	/* offline CPUs do not make the plan ignore LLCs */
	CHECK_EQ(shard_plan_build(&plan, topo, NULL), SHARD_PLAN_OK);
	CHECK_EQ(plan->level, SHARD_LEVEL_LLC);
	CHECK_EQ(plan->nr_shards, 4);
	shard_plan_free(plan);
	shard_topo_free(topo);
}

/* Reads a tree of a few lines, which must be accepted. */
static struct shard_topo *read_lines(const char *text)
{
	struct shard_topo *topo = NULL;
	struct shard_err err = { "" };

	if (read_text(&topo, text, strlen(text), &err))
		test_fail(__FILE__, __LINE__, "%s", err.text);
	return topo;
}

/* A hypervisor often makes room for CPUs that it may add, and nodes may list them. */
static void absent_cpus(void)
{
	struct shard_topo *topo = read_lines("cpu/possible=0-7\ncpu/present=0,2-3\n"
					     "cpu/cpu{0-7}/cache/index2/type=Unified\n"
					     "cpu/cpu{0-7}/cache/index2/level=3\n"
					     "cpu/cpu{0-3}/cache/index2/shared_cpu_list=0-3\n"
					     "cpu/cpu{4-7}/cache/index2/shared_cpu_list=4-7\n"
					     "node/node0/cpulist=0-7\n");
	struct shard_plan *plan;

	CHECK_EQ(topo->nr_cpus, 4);
	CHECK(!topo->cpu[1].possible);
	check_cpu(topo, 0, (struct shard_cpu){ -1, 0, 0, -1, -1, -1, true });
	check_cpu(topo, 3, (struct shard_cpu){ -1, 0, 0, -1, -1, -1, true });
	CHECK_EQ(shard_plan_build(&plan, topo, NULL), SHARD_PLAN_OK);
	CHECK_EQ(plan->nr_shards, 1);
	shard_plan_free(plan);
	shard_topo_free(topo);
}

/* A guest of a Loongson: one cache, and a package for each virtual CPU. */
static void a_cache_in_all_packages(void)
{
	struct shard_topo *topo = read_lines("cpu/possible=0-1\ncpu/present=0-1\n"
					     "cpu/cpu0/topology/physical_package_id=0\n"
					     "cpu/cpu1/topology/physical_package_id=1\n"
					     "cpu/cpu{0-1}/cache/index3/type=Unified\n"
					     "cpu/cpu{0-1}/cache/index3/level=3\n"
					     "cpu/cpu{0-1}/cache/index3/shared_cpu_list=0-1\n");
	struct shard_plan *plan;

	check_cpu(topo, 1, (struct shard_cpu){ -1, -1, 0, -1, -1, -1, true });
	CHECK_EQ(shard_plan_build(&plan, topo, NULL), SHARD_PLAN_OK);
	CHECK_EQ(plan->nr_shards, 1);
	shard_plan_free(plan);
	shard_topo_free(topo);
}

/* On POWER, kernels before 5.4 show masks and no lists. */
static void masks_alone(void)
{
	struct shard_topo *topo =
		read_lines("cpu/possible=0-39\n"
			   "cpu/cpu{0-39}/cache/index1/type=Unified\n"
			   "cpu/cpu{0-39}/cache/index1/level=3\n"
			   "cpu/cpu{0-7}/cache/index1/shared_cpu_map=00,000000ff\n"
			   "cpu/cpu{8-39}/cache/index1/shared_cpu_map=ff,ffffff00\n"
			   "cpu/cpu{0-3}/topology/thread_siblings=0f\n"
			   "node/node0/cpumap=00,ffffffff\n"
			   "node/node1/cpumap=ff,00000000\n");

	check_cpu(topo, 0, (struct shard_cpu){ -1, 0, 0, -1, 0, 0, true });
	check_cpu(topo, 3, (struct shard_cpu){ -1, 0, 0, -1, 0, 3, true });
	check_cpu(topo, 8, (struct shard_cpu){ -1, 0, 1, -1, -1, -1, true });
	check_cpu(topo, 39, (struct shard_cpu){ -1, 1, 1, -1, -1, -1, true });
	shard_topo_free(topo);
}

static void refused_trees(void)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{ "cpu/\n", "has no CPU" },
		{ "cpu/possible=\n", "has no CPU" },
		{ "cpu/possible=0-\n", "not a list" },
		{ "cpu/possible=3-1\n", "ends before" },
		{ "cpu/possible=0-9000\n", "above 8191" },
		{ "cpu/possible=0-3\ncpu/present=4-7\n", "no CPU that is possible" },
		{ "cpu/possible=0-3\ncpu/cpu0/topology/thread_siblings=1,00\n", "not a mask" },
		{ "cpu/possible=0-3\ncpu/cpu0/topology/thread_siblings=xyz\n", "not a mask" },
		{ "cpu/possible=0-1\ncpu/cpu0/topology/physical_package_id=x\n",
		  "must be a number from -1" },
		{ "cpu/possible=0\ncpu/cpu0/cache/index0/type=Magic\n", "must be Data" },
		{ "cpu/possible=0\ncpu/cpu0/cache/index0/type=Data\n"
		  "cpu/cpu0/cache/index0/level=0\n",
		  "from 1 to 9" },
		{ "cpu/possible=0-3\ncpu/cpu{0-3}/topology/core_cpus_list=0-1\n",
		  "cpu2/topology/core_cpus_list: \"0-1\" must contain CPU 2" },
		{ "cpu/possible=0-3\ncpu/cpu{0-3}/topology/core_cpus_list=0-4\n", "not possible" },
		{ "cpu/possible=0-3\ncpu/cpu{0-1}/topology/core_cpus_list=0-1\n"
		  "cpu/cpu2/topology/core_cpus_list=1-2\n",
		  "CPU 1 is in two" },
		{ "cpu/possible=0-3\ncpu/cpu{0-3}/cache/index3/type=Unified\n"
		  "cpu/cpu{0-3}/cache/index3/level=3\n"
		  "cpu/cpu{0-1}/cache/index3/shared_cpu_list=0-1\n"
		  "cpu/cpu{2-3}/cache/index3/shared_cpu_list=0,2-3\n",
		  "contradicts another CPU of this last-level cache" },
		{ "cpu/possible=0-3\nnode/node0/cpulist=0-2\nnode/node1/cpulist=2-3\n",
		  "CPU 2, which is in node 0" },
		{ "cpu/possible=0-3\nnode/node0/cpulist=0-7\n", "CPU 4, which is not possible" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct shard_err err = { "" };
		struct shard_topo *topo = NULL;

		test_state.shape = cases[i].text;
		CHECK_EQ(read_text(&topo, cases[i].text, strlen(cases[i].text), &err), -EINVAL);
		CHECK(!topo);
		if (!strstr(err.text, cases[i].said) || strchr(err.text, '\n'))
			test_fail(__FILE__, __LINE__, "said \"%s\", must say \"%s\"", err.text,
				  cases[i].said);
	}
	test_state.shape = NULL;
}

static void missing_trees(void)
{
	struct shard_err err = { "" };
	struct shard_topo *topo;

	CHECK_EQ(shard_topo_from_sysfs(&topo, "/nonexistent", &err), -ENOENT);
	CHECK(strstr(err.text, "/nonexistent"));
	CHECK_EQ(shard_topo_from_sysfs(&topo, "/usr", &err), -ENOENT);
	CHECK(strstr(err.text, "must be / or the root of a captured tree"));
	/* no description wanted */
	CHECK_EQ(shard_topo_from_sysfs(&topo, "/usr", NULL), -ENOENT);
}

static void this_machine(void)
{
	struct shard_err err = { "" };
	struct shard_topo *topo;
	struct shard_plan *plan;

	if (shard_topo_from_sysfs(&topo, "/", &err))
		test_fail(__FILE__, __LINE__, "%s", err.text);
	CHECK(topo->nr_cpus >= 1);
	CHECK_EQ(shard_plan_build(&plan, topo, NULL), SHARD_PLAN_OK);
	shard_plan_free(plan);
	shard_topo_free(topo);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	trees_dir = argv[1];
	RUN(trees_of_all_shapes);
	RUN(hybrid_with_holes);
	RUN(no_cache_information);
	RUN(offline_cpus);
	RUN(absent_cpus);
	RUN(a_cache_in_all_packages);
	RUN(masks_alone);
	RUN(refused_trees);
	RUN(missing_trees);
	RUN(this_machine);
	return test_done();
}
