// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests sets, slots and counters for this machine, where "this machine" is a tree of files. */
#include "apart.h"
#include "../create.c" /* NOLINT(bugprone-suspicious-include) */

/* Two LLCs of four CPUs; number 5 is not a CPU. */
static const char two_llcs[] = "cpu/possible=0-4,6-8\n"
			       "cpu/cpu{0-4,6-8}/topology/physical_package_id=0\n"
			       "cpu/cpu{0-4,6-8}/cache/index3/level=3\n"
			       "cpu/cpu{0-4,6-8}/cache/index3/type=Unified\n"
			       "cpu/cpu{0-3}/cache/index3/shared_cpu_list=0-3\n"
			       "cpu/cpu{4,6-8}/cache/index3/shared_cpu_list=4,6-8\n"
			       "node/node0/cpulist=0-4,6-8\n";

static void all_share_one_plan(void)
{
	const struct shard_plan *plan = NULL, *again = NULL;
	struct sbm *a, *b;
	struct shard_counter *counter;
	size_t plan_only;

	write_tree(two_llcs);
	CHECK_EQ(shard_plan_here(&plan, NULL), 0);
	plan_only = test_bytes_allocated();
	tree_remove(root); /* no test reads it again */
	a = sbm_create();
	b = sbm_create();
	counter = shard_counter_create();
	CHECK(a && b && counter);
	CHECK_EQ(shard_plan_here(&again, NULL), 0);
	CHECK(again == plan);
	CHECK(a->plan == plan && b->plan == plan);
	CHECK(counter->lines->plan == plan);
	sbm_set(a, 1);
	CHECK(!sbm_test(b, 1));
	CHECK_EQ(shard_counter_sum(counter), 0);
	sbm_destroy(a);
	sbm_destroy(b);
	shard_counter_destroy(counter);
	CHECK_EQ(test_bytes_allocated(), plan_only);
}

/* Like free(): nothing that exists changes, nor does errno. */
static void destroying_nothing(void)
{
	struct sbm *set;
	size_t before;

	write_tree(two_llcs);
	set = sbm_create();
	CHECK(set);
	sbm_set(set, 3);
	before = test_bytes_allocated();
	errno = ERANGE;
	sbm_destroy(NULL);
	shard_counter_destroy(NULL);
	cpu_counter_destroy(NULL);
	slot_set_destroy(NULL);
	CHECK_EQ(errno, ERANGE);
	CHECK_EQ(test_bytes_allocated(), before);
	CHECK(sbm_test(set, 3));
	sbm_destroy(set);
}

/* Return: do slots of a set with these options move to the shard of the CPU that puts them? */
static bool slots_follow(u32 nr, const struct shard_create_opts *opts)
{
	struct slot_set *s = slot_set_create_opts(nr, opts);
	bool follow;

	CHECK(s);
	CHECK_EQ(slot_set_nr_free(s), nr);
	CHECK_EQ(s->plan->nr_shards, 40);
	follow = s->nr_follow;
	slot_set_destroy(s);
	return follow;
}

