// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests plans of machines whose CPUs go online or offline, are plugged in, or become forbidden. */
#include "apart.h"
#include "create.h"
#include "threads.h"

/* Two LLCs of two cores with two threads: 0,4 1,5 | 2,6 3,7. */
#define LLC_FILES                                                 \
	"cpu/cpu{0-7}/cache/index3/level=3\n"                     \
	"cpu/cpu{0-7}/cache/index3/type=Unified\n"                \
	"cpu/cpu{0-1,4-5}/cache/index3/shared_cpu_list=0-1,4-5\n" \
	"cpu/cpu{2-3,6-7}/cache/index3/shared_cpu_list=2-3,6-7\n" \
	"cpu/cpu{0,4}/topology/core_cpus_list=0,4\n"              \
	"cpu/cpu{1,5}/topology/core_cpus_list=1,5\n"              \
	"cpu/cpu{2,6}/topology/core_cpus_list=2,6\n"              \
	"cpu/cpu{3,7}/topology/core_cpus_list=3,7\n"              \
	"cpu/cpu{0-7}/topology/physical_package_id=0\n"           \
	"node/node0/cpulist=0-7\n"

static const char smt_on[] = "cpu/possible=0-15\ncpu/present=0-7\ncpu/online=0-7\n" LLC_FILES;
static const char smt_off[] = "cpu/possible=0-15\ncpu/present=0-7\ncpu/online=0-3\n"
			      "cpu/cpu{0-3}/cache/index3/level=3\n"
			      "cpu/cpu{0-3}/cache/index3/type=Unified\n"
			      "cpu/cpu{0-1}/cache/index3/shared_cpu_list=0-1\n"
			      "cpu/cpu{2-3}/cache/index3/shared_cpu_list=2-3\n"
			      "cpu/cpu0/topology/core_cpus_list=0\n"
			      "cpu/cpu1/topology/core_cpus_list=1\n"
			      "cpu/cpu2/topology/core_cpus_list=2\n"
			      "cpu/cpu3/topology/core_cpus_list=3\n"
			      "cpu/cpu{0-3}/topology/physical_package_id=0\n"
			      "cpu/cpu{4-7}/\n"
			      "node/node0/cpulist=0-3\n"
			      "cpu/cpu{4-7}/node0/\n";

/* Replaces the tree: from now on the machine is this one. */
static void now(const char *text)
{
	tree_remove(root);
	CHECK(tree_make(root));
	write_tree(text);
}

static const struct shard_plan *here(void)
{
	const struct shard_plan *plan = NULL;

	CHECK_EQ(shard_plan_here(&plan, NULL), 0);
	return plan;
}

static u32 shard_of(const struct shard_plan *plan, u32 cpu)
{
	CHECK(shard_plan_has_cpu(plan, cpu));
	return plan->slot[cpu].shard;
}

/* Both CPUs of each core are in the shard of their LLC. */
static void check_eight(const struct shard_plan *plan)
{
	CHECK_EQ(plan->nr_possible, 8);
	CHECK_EQ(plan->nr_shards, 2);
	for (u32 cpu = 0; cpu < 8; cpu++)
		CHECK_EQ(shard_of(plan, cpu), shard_of(plan, cpu & 2));
	CHECK(shard_of(plan, 0) != shard_of(plan, 2));
	for (u32 cpu = 0; cpu < 4; cpu++)
		CHECK_EQ(plan->close[cpu].core,
			 1ull << plan->slot[cpu].pos | 1ull << plan->slot[cpu + 4].pos);
}

/* Each CPU of a set has its own bit. */
static void check_set(struct sbm *set)
{
	const struct shard_plan *plan = set->plan;
	u32 cpu, n = 0;

	CHECK(plan->nr_possible);
	for (u32 idx = 0; idx < plan->nr_possible; idx++)
		sbm_set(set, plan->idx_to_cpu[idx]);
	sbm_for_each_cpu(cpu, it, set)
		n++;
	CHECK_EQ(n, plan->nr_possible);
	for (u32 idx = 0; idx < plan->nr_possible; idx++) {
		CHECK(sbm_test(set, plan->idx_to_cpu[idx]));
		sbm_clear(set, plan->idx_to_cpu[idx]);
	}
	CHECK(sbm_empty(set));
	CHECK(shard_plan_has_cpu(plan, shard_plan_this_cpu(plan)));
	CHECK(shard_plan_has_cpu(plan, shard_this_cpu()));
}

