// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The overlay's files without the explorer. The test calls its small functions with all possible
 * arguments. Then threads wake, block, move and unplug at random, for the thread sanitizer. When
 * they are done and all interrupts have arrived, every byte and every level is right.
 */
#include "../stress/threads.h"
#include "nohz.h"
#include "rt_class.h"
#include "shard_topo.h"

#define ROUNDS	    200000u
#define MOST_ROUNDS 64u

static _Thread_local u32 on_cpu;

bool host_trylock(u64 *lock)
{
	u64 free = 0;

	return __atomic_compare_exchange_n(lock, &free, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

void host_lock(u64 *lock)
{
	while (!host_trylock(lock))
		sched_yield();
}

void host_unlock(u64 *lock)
{
	smp_store_release(lock, 0);
}

u32 host_cpu(void)
{
	return on_cpu;
}

void host_on(u32 cpu)
{
	on_cpu = cpu;
}

void host_fail(const char *what)
{
	test_fail(__FILE__, __LINE__, "%s", what);
}

static struct shard_plan *make_plan(u32 first_shard)
{
	struct shard_cpu cpu[SHIM_CPUS];
	struct shard_topo topo = { SHIM_CPUS, cpu };
	struct shard_plan *plan;

	for (u32 i = 0; i < SHIM_CPUS; i++)
		cpu[i] = (struct shard_cpu){ .llc = (s32)(i / 2 ^ first_shard),
					     .l2 = (s32)i,
					     .core = (s32)i,
					     .possible = true };
	CHECK_EQ(shard_plan_build(&plan, &topo, NULL), SHARD_PLAN_OK);
	return plan;
}

static struct shard_plan *begin(void)
{
	struct shard_plan *plan = make_plan(0);

	CHECK(rt_machine(plan));
	return plan;
}

static void end(struct shard_plan *plan)
{
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++)
		port_free(shim_rq[cpu], sizeof(struct rq));
	for (u32 i = 0; i < SHIM_TASKS; i++)
		port_free(shim_tasks[i], sizeof(struct task_struct));
	port_free(rt_idle, sizeof(*rt_idle));
	rt_walks_free(rt_rd);
	overload_free(rt_rd->rto);
	overload_free(rt_rd->dlo);
	cpupri_cleanup(&rt_rd->cpupri);
	port_free(rt_rd, sizeof(*rt_rd));
	shard_plan_free(plan);
}

static void levels_of_priorities(void)
{
	CHECK_EQ(prio_to_level(-1), CPUPRI_HIGHER);
	for (int prio = 0; prio < MAX_RT_PRIO - 1; prio++)
		CHECK_EQ(prio_to_level(prio), MAX_RT_PRIO - 1 - prio);
	for (int prio = MAX_RT_PRIO - 1; prio < 140; prio++)
		CHECK_EQ(prio_to_level(prio), CPUPRI_NORMAL);
}

/* Wide: may it run on a CPU of another shard? With every mask, on every CPU. */
static void wide_by_mask(void)
{
	struct shard_plan *plan = begin();
	struct task_struct *p = shim_tasks[0];

	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++)
		for (unsigned long mask = 1; mask < 1ul << SHIM_CPUS; mask++) {
			unsigned long here = cpu < 2 ? 3 : 12;

			p->cpus_mask.bits[0] = mask;
			p->nr_cpus_allowed = (int)port_popcount64(mask);
			CHECK_EQ(rt_task_is_wide(cpu_rq(cpu), p), (mask & ~here) != 0);
			p->migration_disabled = true;
			CHECK(rt_task_is_wide(cpu_rq(cpu), p));
			p->migration_disabled = false;
		}
	end(plan);
}

/*
 * The waiting task: the lowest task of the list, unless it outranks the running one. An equal one
 * waits.
 */
static void who_waits(void)
{
	struct shard_plan *plan = begin();
	struct task_struct *runner = shim_tasks[1];
	struct rq *rq = cpu_rq(0);

	for (runner->prio = 0; runner->prio < MAX_RT_PRIO; runner->prio++) {
		rq->rt.pushable_tasks.tasks = 0;
		CHECK(!rt_waits(rq, runner));
		rq->rt.pushable_tasks.tasks = 1ull << 0;
		CHECK_EQ(rt_waits(rq, runner), shim_tasks[0]->prio >= runner->prio);
		rq->rt.pushable_tasks.tasks = 1ull << 0 | 1ull << 3;
		CHECK_EQ(rt_waits(rq, runner), shim_tasks[3]->prio >= runner->prio);
	}
	end(plan);
}

#define STATES 81 /* of four CPUs: no task waits there, one does, a wide one does */