/* An LLC of 40 CPUs: sets and counters divide it, counters by CPU do not. */
static void each_structure_has_its_cap(void)
{
	static const struct shard_create_opts none = { 0 }, all = { .size = sizeof(all) };
	static const struct shard_create_opts wrong = { .size = 4 }, follow = { .follow = true };
	const struct shard_plan *plan, *same;
	struct shard_err err = { "" };
	struct shard_counter *counter;
	struct cpu_counter *by_cpu;
	struct slot_set *slots;
	struct sbm *set;

	write_tree("cpu/possible=0-39\n"
		   "cpu/cpu{0-39}/topology/physical_package_id=0\n"
		   "cpu/cpu{0-39}/cache/index3/level=3\n"
		   "cpu/cpu{0-39}/cache/index3/type=Unified\n"
		   "cpu/cpu{0-39}/cache/index3/shared_cpu_list=0-39\n"
		   "node/node0/cpulist=0-39\n");
	set = sbm_create();
	tree_remove(root); /* other plans are of the same topology */
	CHECK(set);
	CHECK_EQ(set->nr_shards, 3);
	CHECK_EQ(shard_plan_here_cap(SHARD_CAP_LOCKED, &plan, NULL), 0);
	CHECK(set->plan == plan);
	sbm_destroy(set);
	set = sbm_create_opts(&none);
	CHECK(set && set->plan == plan && !set->summary);
	sbm_destroy(set);
	counter = shard_counter_create();
	CHECK(counter && counter->lines->plan == plan);
	shard_counter_destroy(counter);

	CHECK_EQ(shard_plan_here(&plan, NULL), 0);
	CHECK_EQ(plan->nr_shards, 1);
	by_cpu = cpu_counter_create(0);
	CHECK(by_cpu);
	cpu_counter_add(by_cpu, 39, 5);
	CHECK_EQ(cpu_counter_sum(by_cpu), 5);
	cpu_counter_destroy(by_cpu);
	CHECK_EQ(shard_plan_here_cap(41, &same, NULL), 0); /* divides no LLC */
	CHECK(same == plan);

	slots = slot_set_create(100);
	CHECK(slots);
	CHECK_EQ(slots->plan->nr_shards, 40); /* no core has two threads */
	CHECK_EQ(shard_plan_here_cap(SHARD_CAP_CORE, &same, NULL), 0);
	CHECK(slots->plan == same);
	CHECK_EQ(slot_set_nr_free(slots), 100);
	slot_set_destroy(slots);
	errno = 0;
	CHECK(!slot_set_create_opts(100, &wrong));
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK(!slot_set_create(0) && !slot_set_create(SLOT_SET_MAX + 1));
	CHECK_EQ(errno, EINVAL);
	CHECK(!slots_follow(100, NULL) && !slots_follow(100, &all));
	CHECK(slots_follow(100, &follow));
	errno = 0;
	CHECK(!slot_set_create_opts(0, &follow) &&
	      !slot_set_create_opts(SLOT_FOLLOW_MAX + 1, &follow));
	CHECK_EQ(errno, EINVAL);

	errno = 0;
	CHECK(!sbm_create_opts(&wrong));
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK(!shard_counter_create_opts(&wrong));
	CHECK_EQ(errno, EINVAL);
	same = NULL;
	CHECK_EQ(shard_plan_here_cap(65, &same, &err), -EINVAL);
	CHECK(!same && strstr(err.text, "1 to 64"));
}

/* Binds this process to the CPUs @a and @b; slots for the allowed CPUs must have @lines lines. */
static void check_allowed(u32 a, u32 b, u32 lines)
{
	static const struct shard_create_opts allowed = { .allowed = true };
	const struct shard_plan *plan;
	struct slot_set *slots;
	cpu_set_t mask;

	CPU_ZERO(&mask);
	CPU_SET(a, &mask);
	CPU_SET(b, &mask);
	CHECK_EQ(sched_setaffinity(0, sizeof(mask), &mask), 0);
	slots = slot_set_create_opts(1, &allowed);
	CHECK(slots);
	plan = slots->plan;
	CHECK_EQ(plan->nr_shards, lines);
	CHECK_EQ(plan->nr_possible, a == b ? 1 : 2);
	CHECK_EQ(plan->idx_to_cpu[0], a);
	CHECK_EQ(plan->idx_to_cpu[plan->nr_possible - 1], b);
	slot_set_destroy(slots);
}

/*
 * On a machine with one core of two CPUs, and others of one. The two are the first CPUs that this
 * process may use, whatever their numbers are, or two others. If it may use only one CPU, only one
 * is tested.
 */
