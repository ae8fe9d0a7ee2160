// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Idle load balancing over the overlay's nohz_idle.h. CPU 1 goes idle, CPU 0 is idle and is kicked,
 * CPU 2 is busy and kicks. When all interrupts have arrived, the balancer has visited each CPU in
 * the set, or the flags are still set. The next busy tick finds an idle CPU.
 */
#include "nohz.h"

#include <stdlib.h>

#include "../../sim/cases/objects.h"

#define BUSY 2u

static void setup(uint32_t nr_cpus)
{
	static const char *const names[SHIM_CPUS] = { "rq 0", "rq 1", "rq 2", "rq 3" };
	struct sbm *set;

	if (!nohz_machine(case_plan(SHIM_CPUS, 2)))
		abort();
	set = nohz->idle_cpus_mask;
	explore_const(nohz, offsetof(struct nohz, has_blocked));
	explore_name(nohz, sizeof(*nohz), "nohz");
	explore_const(set, set->bytes);
	explore_const(set->summary, offsetof(struct shard_summary, word));
	explore_name(set->line[0], PORT_CACHELINE, "line 0");
	explore_name(set->line[1], PORT_CACHELINE, "line 1");
	explore_name(set->summary->word, sizeof(u64), "summary");
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++) {
		explore_name(cpu_rq(cpu), sizeof(struct rq), names[cpu]);
		explore_const(cpu_rq(cpu), offsetof(struct rq, irqs));
		cpu_rq(cpu)->nr_running = 2;
	}
	nohz_enter(cpu_rq(0));
}

/* CPU 1 is in the set too, its load was looked at, and the flags are down. */
static void setup_in(uint32_t nr_cpus)
{
	setup(nr_cpus);
	nohz_enter(cpu_rq(1));
	cpu_rq(1)->has_blocked_load = 0;
	cpu_rq(0)->has_blocked_load = 0;
	nohz->needs_update = 0;
}

static void looked(struct rq *rq)
{
	explore_result(rq->cpu, 1);
}

static void enter_and_kick(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		nohz_enter(cpu_rq(1));
		break;
	case 1:
		nohz_kick(cpu_rq(BUSY));
		nohz_kicked(cpu_rq(0), looked);
		break;
	default: /* CPU 0 has a busy tick and goes idle again: the shard empties and fills */
		nohz_exit(cpu_rq(0));
	}
}

/* All CPUs of the shard have left, a search tidies, CPU 1 comes. */
static void leave_and_kick(uint32_t cpu)
{
	switch (cpu) {
	case 0:
		nohz_exit(cpu_rq(1));
		nohz_enter(cpu_rq(1));
		break;
	case 1:
		nohz_kick(cpu_rq(BUSY));
		break;
	default:
		nohz_exit(cpu_rq(0));
	}
}

/* CPU 1 goes offline: it leaves the set, and does not come back. */
static void unplug_and_kick(uint32_t cpu)
{
	if (cpu) {
		enter_and_kick(cpu);
		return;
	}
	nohz_enter(cpu_rq(1));
	nohz_exit(cpu_rq(1));
}

static void check(uint32_t nr_cpus)
{
	s32 ilb;

	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++)
		nohz_kicked(cpu_rq(cpu), looked);
	explore_check(nohz->needs_update || explore_result_of(1),
		      "CPU 1 is in the set, was not looked at, and the flag is down");
	explore_check(nohz->has_blocked || !cpu_rq(1)->has_blocked_load,
		      "CPU 1 has load that no CPU looked at, and the flag is down");
	ilb = nohz_kick(cpu_rq(BUSY));
	explore_check(ilb == 0 || ilb == 1, "an idle CPU is in the set, and %d was kicked", ilb);
}

static void check_load(uint32_t nr_cpus)
{
	for (u32 cpu = 0; cpu < SHIM_CPUS; cpu++)
		nohz_kicked(cpu_rq(cpu), looked);
	explore_check(nohz->has_blocked || !cpu_rq(1)->has_blocked_load,
		      "CPU 1 has load that no CPU looked at, and the flag is down");
}

static void check_gone(uint32_t nr_cpus)
{
	explore_check(!sbm_test(nohz->idle_cpus_mask, 1), "CPU 1 is off line and in the set");
}

#define CASE(name_, title_, setup_, body_, check_)                                            \
	{                                                                                     \
		.name = name_, .title = title_, .kind = "core", .min_cpus = 2, .max_cpus = 3, \
		.setup = setup_, .body = body_, .check = check_, .results = {                 \
			"CPU 0 looked at",                                                    \
			"CPU 1 looked at"                                                     \
		}                                                                             \
	}

const struct explore_case overlay_nohz_cases[] = {
	CASE("nohz-enter", "who goes idle is looked at, or the flags stay up", setup,
	     enter_and_kick, check),
	CASE("nohz-leave", "the same where the shard empties and fills", setup, leave_and_kick,
	     check),
	CASE("nohz-stay", "who is in the set and goes idle again", setup_in, enter_and_kick,
	     check_load),
	CASE("nohz-plug", "who goes off line leaves the set", setup, unplug_and_kick, check_gone),
	{ 0 },
};