static void set_states(u32 states, u32 *state)
{
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++, states /= 3) {
		state[cpu] = states % 3;
		if (state[cpu])
			overload_set(rt_rd->rto, cpu, state[cpu] == 2);
		else
			overload_clear(rt_rd->rto, cpu);
	}
}

/* Near CPUs first, then wide ones of the other shard; never the one that asks. */
static void whom_a_pull_visits(void)
{
	struct shard_plan *plan = begin();

	for (u32 states = 0; states < STATES; states++) {
		u32 state[SHIM_CPUS];

		set_states(states, state);
		for (u32 me = 0; me < SHIM_CPUS; me++) {
			u32 who = overload_query(rt_rd->rto, me, 0), near = me ^ 1;
			struct rt_pull pull = rt_pull_begin(cpu_rq(me), who);

			if (state[near])
				CHECK_EQ(rt_pull_next(cpu_rq(me), who, &pull), (int)near);
			for (u32 far = 0; far < SHIM_CPUS; far++) {
				if (far / 2 == me / 2 || state[far] != 2)
					continue;
				CHECK_EQ(rt_pull_next(cpu_rq(me), who, &pull), (int)far);
			}
			CHECK_EQ(rt_pull_next(cpu_rq(me), who, &pull), -1);
		}
	}
	end(plan);
}

/*
 * The CPUs of a round that @me asked for, after those of @before: 132 are CPUs 0, 2 and 1. @skip is
 * left out if it would be the first.
 */
static u32 round_of(u32 before, const u32 *state, u32 me, u32 who, u32 skip)
{
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++) {
		bool in = who == OVERLOAD_WIDE ? state[cpu] == 2 : state[cpu] && cpu / 2 == me / 2;

		if (in && (before || cpu != skip))
			before = before * 10 + cpu + 1;
	}
	return before;
}

/* Take the interrupts where they arrive, until there are none. */
static u32 visits(void)
{
	u32 seen = 0;

	for (u32 cpu = 0; cpu < SHIM_CPUS;) {
		if (!rt_interrupts(cpu_rq(cpu))) {
			cpu++;
			continue;
		}
		CHECK(seen < 10000000); /* two rounds have 7 visits at most */
		seen = seen * 10 + cpu + 1;
		cpu = 0;
	}
	return seen;
}

/*
 * A walk visits those it is for once, in order. It does not begin with the CPU that asked. If
 * another CPU asks meanwhile, a round over all of them follows.
 */
static void whom_a_walk_visits(void)
{
	static const u32 whose[] = { OVERLOAD_NEAR, OVERLOAD_WIDE };
	struct shard_plan *plan = begin();

	for (u32 i = 0; i < STATES * SHIM_CPUS * 2; i++) {
		u32 me = i / 2 % SHIM_CPUS, who = whose[i % 2], state[SHIM_CPUS], expect;

		set_states(i / 2 / SHIM_CPUS, state);
		expect = round_of(0, state, me, who, me);
		rt_request(cpu_rq(me), who);
		CHECK_EQ(visits(), expect);
		rt_request(cpu_rq(me), who);
		if (expect) {
			rt_request(cpu_rq(me ^ 1), who);
			expect = round_of(expect, state, me, who, SHIM_CPUS);
		}
		CHECK_EQ(visits(), expect);
	}
	for (u32 i = 0; i <= rt_rd->rto_walks->nr; i++)
		CHECK_EQ(rt_rd->rto_walks->walk[i]->state.state, PUSH_WALK_IDLE);
	end(plan);
}

/* The first query of a period that finds no wide CPU in a shard removes the shard. */
static void queries_tidy(void)
{
	struct shard_plan *plan = begin();

	for (u64 period = 1; period < 8; period++) {
		overload_set(rt_rd->rto, 2, true);
		overload_clear(rt_rd->rto, 2);
		CHECK(shard_summary_test(rt_rd->rto->summary, 1));
		rt_look(cpu_rq(0), period);
		CHECK(!shard_summary_test(rt_rd->rto->summary, 1));
		overload_set(rt_rd->rto, 2, true);
		overload_clear(rt_rd->rto, 2);
		rt_look(cpu_rq(0), period);
		CHECK(shard_summary_test(rt_rd->rto->summary, 1));
	}
	end(plan);
}

/* A root domain is freed when every walk was idle, a grace period ago. */
static void walks_end(void)
{
	struct shard_plan *plan = begin();
	u32 nr = rt_rd->rto_walks->nr;

	CHECK_EQ(nr, plan->nr_shards);
	CHECK_EQ(rt_rd->rto_walks->walk[nr]->shard, -1);
	for (u32 i = 0; i <= nr; i++) {
		struct push_walk *w = &rt_rd->rto_walks->walk[i]->state;

		rt_rd->rto_walks->seen_idle = false;
		CHECK(push_walk_request(w));
		CHECK(!rt_walks_ended(rt_rd));
		CHECK(!rt_walks_ended(rt_rd));
		CHECK(!push_walk_again(w));
		CHECK(!rt_walks_ended(rt_rd));
		CHECK(rt_walks_ended(rt_rd));
	}
	end(plan);
}

