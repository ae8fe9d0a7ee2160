// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The set of overloaded queues, core/sched/rto.h, against an array of states. */
#include "linux_sched.h"
#include "machines.h"

static struct rd_machine machine;
static struct rto rto;
static u8 *states; /* by CPU */

static bool may_help(int cpu, int this_cpu)
{
	return cpus_share_shard(cpu, this_cpu) ? states[cpu] != RTO_NONE
					       : states[cpu] == RTO_LEAVES;
}

/* A walk visits the CPUs that may have a task for @this_cpu, each once, by slot. */
static void check_walk(int this_cpu)
{
	u32 visited = 0, expected = 0;
	int cpu, last = -1;

	for_each_rto_cpu(cpu, &rto, this_cpu)
	{
		CHECK(may_help(cpu, this_cpu));
		CHECK(last < 0 || cpu_slot[last] < cpu_slot[cpu]);
		last = cpu;
		visited++;
	}
	for (u32 c = 0; c < machine.topo.nr_cpus; c++)
		expected += rd_machine_has(&machine, c) && may_help((int)c, this_cpu);
	CHECK_EQ(visited, expected);
	CHECK(rto_others(&rto, this_cpu) == (expected > may_help(this_cpu, this_cpu)));
}

static void check_all(void)
{
	u32 visited = 0, expected = 0, visited_sum = 0, expected_sum = 0, leaving = 0;

	for (int cpu = rto_next(&rto, -1); cpu < nr_cpu_ids; cpu = rto_next(&rto, cpu)) {
		CHECK(states[cpu] != RTO_NONE);
		visited++;
		visited_sum += (u32)cpu;
	}
	for (u32 c = 0; c < machine.topo.nr_cpus; c++) {
		if (states[c] == RTO_NONE)
			continue;
		expected++;
		expected_sum += c;
		leaving += states[c] == RTO_LEAVES;
	}
	CHECK_EQ(visited, expected);
	CHECK_EQ(visited_sum, expected_sum);
	CHECK_EQ(atomic_read(&rto.leaving), leaving);
}

static void states_match(void)
{
	static const u8 state[] = { RTO_NONE, RTO_STAYS, RTO_LEAVES };

	for (u32 s = 0; s < nr_rd_shapes; s++) {
		rd_machine_make(&machine, &rd_shapes[s]);
		states = calloc(machine.topo.nr_cpus, 1);
		CHECK(states && linux_sched_get(&machine.topo, false));
		memset(&rto, 0, sizeof(rto));
		CHECK_EQ(rto_init(&rto), 0);
		test_state.seed = test_state.start;
		for (test_state.step = 0; test_state.step < 2000; test_state.step++) {
			u32 cpu = rd_machine_any(&machine, &test_state.seed);
			bool empties = test_state.step % 500 > 250;

			states[cpu] = state[empties ? 0 : test_below(&test_state.seed, 3)];
			rto_set(&rto, (int)cpu, states[cpu]);
			check_all();
			check_walk((int)rd_machine_any(&machine, &test_state.seed));
		}
		rto_cleanup(&rto);
		linux_sched_put();
		free(states);
		rd_machine_free(&machine);
	}
}

int main(int argc, char **argv)
{
	test_state.start = test_seed(argc, argv);
	RUN(states_match);
	return test_done();
}
