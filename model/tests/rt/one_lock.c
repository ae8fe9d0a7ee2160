// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A layout that is right because it is one array, written under one lock. The scheduler's tests use
 * it, so that a failure there is a fault of the scheduler. A search takes no lock: the tests also
 * search outside of simulated time, when no CPU runs that could release the lock. A level is one
 * word, so a search sees the old or the new level.
 */
#include "one_lock.h"

#include <string.h>

#include "arena.h"
#include "lock.h"

#define CPUS 64

struct rd {
	u32 lock;
	s32 level[CPUS];
	bool overloaded[CPUS];
	unsigned long span;
	u32 walk_lock;
	bool wanted;
	s64 cpu;
	u8 flag;
};

static struct rd *create(const struct shard_topo *topo, const struct shard_plan *plan,
			 const unsigned long *span)
{
	struct rd *rd = arena_alloc(sizeof(*rd), 0, "one lock", NULL);

	if (topo->nr_cpus > CPUS)
		return NULL;
	rd->span = *span;
	rd->cpu = -1;
	memset(rd->level, 0xff, sizeof(rd->level));
	return rd;
}

static void destroy(struct rd *rd)
{
}

static void set_level(struct rd *rd, u32 cpu, int level)
{
	rt_lock(&rd->lock);
	WRITE_ONCE(rd->level[cpu], level);
	rt_unlock(&rd->lock);
}

static int find(struct rd *rd, int level, u32 this_cpu, const unsigned long *allowed,
		unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	unsigned long mask = 0;
	int best = level;

	smp_mb(); /* after the caller's earlier stores; pairs with the lock in set_level() */
	for (u32 i = 0; i < CPUS; i++) {
		int is = READ_ONCE(rd->level[i]);

		if (!(rd->span & *allowed & 1ul << i) || is < 0 || is > best)
			continue;
		if (is < best) {
			best = is;
			mask = 0;
		}
		if (best < level)
			mask |= 1ul << i;
	}
	if (found)
		*found = mask;
	return mask ? best + 1 : 0;
}

static void set_overload(struct rd *rd, u32 cpu, bool on)
{
	rt_lock(&rd->lock);
	rd->overloaded[cpu] = on;
	rt_unlock(&rd->lock);
}

static void overload_set(struct rd *rd, u32 cpu, u64 shards)
{
	set_overload(rd, cpu, true);
}

static void overload_clear(struct rd *rd, u32 cpu)
{
	set_overload(rd, cpu, false);
}

static s64 next_overloaded(const struct rd *rd, s64 cpu)
{
	for (u32 i = (u32)(cpu + 1); i < CPUS; i++)
		if (rd->overloaded[i])
			return i;
	return -1;
}

static s64 next(const struct rd *rd, u32 this_cpu, u64 from, s64 cpu)
{
	return next_overloaded(rd, cpu);
}

static u32 overloaded(struct rd *rd, u32 this_cpu, u64 *from)
{
	s64 first = next_overloaded(rd, -1);

	*from = RD_FROM_ALL;
	if (first < 0)
		return 0;
	return first == this_cpu && next_overloaded(rd, first) < 0 ? RD_ONLY_ME : RD_OTHERS;
}

static s64 step(struct rd *rd)
{
	rd->cpu = next_overloaded(rd, rd->cpu);
	if (rd->cpu < 0 && rd->wanted) {
		rd->wanted = false;
		rd->cpu = next_overloaded(rd, -1);
	}
	return rd->cpu;
}

static s64 walk_request(struct rd *rd, u32 this_cpu)
{
	s64 cpu = -1;

	rt_lock(&rd->walk_lock);
	if (rd->cpu >= 0)
		rd->wanted = true;
	else
		cpu = step(rd);
	rt_unlock(&rd->walk_lock);
	return cpu;
}

static void walk_arrive(struct rd *rd, u32 this_cpu)
{
}

static s64 walk_next(struct rd *rd, u32 this_cpu)
{
	s64 cpu;

	rt_lock(&rd->walk_lock);
	cpu = step(rd);
	rt_unlock(&rd->walk_lock);
	return cpu;
}

static u8 *flag(struct rd *rd)
{
	return &rd->flag;
}

static size_t map_bytes(const struct rd *rd)
{
	return sizeof(*rd);
}

const struct rd_ops one_lock = {
	.name = "one-lock",
	.create = create,
	.destroy = destroy,
	.set_level = set_level,
	.find = find,
	.find_near = find,
	.overload_set = overload_set,
	.overload_clear = overload_clear,
	.overloaded = overloaded,
	.next = next,
	.walk_request = walk_request,
	.walk_arrive = walk_arrive,
	.walk_next = walk_next,
	.flag = flag,
	.map_bytes = map_bytes,
};
