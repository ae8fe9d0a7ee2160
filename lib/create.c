// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Structures for this machine, on one plan for each number of CPUs that may share a line.
 *
 * shard_plan_here_cap() builds a plan under a lock and publishes it by a release store. A plan is
 * constant from then on and never freed. So a thread that loads the pointer with acquire may use it
 * for ever, without a reference count. A failed build leaves the pointer NULL. The plan of the
 * largest shards comes first. It stands for all smaller caps that cut none of its shards. The
 * topology stays for the others.
 *
 * Without a tree in /sys, as in a chroot, all CPUs are alike. That costs speed and is no error. A
 * tree that contradicts itself is one, because a plan of it would be slow and nobody would notice.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "create.h"
#include "internal.h"
#include "topo_build.h"
#include "topology.h"

/* A test compiles this file with a tree of its own. */
#ifndef SYSFS_ROOT
#define SYSFS_ROOT "/"
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shard_topo *topo_here;		   /* set before the first plan */
static struct shard_plan *here[SHARD_MAX_CAP + 1]; /* by cap */
static const char *how;				   /* set before the first plan */

/*
 * All CPU numbers that the kernel may return; nothing else is known. Its masks have that many bits,
 * to the next 64: what is allowed now may grow.
 */
static int without_sysfs(struct shard_topo **topo, struct shard_err *err)
{
	unsigned long mask[SHARD_LIB_MAX_CPUS / (8 * sizeof(unsigned long))];
	long nr = 8 * syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	struct shard_cpu *cpu;

	if (nr <= 0)
		nr = SHARD_LIB_MAX_CPUS;
	*topo = shard_topo_alloc((u32)nr, &cpu);
	if (!*topo)
		return shard_err_set(err, -ENOMEM, "this machine: out of memory");
	for (long i = 0; i < nr; i++)
		cpu[i].possible = true;
	shard_topo_fill(cpu, (u32)nr);
	return 0;
}

static int read_topology(struct shard_topo **topo, struct shard_err *err)
{
	int ret = shard_topo_from_sysfs(topo, SYSFS_ROOT, err);

	if (ret == -ENOENT || ret == -ENOTDIR || ret == -EACCES || ret == -EPERM) {
		how = "no /sys: all CPUs are alike";
		return without_sysfs(topo, err);
	}
	if (ret)
		return ret;
	how = "/sys without caches";
	for (u32 i = 0; i < (*topo)->nr_cpus; i++)
		if ((*topo)->cpu[i].possible && (*topo)->cpu[i].llc >= 0)
			how = "caches in /sys";
	return 0;
}

static int build(struct shard_plan **plan, const struct shard_topo *topo, u32 cap,
		 struct shard_err *err)
{
	u32 bad_cpu = UINT32_MAX;
	struct shard_plan_opts opts = { .cap = cap, .bad_cpu = &bad_cpu };
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

static bool cuts_nothing(const struct shard_plan *plan, u32 cap)
{
	for (u32 shard = 0; shard < plan->nr_shards; shard++)
		if (plan->shard[shard].nr_cpus > cap)
			return false;
	return true;
}

/* Under the lock: the plan of the largest shards. */
static int largest(struct shard_plan **plan, struct shard_err *err)
{
	struct shard_topo *topo;
	int ret;

	*plan = here[SHARD_MAX_CAP];
	if (*plan)
		return 0;
	ret = read_topology(&topo, err);
	if (ret)
		return ret;
	ret = build(plan, topo, SHARD_MAX_CAP, err);
	if (ret) {
		shard_topo_free(topo);
		return ret;
	}
	topo_here = topo;
	smp_store_release(&here[SHARD_MAX_CAP], *plan); /* pairs with all acquires */
	return 0;
}

/* Under the lock: the plan of another cap; @plan is that of the largest shards before. */
static int smaller(struct shard_plan **plan, u32 cap, struct shard_err *err)
{
	int ret = 0;

	if (here[cap])
		*plan = here[cap];
	else if (!cuts_nothing(*plan, cap))
		ret = build(plan, topo_here, cap, err);
	if (!ret)
		smp_store_release(&here[cap], *plan); /* pairs with all acquires */
	return ret;
}

int shard_plan_here_cap(u32 cap, const struct shard_plan **plan, struct shard_err *err)
{
	struct shard_plan *known;
	int ret = 0;

	if (!cap)
		cap = SHARD_MAX_CAP;
	if (cap > SHARD_MAX_CAP)
		return shard_err_set(err, -EINVAL, "%u CPUs a shard: it must be 1 to 64", cap);
	/* Pairs with the releases above: without it the plan's tables may be unset. */
	known = smp_load_acquire(&here[cap]);
	if (!known) {
		pthread_mutex_lock(&lock);
		ret = largest(&known, err);
		if (!ret)
			ret = smaller(&known, cap, err);
		pthread_mutex_unlock(&lock);
	}
	if (!ret)
		*plan = known;
	return ret;
}

int shard_plan_here(const struct shard_plan **plan, struct shard_err *err)
{
	return shard_plan_here_cap(0, plan, err);
}

const char *shard_plan_how(void)
{
	/* Pairs with the release in largest(). */
	return smp_load_acquire(&here[SHARD_MAX_CAP]) ? how : "";
}

u32 shard_nr_allowed(const struct shard_plan *plan)
{
	unsigned long mask[SHARD_LIB_MAX_CPUS / (8 * sizeof(unsigned long))] = { 0 };
	u32 n = 0;

	if (syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask) <= 0)
		return plan->nr_possible;
	for (u32 cpu = 0; cpu < plan->nr_cpus && cpu < SHARD_LIB_MAX_CPUS; cpu++)
		n += plan->slot[cpu].possible &&
		     (mask[cpu / (8 * sizeof(*mask))] >> cpu % (8 * sizeof(*mask)) & 1);
	return n ? n : 1; /* the caller runs somewhere */
}

