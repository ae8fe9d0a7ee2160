// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Structures for this machine, on one plan that all of them share.
 *
 * shard_plan_here() builds the plan under a lock and publishes it by a release store. The plan is
 * constant from then on and never freed. So a thread that loads the pointer with acquire may use it
 * for ever, without a reference count. A failed build leaves the pointer NULL.
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
static struct shard_plan *here;
static const char *how; /* set before @here */

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

static int build(struct shard_plan **plan, struct shard_err *err)
{
	u32 bad_cpu = UINT32_MAX;
	struct shard_plan_opts opts = { .bad_cpu = &bad_cpu };
	struct shard_topo *topo;
	enum shard_plan_err why;
	int ret = read_topology(&topo, err);

	if (ret)
		return ret;
	why = shard_plan_build(plan, topo, &opts);
	shard_topo_free(topo);
	if (!why)
		return 0;
	ret = why == SHARD_PLAN_NO_MEMORY ? -ENOMEM : -EINVAL;
	if (bad_cpu == UINT32_MAX)
		return shard_err_set(err, ret, "this machine: %s", shard_plan_strerror(why));
	return shard_err_set(err, ret, "this machine: CPU %u: %s", bad_cpu,
			     shard_plan_strerror(why));
}

int shard_plan_here(const struct shard_plan **plan, struct shard_err *err)
{
	/* Pairs with the release below: without it the plan's tables may be unset. */
	struct shard_plan *known = smp_load_acquire(&here);
	int ret = 0;

	if (!known) {
		pthread_mutex_lock(&lock);
		known = here;
		if (!known) {
			ret = build(&known, err);
			if (!ret)
				smp_store_release(&here, known); /* pairs with all acquires */
		}
		pthread_mutex_unlock(&lock);
	}
	if (!ret)
		*plan = known;
	return ret;
}

const char *shard_plan_how(void)
{
	/* Pairs with the release in shard_plan_here(). */
	return smp_load_acquire(&here) ? how : "";
}

/* The plan; NULL with errno. */
static const struct shard_plan *plan_or_errno(void)
{
	const struct shard_plan *plan = NULL;
	int ret = shard_plan_here(&plan, NULL);

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
	/* Pairs with the release in shard_plan_here(). */
	const struct shard_plan *plan = smp_load_acquire(&here);
	int cpu = sched_getcpu(); /* -1: the kernel has no such call */

	if (unlikely(!plan))
		return 0;
	if (likely(cpu >= 0 && shard_plan_has_cpu(plan, (u32)cpu)))
		return (u32)cpu;
	return plan->idx_to_cpu[0];
}

struct sbm *sbm_create(void)
{
	const struct shard_plan *plan = plan_or_errno();

	return plan ? allocated(sbm_alloc(plan, 0)) : NULL;
}

void sbm_destroy(struct sbm *b)
{
	sbm_free(b);
}

struct bytemap *bytemap_create(u8 value)
{
	const struct shard_plan *plan;

	if (value > BYTEMAP_MAX) {
		errno = EINVAL;
		return NULL;
	}
	plan = plan_or_errno();
	return plan ? allocated(bytemap_alloc(plan, value)) : NULL;
}

void bytemap_destroy(struct bytemap *m)
{
	bytemap_free(m);
}

struct shard_counter *shard_counter_create(void)
{
	const struct shard_plan *plan = plan_or_errno();
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
