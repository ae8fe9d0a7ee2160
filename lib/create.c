// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Makes structures for this machine: gets a plan of plans.c and allocates. Errors are in errno. */
#include <errno.h>
#include "create.h"
#include "internal.h"

/* Return the plan for @opts, which may be NULL, and a maximum of CPUs per line; NULL with errno. */
static const struct shard_plan *plan_or_errno(const struct shard_create_opts *opts, u32 cap)
{
	const struct shard_plan *plan = NULL;
	int ret;

	if (opts && opts->size && opts->size != sizeof(*opts)) /* a program of another version */
		ret = -EINVAL;
	else if (opts && opts->allowed)
		ret = shard_plan_here_allowed(cap, &plan, NULL);
	else
		ret = shard_plan_here_cap(cap, &plan, NULL);
	if (ret)
		errno = -ret;
	return plan;
}

/* Return @ptr; set errno if it is NULL, which port_alloc() need not do. */
static void *allocated(void *ptr)
{
	if (!ptr)
		errno = ENOMEM;
	return ptr;
}

struct sbm *sbm_create_opts(const struct shard_create_opts *opts)
{
	const struct shard_plan *plan = plan_or_errno(opts, SHARD_CAP_LOCKED);

	return plan ? allocated(sbm_alloc(plan, 0)) : NULL;
}

struct sbm *sbm_create(void)
{
	return sbm_create_opts(NULL);
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

struct slot_set *slot_set_create_opts(u32 nr, const struct shard_create_opts *opts)
{
	bool follow = opts && opts->follow, empty = opts && opts->empty;
	const struct shard_plan *plan;

	if (!nr || nr > (follow ? SLOT_FOLLOW_MAX : SLOT_SET_MAX)) {
		errno = EINVAL;
		return NULL;
	}
	plan = plan_or_errno(opts, SHARD_CAP_CORE);
	if (!plan)
		return NULL;
	return allocated(
		slot_set_alloc(plan, nr, (follow ? SLOT_FOLLOW : 0) | (empty ? SLOT_EMPTY : 0)));
}

struct slot_set *slot_set_create(u32 nr)
{
	return slot_set_create_opts(nr, NULL);
}