/* The plan for what @opts says, or else @cap; NULL with errno. */
static const struct shard_plan *plan_or_errno(const struct shard_create_opts *opts, u32 cap)
{
	const struct shard_plan *plan = NULL;
	int ret = shard_plan_here_cap(opts && opts->cap ? opts->cap : cap, &plan, NULL);

	if (ret)
		errno = -ret;
	return plan;
}

/* Pass an allocation on, with errno: port_alloc() need not set it. */
static void *allocated(void *ptr)
{
	if (!ptr)
		errno = ENOMEM;
	return ptr;
}

u32 shard_this_cpu(void)
{
	/* Pairs with the release in largest(). */
	const struct shard_plan *plan = smp_load_acquire(&here[SHARD_MAX_CAP]);
	int cpu = sched_getcpu(); /* -1: the kernel has no such call */

	if (unlikely(!plan))
		return 0;
	if (likely(cpu >= 0 && shard_plan_has_cpu(plan, (u32)cpu)))
		return (u32)cpu;
	return plan->idx_to_cpu[0];
}

struct sbm *sbm_create_opts(const struct shard_create_opts *opts)
{
	const struct shard_plan *plan = plan_or_errno(opts, SHARD_CAP_LOCKED);
	unsigned int flags = opts && opts->summary ? SBM_SUMMARY : 0;

	return plan ? allocated(sbm_alloc(plan, flags)) : NULL;
}

struct sbm *sbm_create(void)
{
	return sbm_create_opts(NULL);
}

void sbm_destroy(struct sbm *b)
{
	sbm_free(b);
}

struct bytemap *bytemap_create_opts(u8 value, const struct shard_create_opts *opts)
{
	const struct shard_plan *plan;

	if (value > BYTEMAP_MAX) {
		errno = EINVAL;
		return NULL;
	}
	plan = plan_or_errno(opts, SHARD_MAX_CAP);
	return plan ? allocated(bytemap_alloc(plan, value)) : NULL;
}

struct bytemap *bytemap_create(u8 value)
{
	return bytemap_create_opts(value, NULL);
}

void bytemap_destroy(struct bytemap *m)
{
	bytemap_free(m);
}

struct shard_counter *shard_counter_create_opts(const struct shard_create_opts *opts)
{
	const struct shard_plan *plan = plan_or_errno(opts, SHARD_CAP_LOCKED);
	struct shard_counter *c;

	if (!plan)
		return NULL;
	c = allocated(port_alloc(sizeof(*c), -1)); /* zeroed: ready to count */
	if (c && !shard_counter_attach(c, plan)) {
		port_free(c, sizeof(*c));
		return allocated(NULL);
	}
	return c;
}

void shard_counter_destroy(struct shard_counter *c)
{
	if (!c)
		return;
	shard_counter_detach(c);
	port_free(c, sizeof(*c));
}

struct shard_counter *shard_counter_create(void)
{
	return shard_counter_create_opts(NULL);
}

struct cpu_counter *cpu_counter_create(u32 batch)
{
	const struct shard_plan *plan = plan_or_errno(NULL, SHARD_MAX_CAP);

	return plan ? allocated(cpu_counter_alloc(plan, batch)) : NULL;
}

void cpu_counter_destroy(struct cpu_counter *c)
{
	cpu_counter_free(c);
}

struct slot_set *slot_set_create(u32 nr)
{
	const struct shard_plan *plan;

	if (!nr || nr > SLOT_SET_MAX) {
		errno = EINVAL;
		return NULL;
	}
	plan = plan_or_errno(NULL, SHARD_CAP_LOCKED);
	return plan ? allocated(slot_set_alloc(plan, nr)) : NULL;
}

void slot_set_destroy(struct slot_set *s)
{
	slot_set_free(s);
}