static void lines_of_allowed(bool both_of_one_core)
{
	u32 one = 0, two, pair[2], nr;
	char text[200];
	struct slot_set *slots;
	cpu_set_t here;

	CHECK_EQ(sched_getaffinity(0, sizeof(here), &here), 0);
	while (!CPU_ISSET(one, &here))
		one++;
	for (two = one + 1; two < CPU_SETSIZE && !CPU_ISSET(two, &here);)
		two++;
	if (two == CPU_SETSIZE)
		two = one + 1;
	pair[0] = both_of_one_core ? one : two + 1;
	pair[1] = both_of_one_core ? two : two + 2;
	nr = two + 3;
	for (u32 i = 0; i < nr; i++) {
		snprintf(text, sizeof(text), "cpu/cpu{%u}/topology/core_cpus_list=%u\n", i, i);
		if (i == pair[0] || i == pair[1])
			snprintf(text, sizeof(text), "cpu/cpu{%u}/topology/core_cpus_list=%u,%u\n",
				 i, pair[0], pair[1]);
		write_tree(text);
	}
	snprintf(text, sizeof(text),
		 "cpu/possible=0-%u\n"
		 "cpu/cpu{0-%u}/topology/physical_package_id=0\n"
		 "node/node0/cpulist=0-%u\n",
		 nr - 1, nr - 1, nr - 1);
	write_tree(text);
	slots = slot_set_create(1);
	CHECK(slots);
	CHECK_EQ(slots->plan->nr_shards, nr - 1);
	CHECK_EQ(slots->plan->slot[pair[0]].shard, slots->plan->slot[pair[1]].shard);
	slot_set_destroy(slots);
	if (CPU_ISSET(two, &here))
		check_allowed(one, two, both_of_one_core ? 1 : 2);
	check_allowed(one, one, 1);
}

static void allowed_cpus_of_one_core(void)
{
	lines_of_allowed(true);
}

static void allowed_cpus_of_two_cores(void)
{
	lines_of_allowed(false);
}

/* The number of allowed CPUs follows the process's affinity, not the tree. */
static void counts_what_is_allowed(void)
{
	const struct shard_plan *plan;
	cpu_set_t all;

	write_tree("cpu/possible=0-8191\n");
	CHECK_EQ(shard_plan_here(&plan, NULL), 0);
	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	CHECK_EQ(shard_nr_allowed(plan), CPU_COUNT(&all));
	bind_to_first_allowed(&all);
	CHECK_EQ(shard_nr_allowed(plan), 1);
}

/* Both makers fail with @code, as does shard_plan_here(), whose text contains @said. */
static void check_refused(int code, const char *said)
{
	const struct shard_plan *plan = NULL;
	struct shard_err err = { "" };

	errno = 0;
	CHECK(!sbm_create());
	CHECK_EQ(errno, code);
	errno = 0;
	CHECK(!shard_counter_create());
	CHECK_EQ(errno, code);
	CHECK_EQ(shard_plan_here(&plan, &err), -code);
	CHECK(!plan);
	if (!strstr(err.text, said))
		test_fail(__FILE__, __LINE__, "said \"%s\", must say \"%s\"", err.text, said);
	CHECK_EQ(shard_this_cpu(), 0);
	CHECK_EQ(test_bytes_allocated(), 0);
}

/* The plan's only shard has this CPU and all others, and a set works. */
static void check_one_shard(const char *said)
{
	const struct shard_plan *plan = NULL;
	struct sbm *set;
	u32 cpu;

	CHECK(!strcmp(shard_plan_how(), ""));
	CHECK_EQ(shard_plan_here(&plan, NULL), 0);
	CHECK(!strcmp(shard_plan_how(), said));
	CHECK_EQ(plan->nr_shards, (plan->nr_possible + SHARD_MAX_CAP - 1) / SHARD_MAX_CAP);
	cpu = shard_this_cpu();
	CHECK(shard_plan_has_cpu(plan, cpu));
	set = sbm_create();
	CHECK(set);
	sbm_set(set, cpu);
	CHECK_EQ(sbm_weight(set), 1);
	sbm_destroy(set);
}

/* Without /sys, as in a chroot, the current CPU still has a bit. */
static void without_sys(void)
{
	int cpu = sched_getcpu();
	const struct shard_plan *plan;

	tree_remove(root);
	check_one_shard("no /sys: all CPUs are alike");
	CHECK_EQ(shard_plan_here(&plan, NULL), 0);
	CHECK(cpu < 0 || shard_plan_has_cpu(plan, (u32)cpu));
	CHECK((long)plan->nr_possible >= sysconf(_SC_NPROCESSORS_CONF));
}

