// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Makes the plans of this machine. A generation is the result of one reading of the machine. It has
 * a plan for each cap (maximum number of CPUs per line), and a plan with a line per core.
 *
 * A generation is made under a lock and published by a release store, and so is each of its plans.
 * A plan is constant from then on and never freed. So a thread that loads the pointer with acquire
 * may use the plan forever, without a reference count. A generation starts with the plan of the
 * largest shards. This plan also serves each smaller cap that none of its shards exceeds. Other
 * plans are made when needed, from the generation's topology. A failure publishes nothing.
 *
 * Why the number of generations is bounded: a generation contains all CPUs of the previous one, and
 * each cache that was known. So a new generation has at least one more CPU or cache. If the machine
 * contradicts what was known of offline CPUs, that alone does not lead to a new generation.
 *
 * shard_plan_refresh() reads the lists of CPUs before the rest. If they change meanwhile, the next
 * call sees a difference and reads again.
 *
 * Without a tree in /sys, as in a chroot, all CPUs are alike. That costs speed and is not an error.
 * A tree that contradicts itself is an error, because nobody would notice a slow plan.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "internal.h"
#include "locks.h"
#include "plans.h"
#include "topo_build.h"
#include "topology.h"

/* A test compiles this file with another tree. */
#ifndef SYSFS_ROOT
#define SYSFS_ROOT "/"
#endif

#define OF_CORES (SHARD_MAX_CAP + 1) /* in place of a cap: a line per core */

#define MASK_BITS  (8 * sizeof(unsigned long))
#define MASK_WORDS (SHARD_LIB_MAX_CPUS / MASK_BITS)

/* A plan of the CPUs in a mask. */
struct allowed_plan {
	struct allowed_plan *next;
	struct shard_plan *plan;
	u32 cap; /* or OF_CORES */
	unsigned long mask[MASK_WORDS];
};

/**
 * struct generation - the result of one reading of the machine
 * @before: the previous generation
 * @number: 1 for the first one
 * @how: where the topology comes from
 * @lists: the kernel's lists of present and online CPUs at that time
 * @known: what /sys says, and what earlier generations knew
 * @topo: @known, completed for a plan
 * @plan: by cap, or at OF_CORES; the plan of the largest shards always exists
 * @allowed: plans of some CPUs
 */
struct generation {
	struct generation *before;
	u32 number;
	const char *how;
	char *lists;
	struct shard_topo *known;
	struct shard_topo *topo;
	struct shard_plan *plan[OF_CORES + 1];
	struct allowed_plan *allowed;
};

static struct generation *current;
static const struct shard_plan *first; /* the largest shards of the first generation */

static long read_affinity(unsigned long *mask)
{
	return syscall(SYS_sched_getaffinity, 0, MASK_WORDS * sizeof(*mask), mask);
}

static bool in_mask(const unsigned long *mask, u32 cpu)
{
	return cpu < SHARD_LIB_MAX_CPUS && mask[cpu / MASK_BITS] >> cpu % MASK_BITS & 1;
}

/*
 * A topology of all CPU numbers that the kernel may return, with nothing else known. The kernel's
 * affinity masks have that many bits, rounded up to 64. The CPUs that are allowed now are not
 * enough, because the set may grow.
 */
static int without_sysfs(struct shard_topo **topo, struct shard_err *err)
{
	unsigned long mask[MASK_WORDS];
	long nr = 8 * read_affinity(mask);
	struct shard_cpu *cpu;

	if (nr <= 0)
		nr = SHARD_LIB_MAX_CPUS;
	*topo = shard_topo_alloc((u32)nr, &cpu);
	if (!*topo)
		return shard_err_set(err, -ENOMEM, "this machine: out of memory");
	for (long i = 0; i < nr; i++)
		cpu[i].possible = true;
	return 0;
}

