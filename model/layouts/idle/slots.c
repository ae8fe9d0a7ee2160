// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The idle set of the kernel variant nohz-slots: a bit per CPU, at the CPU's slot, with a line per
 * shard. As in Linux, only one such set exists at a time.
 */
#include "idle_set.h"

#include "linux_sched.h"
#include "report_types.h"

#define find_next_bit(map, end, from) ((u32)idle_mask_next(map, from, end)) /* -1: none */
#include "../../../core/sched/nohz_idle.h"

static void slots_destroy(struct idle_set *s)
{
	if (!s)
		return;
	kfree(nohz_idle);
	linux_sched_put();
	idle_free(s, sizeof(*s));
}

static struct idle_set *slots_create(const struct shard_topo *topo, const struct shard_plan *plan)
{
	struct idle_set *s;

	if (!linux_sched_get(topo, false))
		return NULL;
	s = idle_alloc(sizeof(*s));
	rd_label("idle_cpus_mask", "struct rd_sbm_line");
	nohz_idle = s ? (unsigned long *)cpu_slot_bytes(0) : NULL;
	if (nohz_idle)
		return s;
	idle_free(s, sizeof(*s));
	linux_sched_put();
	return NULL;
}

static void slots_enter(struct idle_set *s, u32 cpu)
{
	u32 bit = nohz_idle_bit((int)cpu);

	port_or64((u64 *)&nohz_idle[bit / 64], 1ull << bit % 64);
	idle_raise_flags(s->nohz);
}

static void slots_exit(struct idle_set *s, u32 cpu)
{
	u32 bit = nohz_idle_bit((int)cpu);

	port_and64((u64 *)&nohz_idle[bit / 64], ~(1ull << bit % 64));
}

static bool slots_test(const struct idle_set *s, u32 cpu)
{
	u32 bit = nohz_idle_bit((int)cpu);

	return READ_ONCE(nohz_idle[bit / 64]) >> bit % 64 & 1;
}

static s64 next(s64 after, u32 start)
{
	int cpu = nohz_idle_next((int)after, start, ~0ull);

	return cpu < nr_cpu_ids ? cpu : -1;
}

static bool slots_any(const struct idle_set *s, u32 this_cpu)
{
	return next(-1, cpu_slot[this_cpu] / SHARD_SLOTS * SHARD_SLOTS) >= 0;
}

static s64 slots_pick(const struct idle_set *s, u32 this_cpu, s64 after)
{
	return next(after, 0);
}

static s64 slots_walk(const struct idle_set *s, u32 this_cpu, s64 after)
{
	return next(after, cpu_slot[this_cpu] + 1);
}

static size_t slots_bytes(const struct idle_set *s)
{
	return nr_cpu_slots;
}

const struct idle_ops idle_slots = {
	.name = "slots",
	.time_first = true,
	.whole_core = true,
	.create = slots_create,
	.destroy = slots_destroy,
	.enter = slots_enter,
	.stay = idle_stay,
	.exit = slots_exit,
	.any = slots_any,
	.test = slots_test,
	.pick = slots_pick,
	.walk = slots_walk,
	.bytes = slots_bytes,
};