static void siblings_get_their_cache_when_they_come(void)
{
	const struct shard_plan *plan, *small;
	struct sbm *old, *set;

	now(smt_off);
	plan = here();
	CHECK_EQ(plan->nr_possible, 8);
	CHECK_EQ(plan->nr_shards, 3); /* one contains the CPUs without known caches */
	old = sbm_create();
	CHECK(old);
	now(smt_on);
	CHECK(here() == plan); /* without a refresh */
	CHECK_EQ(shard_plan_refresh(NULL), 1);
	CHECK_EQ(shard_plan_generation(), 2);
	CHECK(here() != plan);
	check_eight(here());
	CHECK_EQ(shard_plan_here_cap(2, &small, NULL), 0);
	CHECK_EQ(small->nr_shards, 4);
	set = sbm_create();
	CHECK(set && set->plan == here());
	check_set(old);
	check_set(set);
	sbm_destroy(old);
	sbm_destroy(set);
	now(smt_off);
	CHECK_EQ(shard_plan_refresh(NULL), 0);
}

static void cpus_are_plugged_in_and_out(void)
{
	static const char four[] = "cpu/possible=0-15\ncpu/present=0-3\ncpu/online=0-3\n"
				   "cpu/cpu{0-3}/topology/physical_package_id=0\n"
				   "node/node0/cpulist=0-3\n";
	const struct shard_plan *plan;
	struct sbm *old, *set;

	now(four);
	old = sbm_create();
	CHECK(old);
	CHECK_EQ(old->plan->nr_cpus, 4); /* absent CPUs take no memory */
	now(smt_on);
	CHECK_EQ(shard_plan_refresh(NULL), 1);
	set = sbm_create();
	CHECK(set);
	CHECK(set->plan == here());
	check_eight(here());
	check_set(old);
	check_set(set);
	plan = here();
	now(four);
	CHECK_EQ(shard_plan_refresh(NULL), 0);
	CHECK(here() == plan);
	check_set(set);
	sbm_destroy(old);
	sbm_destroy(set);
}

/* While the two lists of CPUs are unchanged, a refresh reads no other file. */
static void reads_no_more_than_it_must(void)
{
	now(smt_on);
	check_eight(here());
	write_tree("cpu/cpu0/cache/index3/level=x\n");
	CHECK_EQ(shard_plan_refresh(NULL), 0);
	write_tree("cpu/online=0-6\n");
	CHECK_EQ(shard_plan_refresh(NULL), -EINVAL);
}

static void a_failure_changes_nothing(void)
{
	const struct shard_plan *plan;
	struct shard_err err = { "" };

	now(smt_off);
	plan = here();
	now(smt_on);
	write_tree("cpu/cpu5/cache/index3/shared_cpu_list=1-5\n");
	CHECK_EQ(shard_plan_refresh(&err), -EINVAL);
	CHECK(strstr(err.text, "last-level cache"));
	CHECK(here() == plan);
	CHECK_EQ(shard_plan_generation(), 1);
	now(smt_on);
	test_fail_alloc(1);
	CHECK_EQ(shard_plan_refresh(NULL), -ENOMEM);
	CHECK(here() == plan);
	test_fail_alloc(0);
	CHECK_EQ(shard_plan_refresh(NULL), 1);
	check_eight(here());
}

/* The new files contradict the known topology of off-line CPUs, as after a guest's migration. */
static void what_was_known_may_contradict(void)
{
	const struct shard_plan *plan;

	now(smt_on);
	plan = here();
	now("cpu/present=0-7\ncpu/online=0-3\n"
	    "cpu/cpu{0-3}/cache/index3/level=3\n"
	    "cpu/cpu{0-3}/cache/index3/type=Unified\n"
	    "cpu/cpu{0,2}/cache/index3/shared_cpu_list=0,2\n"
	    "cpu/cpu{1,3}/cache/index3/shared_cpu_list=1,3\n"
	    "node/node0/cpulist=0-7\n");
	CHECK_EQ(shard_plan_refresh(NULL), -EINVAL); /* CPU 5: core of 1, LLC of 0 */
	CHECK(here() == plan);
}

