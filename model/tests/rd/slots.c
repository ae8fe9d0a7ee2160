// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests that core/sched/cpu_slot.c's slots follow their rules. Shards are in the order of nodes,
 * caches and cores. A shard's CPUs are whole cores of one cache, in the order of CPU numbers.
 */
#include "linux_sched.h"
#include "machines.h"

#include "idle/idle_set.h"
#define find_next_bit(map, end, from) ((u32)idle_mask_next(map, from, end)) /* -1: none */
#include "../../../core/sched/nohz_idle.h"

static struct rd_machine machine;
static bool flat;

static struct cpu_place place_of(int cpu)
{
	struct cpu_place place = { .cpu = cpu, .core = (unsigned int)cpu };

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

static u32 shard_of(const struct cpu_place *p)
{
	return cpu_slot[p->cpu] / SHARD_SLOTS;
}

/* The shards that a cache must have, or 0 if @i is not its first CPU. */
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

static void check_pair(const struct cpu_place *a, const struct cpu_place *b)
{
	CHECK(cpus_share_shard(a->cpu, b->cpu) == (shard_of(a) == shard_of(b)));
	CHECK((shard_of(a) == shard_of(b)) == (cpu_shard_bit(a->cpu) == cpu_shard_bit(b->cpu)) ||
	      nr_cpu_slots > 64 * SHARD_SLOTS);
	if (shard_of(a) == shard_of(b)) {
		CHECK(same_cache(a, b));
		CHECK((a->cpu < b->cpu) == (cpu_slot[a->cpu] < cpu_slot[b->cpu]));
		return;
	}
	CHECK(!same_cache(a, b) || a->core != b->core);
	if (cache_before(a, b) || (same_cache(a, b) && a->core < b->core))
		CHECK(shard_of(a) < shard_of(b));
}

static void check_slots(void)
{
	u32 nr = machine.topo.nr_cpus, n = 0, shards = 0, found = 0;
	struct cpu_place *place = calloc(nr, sizeof(*place));

	CHECK(place);
	for (u32 cpu = 0; cpu < nr; cpu++)
		if (rd_machine_has(&machine, cpu))
			place[n++] = place_of((int)cpu);
	for (u32 i = 0; i < n; i++) {
		unsigned int slot = cpu_slot[place[i].cpu];
		u32 run = 1;

		CHECK_EQ(cpu_slot_cpu[slot], place[i].cpu);
		CHECK(slot % SHARD_SLOTS == 0 || cpu_slot_cpu[slot - 1] < place[i].cpu);
		found += slot % SHARD_SLOTS == 0;
		shards += shards_of_first(place, n, i);
		for (u32 j = 0; j < n; j++)
			if (i != j)
				check_pair(&place[i], &place[j]);
		while (i + run < n && place[i + run].cpu == place[i].cpu + (int)run &&
		       cpu_slot[place[i + run].cpu] == slot + run && (slot + run) % 8)
			run++;
		CHECK_EQ(cpu_slot_run[place[i].cpu], run);
	}
	CHECK_EQ(found, shards);
	CHECK_EQ(nr_cpu_slots, shards * SHARD_SLOTS);
	free(place);
}

/* A walk from a slot on finds the CPUs of the idle set in @shards, around in order of slots. */
static void check_walk(u32 start, u64 shards)
{
	int next = nohz_idle_next(-1, start, shards);

	for (u32 i = 0; i < nr_cpu_slots; i++) {
		u32 slot = (start + i) % nr_cpu_slots;
		int cpu = cpu_slot_cpu[slot];

		if (cpu_slot[cpu] == slot && shards & cpu_shard_bit(cpu) &&
		    test_bit(nohz_idle, nohz_idle_bit(cpu))) {
			CHECK_EQ(next, cpu);
			next = nohz_idle_next(cpu, start, shards);
		}
	}
	CHECK_EQ(next, nr_cpu_ids);
}

static void check_idle_set(u64 random)
{
	int cpu;

	nohz_idle = (unsigned long *)cpu_slot_bytes(0);
	for_each_possible_cpu(cpu) if (!test_below(&random, 3))
		test_set_bit(nohz_idle, nohz_idle_bit(cpu));
	for_each_possible_cpu(cpu) check_walk(cpu_slot[cpu], cpu % 2 ? 5 : ~0ull);
	kfree(nohz_idle);
}

/* @sizes: CPUs of each shard. */
static void check_cut(u32 cores, u32 threads, const u32 *sizes)
{
	const struct shape shape = { .name = "a cache", 1, 1, 1, cores, threads, 1 };
	u32 found[8] = { 0 };

	rd_machine_make(&machine, &shape);
	CHECK(linux_sched_get(&machine.topo, false));
	for (u32 cpu = 0; cpu < cores * threads; cpu++)
		found[cpu_slot[cpu] / SHARD_SLOTS]++;
	for (u32 i = 0; i < nr_cpu_slots / SHARD_SLOTS; i++)
		CHECK_EQ(found[i], sizes[i]);
	linux_sched_put();
	rd_machine_free(&machine);
}

static void cuts_keep_cores_and_groups_of_eight(void)
{
	check_cut(120, 2, (const u32[]){ 64, 64, 64, 48 });
	check_cut(43, 2, (const u32[]){ 48, 38 });
	check_cut(70, 2, (const u32[]){ 48, 48, 44 });
	check_cut(72, 1, (const u32[]){ 40, 32 });
	check_cut(27, 3, (const u32[]){ 48, 33 });
	check_cut(22, 5, (const u32[]){ 55, 55 });
}

static void slots_follow_caches(void)
{
	for (u32 s = 0; s < nr_rd_shapes; s++) {
		rd_machine_make(&machine, &rd_shapes[s]);
		CHECK(linux_sched_get(&machine.topo, flat));
		check_slots();
		check_idle_set(s);
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
	RUN(cuts_keep_cores_and_groups_of_eight);
	return test_done();
}