static int read_known(struct generation *g, struct shard_err *err)
{
	int ret = shard_topo_read_known(&g->known, SYSFS_ROOT, !strcmp(SYSFS_ROOT, "/"), err);

	if (ret == -ENOENT || ret == -ENOTDIR || ret == -EACCES || ret == -EPERM) {
		g->how = "no /sys: all CPUs are alike";
		return without_sysfs(&g->known, err);
	}
	if (ret)
		return ret;
	g->how = "/sys without caches";
	for (u32 i = 0; i < g->known->nr_cpus; i++)
		if (g->known->cpu[i].possible && g->known->cpu[i].llc >= 0)
			g->how = "caches in /sys";
	return 0;
}

/* Read a file below the root; NULL if there is none, or no memory. */
static char *read_below(const char *dir, const char *path, const char *name)
{
	/*
	 * A path begins with only one "/", because tools that show a program another /sys compare
	 * the path.
	 */
	const char *above = strcmp(SYSFS_ROOT, "/") ? SYSFS_ROOT : "";
	char *full, *text = NULL;
	size_t len;

	if (asprintf(&full, "%s%s%s%s", above, dir, path, name) < 0)
		return NULL;
	if (shard_read_file(full, 65536, &text, &len, NULL))
		text = NULL;
	free(full);
	return text;
}

/* Return the lists of present and of online CPUs, or NULL if there is no memory. */
static char *read_lists(void)
{
	static const char dir[] = "/sys/devices/system/cpu";
	char *present = read_below(dir, "", "/present");
	char *online = read_below(dir, "", "/online"), *both;

	if (asprintf(&both, "%s%s", present ? present : "", online ? online : "") < 0)
		both = NULL;
	free(present);
	free(online);
	return both;
}

static int build(struct shard_plan **plan, const struct shard_topo *topo, u32 cap,
		 struct shard_err *err)
{
	u32 bad_cpu = UINT32_MAX;
	struct shard_plan_opts opts = { .cap = cap == OF_CORES ? SHARD_CAP_POOL : cap,
					.bad_cpu = &bad_cpu,
					.cores = cap == OF_CORES };
	enum shard_plan_err why = shard_plan_build(plan, topo, &opts);
	int ret;

	if (!why)
		return 0;
	ret = why == SHARD_PLAN_NO_MEMORY ? -ENOMEM : -EINVAL;
	if (bad_cpu == UINT32_MAX)
		return shard_err_set(err, ret, "this machine: %s", shard_plan_strerror(why));
	return shard_err_set(err, ret, "this machine: CPU %u: %s", bad_cpu,
			     shard_plan_strerror(why));
}

/* Frees a generation that was never published. */
static void drop(struct generation *g)
{
	shard_plan_free(g->plan[SHARD_MAX_CAP]);
	shard_topo_free(g->topo);
	shard_topo_free(g->known);
	free(g->lists);
	free(g);
}

/* Adds the CPUs that @before knew, and makes the complete topology. */
static bool complete(struct generation *g, const struct generation *before)
{
	if (before) {
		struct shard_topo *kept = shard_topo_keep(g->known, before->known);

		shard_topo_free(g->known);
		g->known = kept;
	}
	g->topo = g->known ? shard_topo_complete(g->known) : NULL;
	return g->topo;
}

/* Under the lock: reads the machine. Returns 1 if it published a new generation, else 0. */
static int next_generation(struct generation *before, struct shard_err *err)
{
	struct generation *g = calloc(1, sizeof(*g));
	int ret;

	if (g)
		g->lists = read_lists();
	if (!g || !g->lists) {
		free(g);
		return shard_err_set(err, -ENOMEM, "this machine: out of memory");
	}
	ret = read_known(g, err);
	if (!ret && !complete(g, before))
		ret = shard_err_set(err, -ENOMEM, "this machine: out of memory");
	if (!ret && before && shard_topo_same(g->topo, before->topo)) {
		char *lists = before->lists;

		before->lists = g->lists;
		g->lists = lists;
		drop(g);
		return 0;
	}
	ret = ret ?: build(&g->plan[SHARD_MAX_CAP], g->topo, SHARD_MAX_CAP, err);
	if (ret) {
		drop(g);
		return ret;
	}
	g->before = before;
	g->number = before ? before->number + 1 : 1;
	if (!before)
		smp_store_release(&first, g->plan[SHARD_MAX_CAP]); /* pairs with shard_this_cpu() */
	smp_store_release(&current, g);				   /* pairs with all acquires */
	return 1;
}