static void sys_is_a_file(void)
{
	tree_remove(root);
	CHECK(tree_make(root));
	write_tree("x=y\n");
	strcat(root, "/sys/devices/system/x");
	check_one_shard("no /sys: all CPUs are alike");
	root[strlen(root) - strlen("/sys/devices/system/x")] = '\0';
}

static void one_cpu_and_no_node(void)
{
	const struct shard_plan *plan;

	write_tree("cpu/possible=0\nnode/\n");
	check_one_shard("/sys without caches");
	CHECK_EQ(shard_plan_here(&plan, NULL), 0);
	CHECK_EQ(plan->nr_possible, 1);
}

/* After a failure the next call tries again. */
static void tries_again(void)
{
	struct sbm *set;

	write_tree("cpu/possible/\n");
	check_refused(EISDIR, "cpu/possible");
	tree_remove(root);
	CHECK(tree_make(root));
	write_tree(two_llcs);
	set = sbm_create();
	CHECK(set);
	sbm_destroy(set);
}

static void files_that_contradict(void)
{
	write_tree(two_llcs);
	write_tree("cpu/cpu2/cache/index3/shared_cpu_list=1-3\n");
	check_refused(EINVAL, "CPU 1 is in two of the lists");
}

/* The files agree with each other, but describe a machine that has no plan. */
static void machine_without_a_plan(void)
{
	write_tree(two_llcs);
	write_tree("cpu/cpu{3-4}/topology/core_cpus_list=3-4\n");
	check_refused(EINVAL, "this machine: CPU ");
}

static void no_memory(void)
{
	struct shard_counter *counter = NULL;
	struct sbm *set = NULL;
	unsigned int n;
	size_t before;

	write_tree(two_llcs);
	for (n = 1; !set; n++) { /* the plan, the header, the lines */
		test_fail_alloc(n);
		errno = 0;
		set = sbm_create();
		CHECK(set || errno == ENOMEM);
	}
	CHECK_EQ(n, 5);
	before = test_bytes_allocated();
	for (n = 1; !counter; n++) { /* the counter, its table, its lines */
		test_fail_alloc(n);
		errno = 0;
		counter = shard_counter_create();
		CHECK(counter || errno == ENOMEM);
		CHECK(counter || test_bytes_allocated() == before);
	}
	CHECK_EQ(n, 5);
	test_fail_alloc(0);
	shard_counter_destroy(counter);
	sbm_destroy(set);
}

/* The kernel names a CPU that the tree, as in a container, does not list. */
static void running_on_an_unlisted_cpu(void)
{
	const struct shard_plan *plan;

	write_tree("cpu/possible=8000-8001\n");
	CHECK_EQ(shard_this_cpu(), 0);
	CHECK_EQ(shard_plan_here(&plan, NULL), 0);
	CHECK(shard_plan_has_cpu(plan, shard_this_cpu()));
}

static void running_on_a_listed_cpu(void)
{
	const struct shard_plan *plan;
	cpu_set_t allowed;
	u32 cpu;

	strcpy(root, "/");
	CHECK_EQ(shard_plan_here(&plan, NULL), 0);
	CHECK_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	for (u32 nr = 0; nr < CPU_SETSIZE; nr++)
		CHECK(!CPU_ISSET(nr, &allowed) || shard_plan_has_cpu(plan, nr));
	cpu = bind_to_first_allowed(&allowed);
	CHECK_EQ(shard_this_cpu(), cpu);
}

int main(void)
{
	RUN_APART(all_share_one_plan);
	RUN_APART(destroying_nothing);
	RUN_APART(each_structure_has_its_cap);
	RUN_APART(allowed_cpus_of_one_core);
	RUN_APART(allowed_cpus_of_two_cores);
	RUN_APART(counts_what_is_allowed);
	RUN_APART(without_sys);
	RUN_APART(sys_is_a_file);
	RUN_APART(one_cpu_and_no_node);
	RUN_APART(tries_again);
	RUN_APART(files_that_contradict);
	RUN_APART(machine_without_a_plan);
	RUN_APART(no_memory);
	RUN_APART(running_on_an_unlisted_cpu);
	RUN_APART(running_on_a_listed_cpu);
	return test_done();
}