static void sys_appears(void)
{
	const struct shard_plan *plan;

	tree_remove(root);
	plan = here();
	CHECK(!strcmp(shard_plan_how(), "no /sys: all CPUs are alike"));
	CHECK_EQ(shard_plan_refresh(NULL), 0);
	CHECK(tree_make(root));
	write_tree(smt_on);
	CHECK_EQ(shard_plan_refresh(NULL), 1);
	CHECK(!strcmp(shard_plan_how(), "caches in /sys"));
	for (u32 idx = 0; idx < plan->nr_possible; idx++)
		CHECK(shard_plan_has_cpu(here(), plan->idx_to_cpu[idx]));
	for (u32 cpu = 0; cpu < 8; cpu++)
		CHECK_EQ(shard_of(here(), cpu), shard_of(here(), cpu & 2));
}

static const struct shard_plan *allowed_here(u32 cap)
{
	const struct shard_plan *plan = NULL;

	CHECK_EQ(shard_plan_here_allowed(cap, &plan, NULL), 0);
	CHECK(plan);
	return plan;
}

/* A process may use one CPU of 8,192, each of which has its own cache. */
static void forbidden_cpus_take_no_room(void)
{
	static const struct shard_create_opts opts = { .allowed = true };
	const struct shard_plan *one, *two, *again;
	struct cpu_counter *counter;
	struct slot_set *slots;
	cpu_set_t before;
	struct sbm *set;
	u32 cpu;

	write_tree("cpu/possible=0-8191\n");
	CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	cpu = bind_to_first_allowed(&before);
	one = allowed_here(0);
	CHECK_EQ(one->nr_possible, 1);
	CHECK_EQ(one->nr_cpus, 8192);
	CHECK_EQ(one->idx_to_cpu[0], cpu);
	CHECK_EQ(shard_plan_this_cpu(one), cpu);
	CHECK_EQ(shard_nr_allowed(one), 1);
	set = sbm_create_opts(&opts);
	CHECK(set);
	CHECK_EQ(set->nr_shards, 1);
	CHECK_EQ(set->plan->nr_possible, 1);
	check_set(set);
	CHECK_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
	two = allowed_here(0);
	CHECK_EQ(two->nr_possible, (u32)CPU_COUNT(&before));
	CHECK((two == one) == (CPU_COUNT(&before) == 1));
	CHECK(shard_plan_has_cpu(one, shard_plan_this_cpu(one)));
	/* A claim or a search may start at a CPU that the set does not have. */
	sbm_set(set, cpu);
	CHECK_EQ(sbm_near_cpu(set, NULL, 8191), cpu);
	slots = slot_set_create_opts(2, &opts);
	CHECK(slots);
	CHECK_EQ(slot_claim_near(slots, 8191), 0);
	slot_put_near(slots, 0, 8191);
	slot_set_destroy(slots);
	bind_to_first_allowed(&before);
	again = allowed_here(64);
	CHECK(again == one);
	CHECK_EQ(shard_plan_here_allowed(65, &again, NULL), -EINVAL);
	sbm_destroy(set);
	counter = cpu_counter_create(0); /* without options the plan contains all CPUs */
	CHECK(counter && shard_plan_has_cpu(counter->plan, 8191));
	cpu_counter_destroy(counter);
}

/* Plans are never freed, so their number is bounded: then all CPUs are in the plan. */
static void plans_of_some_cpus_are_few(void)
{
	cpu_set_t before;

	write_tree("cpu/possible=0-8191\n");
	CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	bind_to_first_allowed(&before);
	for (u32 cap = 1; cap <= 64; cap++)
		CHECK_EQ(allowed_here(cap)->nr_possible, cap <= SHARD_MAX_ALLOWED ? 1 : 8192);
	CHECK_EQ(allowed_here(1)->nr_possible, 1);
}