int shard_plan_refresh(struct shard_err *err)
{
	char *lists;
	int ret = 0;

	shard_lock(LOCK_PLANS);
	lists = current ? read_lists() : NULL;
	if (!lists || !*lists || strcmp(lists, current->lists))
		ret = next_generation(current, err);
	shard_unlock(LOCK_PLANS);
	free(lists);
	return ret;
}

static bool cuts_nothing(const struct shard_plan *plan, u32 cap)
{
	for (u32 shard = 0; shard < plan->nr_shards; shard++)
		if (plan->shard[shard].nr_cpus > cap)
			return false;
	return true;
}

/* Under the lock: the plan of a cap. */
static int make(struct generation *g, u32 cap, struct shard_plan **plan, struct shard_err *err)
{
	int ret = 0;

	*plan = g->plan[cap];
	if (*plan)
		return 0;
	*plan = g->plan[SHARD_MAX_CAP]; /* never NULL, which clang's analyzer cannot see */
	if (cap == OF_CORES || !*plan || !cuts_nothing(*plan, cap))
		ret = build(plan, g->topo, cap, err);
	if (!ret)
		smp_store_release(&g->plan[cap], *plan); /* pairs with shard_plan_here_cap() */
	return ret;
}

static int check_cap(u32 *cap, struct shard_err *err)
{
	if (!*cap)
		*cap = SHARD_MAX_CAP;
	else if (*cap == SHARD_CAP_CORE)
		*cap = OF_CORES;
	else if (*cap > SHARD_MAX_CAP)
		return shard_err_set(err, -EINVAL, "%u CPUs per shard: it must be 1 to 64", *cap);
	return 0;
}

/* Under the lock: makes the first generation if there is none. */
static int need_one(struct shard_err *err)
{
	int ret = current ? 0 : next_generation(NULL, err);

	return ret < 0 ? ret : 0;
}

int shard_plan_here_cap(u32 cap, const struct shard_plan **plan, struct shard_err *err)
{
	const struct generation *g;
	struct shard_plan *known;
	int ret = check_cap(&cap, err);

	if (ret)
		return ret;
	/* Pairs with the releases above: without them the plan's tables may be unset. */
	g = smp_load_acquire(&current);
	known = g ? smp_load_acquire(&g->plan[cap]) : NULL;
	if (!known) {
		shard_lock(LOCK_PLANS);
		ret = need_one(err) ?: make(current, cap, &known, err);
		shard_unlock(LOCK_PLANS);
	}
	if (!ret)
		*plan = known;
	return ret;
}

int shard_plan_here(const struct shard_plan **plan, struct shard_err *err)
{
	return shard_plan_here_cap(0, plan, err);
}

/* Return a copy of a topology with only the CPUs of a mask, or all if the mask has none of them. */
static struct shard_topo *only(const struct shard_topo *topo, const unsigned long *mask)
{
	struct shard_topo *some;
	struct shard_cpu *cpu;
	bool any = false;

	for (u32 i = 0; i < topo->nr_cpus; i++)
		any |= topo->cpu[i].possible && in_mask(mask, i);
	/* with a place for each number that a thread may have after its affinity has changed */
	some = shard_topo_alloc(topo->nr_cpus, &cpu);
	if (!some)
		return NULL;
	memcpy(cpu, topo->cpu, topo->nr_cpus * sizeof(*cpu));
	for (u32 i = 0; any && i < topo->nr_cpus; i++)
		cpu[i].possible &= in_mask(mask, i);
	return some;
}

