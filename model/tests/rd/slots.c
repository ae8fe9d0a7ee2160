// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The slots of core/sched/cpu_slot.c against a count. Shards are in the order of nodes, caches and
 * ids, each cache has as few as possible, and a shard's CPUs are in the order of their numbers.
 */
#include "linux_sched.h"
#include "machines.h"

static struct rd_machine machine;
static bool flat;

static struct cpu_place place_of(int cpu)
{
	struct cpu_place place = { .cpu = cpu, .id = (unsigned int)cpu };

	place.node = flat ? 0 : machine.topo.cpu[cpu].node;
	arch_cpu_place(&place);
	return place;
}

static bool same_cache(const struct cpu_place *a, const struct cpu_place *b)
{
	return a->node == b->node && a->cache == b->cache;
}

/* @a is in a group before that of @b. */
static bool cache_before(const struct cpu_place *a, const struct cpu_place *b)
{
	return a->node < b->node || (a->node == b->node && a->cache < b->cache);
}

/* The shards of a CPU's cache, or 0 if another CPU of it has a lower number. */
static u32 shards_of_first(const struct cpu_place *place, u32 n, u32 i)
{
	u32 cpus = 0;

	for (u32 j = 0; j < n; j++) {
		if (same_cache(&place[j], &place[i]) && j < i)
			return 0;
		cpus += same_cache(&place[j], &place[i]);
	}
	return DIV_ROUND_UP(cpus, SHARD_SLOTS);
}

/* The number of a CPU's shard, if CPUs of equal ids never are in two of them. */
static u32 shard_of(const struct cpu_place *place, const u32 *shards, u32 n, u32 i)
{
	u32 shard = 0, own = 0, cpus = 0, before = 0;

	for (u32 j = 0; j < n; j++) {
		if (cache_before(&place[j], &place[i]))
			shard += shards[j];
		if (!same_cache(&place[j], &place[i]))
			continue;
		own += shards[j];
		cpus++;
		if (place[j].id < place[i].id || (place[j].id == place[i].id && j < i))
			before++;
	}
	return shard + before / DIV_ROUND_UP(cpus, own);
}

static void check_slots(void)
{
	u32 nr = machine.topo.nr_cpus, n = 0, most = 0;
	struct cpu_place *place = calloc(nr, sizeof(*place));
	u32 *shard = calloc(nr, sizeof(*shard)), *slot = calloc(nr, sizeof(*slot));
	u32 *shards = calloc(nr, sizeof(*shards));

	CHECK(place && shard && slot && shards);
	for (u32 cpu = 0; cpu < nr; cpu++)
		if (rd_machine_has(&machine, cpu))
			place[n++] = place_of((int)cpu);
	for (u32 i = 0; i < n; i++)
		shards[i] = shards_of_first(place, n, i);
	for (u32 i = 0; i < n; i++) {
		shard[i] = shard_of(place, shards, n, i);
		slot[i] = shard[i] * SHARD_SLOTS;
		for (u32 j = 0; j < i; j++)
			slot[i] += shard[j] == shard[i];
		most = shard[i] > most ? shard[i] : most;
		CHECK_EQ(cpu_slot[place[i].cpu], slot[i]);
		CHECK_EQ(slot_cpu[slot[i]], place[i].cpu);
		CHECK(cpus_share_shard(place[i].cpu, place[0].cpu) == (shard[i] == shard[0]));
	}
	CHECK_EQ(nr_cpu_slots, (most + 1) * SHARD_SLOTS);
	for (u32 i = 0; i < n; i++) {
		u32 run = 1;

		while (i + run < n && place[i + run].cpu == place[i].cpu + (int)run &&
		       slot[i + run] == slot[i] + run && (slot[i] + run) % 8)
			run++;
		CHECK_EQ(slot_run[place[i].cpu], run);
	}
	free(place);
	free(shard);
	free(slot);
	free(shards);
}

static void slots_follow_caches(void)
{
	for (u32 s = 0; s < nr_rd_shapes; s++) {
		rd_machine_make(&machine, &rd_shapes[s]);
		CHECK(linux_sched_get(&machine.topo, flat));
		check_slots();
		linux_sched_put();
		rd_machine_free(&machine);
	}
}

static void slots_of_unknown_caches(void)
{
	flat = true;
	slots_follow_caches();
	flat = false;
}

int main(void)
{
	RUN(slots_follow_caches);
	RUN(slots_of_unknown_caches);
	return test_done();
}