static void write_below(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "mkdir -p %s/%s", root, dir);
	CHECK_EQ(system(path), 0);
	snprintf(path, sizeof(path), "%s/%s/%s", root, dir, name);
	f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

/* How many workers are useful where a cgroup bounds the time. */
static void cgroups_grant_less(void)
{
	const struct shard_plan *plan;
	cpu_set_t all;
	u32 nr;

	write_tree("cpu/possible=0-8191\n");
	plan = here();
	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	nr = (u32)CPU_COUNT(&all);
	CHECK_EQ(shard_nr_allowed(plan), nr);
	write_below("proc/self", "cgroup", "1:cpu:/x\n0::/a/b\n");
	write_below("sys/fs/cgroup/a/b", "cpu.max", "max 100000\n");
	CHECK_EQ(shard_nr_allowed(plan), nr);
	write_below("sys/fs/cgroup/a", "cpu.max", "100001 100000\n");
	CHECK_EQ(shard_nr_allowed(plan), nr < 2 ? nr : 2);
	write_below("sys/fs/cgroup", "cpu.max", "99999 100000\n");
	CHECK_EQ(shard_nr_allowed(plan), 1);
	write_below("sys/fs/cgroup", "cpu.max", "1 0\n");
	write_below("proc/self", "cgroup", "0::/../a\n");
	CHECK_EQ(shard_nr_allowed(plan), nr);
}

/* The tree contains no CPU that the process may use. */
static void nothing_is_allowed(void)
{
	const struct shard_plan *plan;

	write_tree("cpu/possible=8000-8001\n");
	plan = allowed_here(0);
	CHECK_EQ(plan->nr_possible, 2);
	CHECK(shard_plan_has_cpu(plan, shard_plan_this_cpu(plan)));
}

static void in_a_chroot(void)
{
	struct sbm *set;

	if (chroot(root)) {
		CHECK_EQ(errno, EPERM); /* not root: sys_appears() tests a missing /sys */
		return;
	}
	CHECK(!chdir("/"));
	CHECK(!rmdir("/sys/devices/system") && !rmdir("/sys/devices") && !rmdir("/sys"));
	strcpy(root, "/");
	set = sbm_create();
	CHECK(set);
	check_set(set);
	CHECK(!strcmp(shard_plan_how(), "no /sys: all CPUs are alike"));
	CHECK_EQ(shard_plan_refresh(NULL), 0);
	sbm_destroy(set);
	_exit(0); /* exit() would run the leak sanitizer, which cannot read /proc here */
}

/* Writes the tree of a machine on which only some CPUs are online. */
static void write_online(const struct shard_cpu *cpus, u32 nr_cpus, const bool *online)
{
	struct shard_cpu *shown = calloc(nr_cpus, sizeof(*shown));
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	CHECK(shown && out);
	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		shown[cpu] = cpus[cpu];
		if (!online[cpu])
			shown[cpu].package = shown[cpu].llc = shown[cpu].l2 = shown[cpu].core = -1;
	}
	tree_print_records(out, shown, nr_cpus);
	fprintf(out, "cpu/online=");
	for (u32 cpu = 0, n = 0; cpu < nr_cpus; cpu++)
		if (online[cpu])
			fprintf(out, n++ ? ",%u" : "%u", cpu);
	fprintf(out, "\n");
	CHECK_EQ(fclose(out), 0);
	now(text);
	free(text);
	free(shown);
}

static void check_same_plan(const struct shard_plan *a, const struct shard_plan *b)
{
	CHECK_EQ(a->nr_possible, b->nr_possible);
	CHECK_EQ(a->nr_shards, b->nr_shards);
	for (u32 idx = 0; idx < a->nr_possible; idx++) {
		u32 cpu = a->idx_to_cpu[idx];

		CHECK_EQ(cpu, b->idx_to_cpu[idx]);
		CHECK_EQ(shard_of(a, cpu), shard_of(b, cpu));
		CHECK_EQ(a->close[cpu].core, b->close[cpu].core);
		CHECK_EQ(a->close[cpu].l2, b->close[cpu].l2);
	}
}