/* Under the lock: find or make the plan of the CPUs in a mask. */
static int make_allowed(struct generation *g, u32 cap, const unsigned long *mask,
			const struct shard_plan **plan, struct shard_err *err)
{
	struct allowed_plan *a;
	struct shard_topo *topo;
	u32 nr = 0;
	int ret;

	for (a = g->allowed; a; a = a->next, nr++) {
		if (a->cap == cap && !memcmp(a->mask, mask, sizeof(a->mask))) {
			*plan = a->plan;
			return 0;
		}
	}
	if (nr == SHARD_MAX_ALLOWED) { /* plans are never freed */
		struct shard_plan *all;

		ret = make(g, cap, &all, err);
		if (!ret)
			*plan = all;
		return ret;
	}
	a = calloc(1, sizeof(*a));
	topo = a ? only(g->topo, mask) : NULL;
	if (!topo) {
		free(a);
		return shard_err_set(err, -ENOMEM, "this machine: out of memory");
	}
	ret = build(&a->plan, topo, cap, err);
	shard_topo_free(topo);
	if (!a->plan) {
		free(a);
		return ret;
	}
	a->cap = cap;
	memcpy(a->mask, mask, sizeof(a->mask));
	a->next = g->allowed;
	g->allowed = a;
	*plan = a->plan;
	return 0;
}

int shard_plan_here_allowed(u32 cap, const struct shard_plan **plan, struct shard_err *err)
{
	unsigned long mask[MASK_WORDS] = { 0 };
	int ret;

	if (read_affinity(mask) <= 0)
		return shard_plan_here_cap(cap, plan, err);
	ret = check_cap(&cap, err);
	if (ret)
		return ret;
	shard_lock(LOCK_PLANS);
	ret = need_one(err) ?: make_allowed(current, cap, mask, plan, err);
	shard_unlock(LOCK_PLANS);
	return ret;
}

u32 shard_plan_generation(void)
{
	/* Pairs with the release in next_generation(). */
	const struct generation *g = smp_load_acquire(&current);

	return g ? g->number : 0;
}

const char *shard_plan_how(void)
{
	/* Pairs with the release in next_generation(). */
	const struct generation *g = smp_load_acquire(&current);

	return g ? g->how : "";
}

/* How many CPUs a cgroup's cpu.max grants, rounded up; @most if there is no such limit. */
static u32 granted(const char *cgroup, u32 most)
{
	char *text = read_below("/sys/fs/cgroup", cgroup, "/cpu.max");
	unsigned long long quota, period;

	if (text && sscanf(text, "%llu %llu", &quota, &period) == 2 && period &&
	    quota / period < most)
		most = (u32)(quota / period + (quota % period > 0));
	free(text);
	return most;
}

/* The fewest CPUs that cpu.max of the caller's cgroup, or of one above it, grants. */
static u32 granted_here(u32 most)
{
	char *text = read_below("/proc/self/cgroup", "", ""), *path = text;

	while (path && strncmp(path, "0::/", 4)) { /* the line of version 2 */
		path = strchr(path, '\n');
		path += !!path;
	}
	if (path) {
		path += 3;
		path[strcspn(path, "\n")] = '\0';
		while (*path && !strstr(path, "/..")) {
			most = granted(path, most);
			*strrchr(path, '/') = '\0';
		}
	}
	free(text);
	return granted("", most);
}

u32 shard_nr_allowed(const struct shard_plan *plan)
{
	unsigned long mask[MASK_WORDS] = { 0 };
	u32 n = 0;

	if (read_affinity(mask) <= 0)
		n = plan->nr_possible;
	else
		for (u32 cpu = 0; cpu < plan->nr_cpus; cpu++)
			n += plan->slot[cpu].possible && in_mask(mask, cpu);
	n = granted_here(n);
	return n ? n : 1; /* the caller runs on some CPU */
}

u32 shard_plan_this_cpu(const struct shard_plan *plan)
{
	int cpu = sched_getcpu(); /* -1: the kernel lacks the call */

	if (likely(cpu >= 0 && shard_plan_has_cpu(plan, (u32)cpu)))
		return (u32)cpu;
	/* so that threads on different unknown CPUs do not all share one */
	return plan->idx_to_cpu[cpu < 0 ? 0 : (u32)cpu % plan->nr_possible];
}

u32 shard_this_cpu(void)
{
	/* Pairs with the release in next_generation(). */
	const struct shard_plan *plan = smp_load_acquire(&first);

	return likely(plan) ? shard_plan_this_cpu(plan) : 0;
}
