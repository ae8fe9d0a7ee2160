// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The idle set of a worker pool. A worker goes idle while another CPU has work for it:
 *
 *   W1  set own bit in the idle set      K1  publish the work
 *   W2  full barrier                     K2  full barrier
 *   W3  look for work; none: sleep       K3  look for an idle worker; found: wake it
 *
 * W3 sees K1 or K3 sees W1, so no work waits while a worker sleeps. This is store buffering, and
 * needs both barriers. K1 is a plain store, so K2 is an mfence on x86. W1 is a locked operation, so
 * W2 is empty on x86.
 */
#include "port.h"

#include "cases.h"
#include "objects.h"

struct pool {
	u64 work port_cacheline_aligned;
	u8 woken[4] port_cacheline_aligned; /* by worker; written by the waker */
};

static struct pool *s;
static struct sbm *idle;
static u32 nr_workers; /* the last CPU is the waker, the others are workers */

static void setup(uint32_t nr_cpus)
{
	const struct shard_plan *plan = case_plan(4, 2);

	s = port_alloc(sizeof(*s), -1);
	explore_name(&s->work, sizeof(s->work), "work");
	explore_name(&s->woken, sizeof(s->woken), "woken");
	idle = case_sbm(plan, 0);
	nr_workers = nr_cpus - 1;
}

static void setup_summary(uint32_t nr_cpus)
{
	setup(nr_cpus);
	idle = case_sbm(idle->plan, SBM_SUMMARY);
	/*
	 * The summary calls all shards occupied, but they are empty, so the waker's search cleans.
	 */
	for (u32 cpu = 0; cpu < 4; cpu++) {
		sbm_set(idle, cpu);
		sbm_clear(idle, cpu);
	}
}

/* Result: the CPU took the work (1) or went to sleep (2). */
static void work_or_sleep(u32 cpu)
{
	bool taken = READ_ONCE(s->work) && port_xchg64(&s->work, 0);

	explore_result(cpu, taken ? 1 : 2);
}

static port_always_inline void worker(u32 cpu)
{
	sbm_set(idle, cpu);
	smp_mb__after_atomic();
	work_or_sleep(cpu);
}

static port_always_inline void waker(bool barrier)
{
	s64 found;

	WRITE_ONCE(s->work, 1);
	if (barrier)
		smp_mb();
	found = sbm_first_cpu(idle);
	if (found >= 0)
		WRITE_ONCE(s->woken[found], 1);
}

static port_always_inline void pool(u32 cpu, bool barrier)
{
	if (cpu < nr_workers)
		worker(cpu);
	else
		waker(barrier);
}

EXPLORE_BODY(pool_right, pool(cpu, true))
EXPLORE_BODY(pool_no_waker_barrier, pool(cpu, false))

/* Planted bug: looks for work before it enters the idle set. */
static void pool_check_first(uint32_t cpu)
{
	if (cpu < nr_workers) {
		work_or_sleep(cpu);
		if (explore_result_of(cpu) == 2)
			sbm_set(idle, cpu);
	} else {
		waker(true);
	}
}

static void check(uint32_t nr_cpus)
{
	bool asleep = false, will_look = false;

	for (u32 w = 0; w < nr_workers; w++) {
		if (explore_result_of(w) == 2 && !READ_ONCE(s->woken[w]))
			asleep = true;
		if (READ_ONCE(s->woken[w]))
			will_look = true;
	}
	explore_check(!READ_ONCE(s->work) || will_look || !asleep,
		      "lost wake-up: work is left, a worker sleeps, and none was woken");
}

#define CASE(name_, title_, kind_, setup_, body_)                      \
	EXPLORE_CASE(name_, title_, kind_, 2, 4, setup_, body_, check, \
		     .results = { "cpu0", "cpu1", "cpu2" })

const struct explore_case explore_wakeup_cases[] = {
	CASE("wakeup-sbm", "idle set in a sharded bitmap: no lost wake-up", "core", setup,
	     pool_right),
	CASE("wakeup-sbm-summary", "wakeup-sbm with a summary that is being cleaned", "core",
	     setup_summary, pool_right),
	CASE("planted-wakeup-waker",
	     "planted: no barrier between publishing work and looking for a worker", "planted",
	     setup, pool_no_waker_barrier),
	CASE("planted-wakeup-order", "planted: looks for work before it says that it is idle",
	     "planted", setup, pool_check_first),
	{ 0 },
};