static const struct shape some_shapes[] = {
	{ .name = "one LLC", 1, 1, 1, 3, 2, 1 },
	{ .name = "two packages", 2, 1, 3, 3, 2, 1 },
	{ .name = "nodes, clusters", 1, 2, 2, 4, 1, 2 },
	{ .name = "holes", 2, 1, 2, 5, 2, 1, .hole = 3 },
};

/*
 * CPUs come and go at random: the first refresh makes a plan, and a later one only if it learns
 * about new CPUs. The plan keeps what is known of CPUs that are offline.
 */
static void at_random(void)
{
	u32 nr_cpus, seen = 0, generation;
	struct shard_cpu *cpus = shape_cpus(&some_shapes[test_state.step], &nr_cpus);
	bool *online = calloc(nr_cpus, sizeof(*online)), *known = calloc(nr_cpus, sizeof(*known));
	u64 rng = test_state.seed;
	const struct shard_plan *last = NULL;
	struct shard_topo *topo;
	struct shard_plan *whole;

	CHECK(online && known);
	for (u32 step = 0; step < 60; step++) {
		for (u32 cpu = 0; cpu < nr_cpus; cpu++)
			if (cpus[cpu].possible && (step == 40 || !test_below(&rng, 3)))
				online[cpu] ^= true;
		for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
			/* in step 40 all CPUs are online */
			online[cpu] = cpus[cpu].possible && (online[cpu] || step == 40);
			seen += online[cpu] && !known[cpu];
			known[cpu] |= online[cpu];
		}
		write_online(cpus, nr_cpus, online);
		generation = shard_plan_generation();
		CHECK_EQ(shard_plan_refresh(NULL), here() != last);
		CHECK_EQ(shard_plan_generation(), generation + (here() != last));
		CHECK(shard_plan_generation() <= seen + 1);
		CHECK(step <= 40 || here() == last);
		last = here();
		if (step != 40)
			continue;
		CHECK_EQ(shard_topo_from_sysfs(&topo, root, NULL), 0);
		CHECK_EQ(shard_plan_build(&whole, topo, NULL), SHARD_PLAN_OK);
		check_same_plan(last, whole);
		shard_plan_free(whole);
		shard_topo_free(topo);
	}
	free(online);
	free(known);
	free(cpus);
}

/* Thread 0 changes the machine; the others create and use sets, and see only complete plans. */
static void use_or_change(u32 thread)
{
	for (u32 round = 0; round < 40; round++) {
		struct sbm *set;
		u32 before = shard_plan_generation();

		if (!thread) {
			write_tree(round % 2 ? "cpu/online=0-3\n" : "cpu/online=0-7\n");
			if (round == 20)
				write_tree(LLC_FILES);
			CHECK(shard_plan_refresh(NULL) >= 0);
			continue;
		}
		set = sbm_create();
		CHECK(set);
		check_set(set);
		CHECK(shard_plan_generation() >= before);
		if (before == 2)
			CHECK_EQ(set->plan->nr_shards, 2);
		sbm_destroy(set);
	}
}

static void others_refresh(void)
{
	now(smt_off);
	CHECK_EQ(here()->nr_possible, 8);
	run_threads(use_or_change);
	CHECK_EQ(shard_plan_generation(), 2);
	check_eight(here());
}

int main(int argc, char **argv)
{
	test_state.start = test_seed(argc, argv);
	RUN_APART(siblings_get_their_cache_when_they_come);
	RUN_APART(cpus_are_plugged_in_and_out);
	RUN_APART(reads_no_more_than_it_must);
	RUN_APART(a_failure_changes_nothing);
	RUN_APART(what_was_known_may_contradict);
	RUN_APART(sys_appears);
	RUN_APART(forbidden_cpus_take_no_room);
	RUN_APART(nothing_is_allowed);
	RUN_APART(plans_of_some_cpus_are_few);
	RUN_APART(cgroups_grant_less);
	RUN_APART(in_a_chroot);
	RUN_APART(others_refresh);
	RUN_APART_ON(some_shapes, at_random);
	return test_done();
}