/* The first CPU, which need not be CPU 0, follows the last. */
static void next_cpu_around_the_machine(u32 first_shard)
{
	struct shard_plan *plan = make_plan(first_shard);

	CHECK(nohz_machine(plan));
	CHECK_EQ(plan->idx_to_cpu[0], 2 * first_shard);
	for (u32 i = 0; i < SHIM_CPUS; i++)
		CHECK_EQ(nohz_idle_after(nohz->idle_cpus_mask, plan->idx_to_cpu[i]),
			 plan->idx_to_cpu[(i + 1) % SHIM_CPUS]);
	sbm_free(nohz->idle_cpus_mask);
	port_free(nohz, sizeof(*nohz));
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++)
		port_free(shim_rq[cpu], sizeof(struct rq));
	shard_plan_free(plan);
}

static void the_next_cpu_around_the_machine(void)
{
	next_cpu_around_the_machine(0);
	next_cpu_around_the_machine(1);
}

/*
 * A thread plays different CPUs in turn; @taken has those in use. On a busy host threads run one
 * after the other, and this way they still interact. Task t belongs to the thread that found it
 * asleep.
 */
static u64 taken[SHIM_CPUS];
static u64 awake[SHIM_TASKS];
static u64 interrupts;

static void many_cpus(u32 thread)
{
	u64 random = 1 + thread;

	for (u32 i = 0; i < ROUNDS; i++) {
		u32 t = test_below(&random, SHIM_TASKS), cpu = test_below(&random, SHIM_CPUS);
		struct rq *rq = cpu_rq(cpu);

		if (!host_trylock(&taken[cpu]))
			continue;

		if (rt_interrupts(rq))
			port_fetch_add64(&interrupts, 1);
		switch (test_below(&random, 16)) {
		default:
			if (!port_xchg64(&awake[t], 1))
				rt_wake(cpu_rq(test_below(&random, SHIM_CPUS)), shim_tasks[t]);
			break;
		case 0:
			rt_offline(rq);
			rt_online(rq);
			break;
		case 1:
			rt_look(rq, test_below(&random, 4));
			break;
		case 2:
		case 3: {
			struct task_struct *slept = rt_block(rq);

			if (slept)
				smp_store_release(&awake[slept->number], 0);
		}
		}
		rt_resched(rq);
		host_unlock(&taken[cpu]);
	}
}

static void check_queue(const struct rq *rq)
{
	u32 wide = 0;

	for (u64 left = rq->rt.pushable_tasks.tasks; left; left &= left - 1)
		wide += rt_task_is_wide(rq, shim_tasks[port_ctz64(left)]);
	CHECK_EQ(rq->rt.nr_wide, wide);
	CHECK_EQ(cpupri_get(&rt_rd->cpupri, rq->cpu), rq_level(rq));
	CHECK_EQ(bytemap_get(rt_rd->rto->map, rq->cpu), rt_overload_state(rq, rq->donor));
}

static void threads(void)
{
	struct shard_plan *plan = begin();
	bool more = true;
	u64 found = 0, woken = 0;

	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++)
		rt_settle(cpu_rq(cpu));
	run_threads(many_cpus);
	for (u32 rounds = 0; more; rounds++) {
		CHECK(rounds < MOST_ROUNDS);
		more = false;
		for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++) {
			more |= rt_interrupts(cpu_rq(cpu)) || cpu_rq(cpu)->resched;
			rt_resched(cpu_rq(cpu));
		}
	}
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++) {
		check_queue(cpu_rq(cpu));
		CHECK_EQ(found & cpu_rq(cpu)->rt.queued, 0);
		found |= cpu_rq(cpu)->rt.queued;
	}
	for (u32 t = 0; t < SHIM_TASKS; t++)
		woken |= awake[t] << t;
	CHECK_EQ(found, woken);
	CHECK(interrupts); /* otherwise no pull happened */
	for (u32 i = 0; i <= rt_rd->rto_walks->nr; i++)
		CHECK_EQ(rt_rd->rto_walks->walk[i]->state.state, PUSH_WALK_IDLE);
	end(plan);
}

#define TESTS(TEST)                           \
	TEST(levels_of_priorities)            \
	TEST(wide_by_mask)                    \
	TEST(who_waits)                       \
	TEST(whom_a_pull_visits)              \
	TEST(whom_a_walk_visits)              \
	TEST(queries_tidy)                    \
	TEST(walks_end)                       \
	TEST(the_next_cpu_around_the_machine) \
	TEST(threads)

TEST_MAIN(overlay_stress, TESTS)
