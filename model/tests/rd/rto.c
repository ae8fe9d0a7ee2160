// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Compares the set of overloaded queues, core/sched/rto.h, with what each queue announced. */
#include "linux_sched.h"
#include "machines.h"

static struct rd_machine machine;
static struct rto rto;
static u64 *shards;	      /* by CPU: where its tasks may run; 0: none waits */
static struct rto_rq *queues; /* by CPU */

static u32 shard_of(int cpu)
{
	return cpu_slot[cpu] / SHARD_SLOTS;
}

static u32 nr_others(int cpu)
{
	return (u32)port_popcount64(rto_abroad(cpu, shards[cpu]));
}

/* Does a queue with few other shards, or one with many, make CPUs like @this_cpu look at @cpu? */
static bool looks_at(int cpu, int this_cpu)
{
	if (shard_of(cpu) == shard_of(this_cpu))
		return shards[cpu];
	for (int c = 0; c < nr_cpu_ids && nr_others(cpu); c++)
		if (nr_others(c) > RTO_FEW ||
		    ((rto_abroad(c, shards[c]) & cpu_shard_bit(this_cpu)) &&
		     shard_of(c) % RTO_COUNTERS == shard_of(cpu) % RTO_COUNTERS))
			return true;
	return false;
}

/* A pull visits each of these CPUs once, those of its shard first. */
static void check_pull(int this_cpu)
{
	u32 visited = 0, expected = 0;
	int cpu, last = this_cpu;
	u64 from;

	rto_others(&rto, this_cpu, &from);
	for_each_rto_cpu(cpu, &rto, this_cpu, from)
	{
		CHECK(looks_at(cpu, this_cpu));
		CHECK(shard_of(cpu) != shard_of(this_cpu) || shard_of(last) == shard_of(cpu));
		last = cpu;
		visited++;
	}
	for (int c = 0; c < nr_cpu_ids; c++)
		expected += shards[c] && looks_at(c, this_cpu);
	CHECK_EQ(visited, expected);
	CHECK(rto_others(&rto, this_cpu, &from) == (expected > !!shards[this_cpu]));
}

static void check_walk(void)
{
	u32 visited = 0, expected = 0;
	int last = -1;

	for (int cpu = rto_next(&rto, -1); cpu < nr_cpu_ids; cpu = rto_next(&rto, cpu)) {
		CHECK(shards[cpu] && (last < 0 || cpu_slot[last] < cpu_slot[cpu]));
		last = cpu;
		visited++;
	}
	for (int c = 0; c < nr_cpu_ids; c++)
		expected += !!shards[c];
	CHECK_EQ(visited, expected);
}

/* The CPUs of a task: all, a few anywhere, or neighbours. */
static void random_mask(struct cpumask *mask, u32 kind)
{
	u32 n = test_below(&test_state.seed, 12), cpu = 0;

	memset(mask, kind ? 0 : 0xff, sizeof(*mask));
	for (u32 i = 0; kind && i <= n; i++) {
		cpu = i && kind > 1 ? (cpu + 1) % (u32)nr_cpu_ids
				    : rd_machine_any(&machine, &test_state.seed);
		mask->bits[cpu / 64] |= rd_machine_has(&machine, cpu) ? 1ul << cpu % 64 : 0;
	}
}

/* While a task waits, shards are added only. */
static void change(u32 cpu)
{
	static struct cpumask mask;
	u64 more, places;

	random_mask(&mask, test_below(&test_state.seed, 32));
	rto_reach(&mask, &more, &places);
	for (u32 c = 0; c < machine.topo.nr_cpus; c++)
		if (rd_machine_has(&machine, c) && mask.bits[c / 64] >> c % 64 & 1)
			CHECK(rto_reaches(more, places, (int)c));
	shards[cpu] = shards[cpu] && test_below(&test_state.seed, 2) ? 0 : shards[cpu] | more;
	rto_publish(&rto, (int)cpu, &queues[cpu], shards[cpu]);
}

static void states_match(void)
{
	for (u32 s = 0; s < nr_rd_shapes; s++) {
		rd_machine_make(&machine, &rd_shapes[s]);
		shards = calloc(machine.topo.nr_cpus, sizeof(*shards));
		queues = calloc(machine.topo.nr_cpus, sizeof(*queues));
		CHECK(shards && queues && linux_sched_get(&machine.topo, false));
		memset(&rto, 0, sizeof(rto));
		CHECK_EQ(rto_init(&rto), 0);
		test_state.seed = test_state.start;
		for (test_state.step = 0; test_state.step < 1000; test_state.step++) {
			u32 cpu = rd_machine_any(&machine, &test_state.seed);

			change(cpu);
			for (u32 c = 0; test_state.step % 100 == 0 && c < machine.topo.nr_cpus;
			     c++) {
				if (!shards[c])
					continue;
				shards[c] = 0;
				rto_publish(&rto, (int)c, &queues[c], 0);
			}
			check_walk();
			check_pull((int)rd_machine_any(&machine, &test_state.seed));
		}
		rto_cleanup(&rto);
		linux_sched_put();
		free(shards);
		free(queues);
		rd_machine_free(&machine);
	}
}

int main(int argc, char **argv)
{
	test_state.start = test_seed(argc, argv);
	RUN(states_match);
	return test_done();
}
