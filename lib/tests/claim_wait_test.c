// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads that wait for bits. A lost wake-up hangs the test, and its time limit ends it. The owner
 * of a bit counts by plain stores, so that two owners would lose an update.
 */
#include <errno.h>
#include <signal.h>
#include "claim_wait.h"
#include "locks.h"
#include "sbm_more.h"
#include "shard_signal.h"
#include "shapes.h"
#include "../../core/tests/stress/threads.h"

#define ROUNDS 20000u

static const struct shape shape = { .name = "4 x 2", 1, 1, 4, 1, 2, 1, .adjacent = true };
static struct shard_plan *plan;
static struct sbm *b;
static struct shard_wait *w;
static u64 used[8];
static s64 timeout;

static void set_up(unsigned int flags, u32 bits)
{
	plan = shape_plan(&shape);
	b = sbm_alloc(plan, flags);
	w = shard_wait_alloc(plan);
	CHECK(b && w);
	memset(used, 0, sizeof(used));
	for (u32 i = 0; i < bits; i++)
		sbm_put(b, plan->idx_to_cpu[i * plan->nr_possible / bits]);
}

static void tear_down(u32 bits)
{
	CHECK_EQ(sbm_weight(b), bits);
	CHECK(!shard_wait_nr(w) && !w->first);
	for (u32 shard = 0; shard < plan->nr_shards; shard++)
		CHECK_EQ(*w->line[shard] & ~(SHARD_WAIT_CLOSED | SHARD_WAIT_NOTED),
			 0); /* no waiter, and no signal is left */
	shard_wait_free(w);
	sbm_destroy(b);
	shard_plan_free(plan);
}

static void claim_and_put(u32 thread)
{
	for (u32 i = 0; i < ROUNDS;) {
		s64 cpu = sbm_claim_wait(b, w, (thread * 3 + i) % 8, timeout);

		CHECK(cpu >= 0 || timeout > 0);
		if (cpu < 0)
			continue;
		used[cpu]++;
		if (i % 64 == 0)
			sched_yield(); /* so that other threads go to sleep */
		sbm_put_wake(b, w, (u32)cpu);
		i++;
	}
}

static void everyone_gets_a_turn(void)
{
	for (u32 way = 0; way < 12; way++) {
		u32 bits = 1 + way % 3;
		u64 all = 0;

		timeout = way / 6 ? 20000 : -1;
		set_up(way / 3 % 2 ? SBM_SUMMARY : 0, bits);
		run_threads(claim_and_put);
		for (u32 cpu = 0; cpu < 8; cpu++)
			all += used[cpu];
		CHECK_EQ(all, (u64)NR_THREADS * ROUNDS);
		tear_down(bits);
	}
}

static struct slot_set *slots;
static u64 slot_used[6];

/* More threads than slots, and three of them with caches; the set grows meanwhile. */
static void claim_slots(u32 thread)
{
	struct slot_cache *cache = thread ? slot_cache_alloc(slots, thread * 2) : NULL;

	for (u32 i = 0; i < ROUNDS; i++) {
		u32 cpu = (thread * 3 + i) % 8;
		s64 slot = slot_claim_wait(slots, w, cpu, -1);

		CHECK(slot >= 0 && slot < 6);
		slot_used[slot]++;
		if (i % 64 == 0)
			sched_yield();
		if (cache && i % 8)
			slot_cache_put_wake(cache, w, (u32)slot);
		else
			slot_put_wake(slots, w, (u32)slot, cpu);
		if (thread == 0 && i % (ROUNDS / 5) == ROUNDS / 6 && slot_set_size(slots) < 6)
			CHECK(slot_set_grow(slots, 1));
	}
	slot_cache_free(cache);
}

static void slots_have_one_owner(void)
{
	u64 all = 0;

	set_up(0, 0);
	slots = slot_set_alloc(plan, 2, 0);
	CHECK(slots);
	run_threads(claim_slots);
	CHECK_EQ(slot_set_size(slots), 6);
	CHECK_EQ(slot_set_nr_free(slots), 6);
	for (u32 slot = 0; slot < 6; slot++)
		all += slot_used[slot];
	CHECK_EQ(all, (u64)NR_THREADS * ROUNDS);
	slot_set_destroy(slots);
	tear_down(0);
}

static u64 moved[3];

/* Two slots, later three, that move through all shards. */
static void claim_and_put_elsewhere(u32 thread)
{
	for (u32 i = 0; i < ROUNDS; i++) {
		u32 cpu = (thread * 3 + i) % 8;
		s64 slot = slot_claim_wait(slots, w, cpu, -1);

		CHECK(slot >= 0 && slot < 3);
		moved[slot]++;
		if (i % 64 == 0)
			sched_yield();
		if (!thread && i == ROUNDS / 2)
			CHECK(slot_set_grow(slots, 1));
		slot_put_wake(slots, w, (u32)slot, (cpu + i % 5) % 8);
	}
}

static void slots_that_move_have_one_owner(void)
{
	set_up(0, 0);
	slots = slot_set_alloc(plan, 2, SLOT_FOLLOW);
	CHECK(slots);
	run_threads(claim_and_put_elsewhere);
	CHECK_EQ(slot_set_nr_free(slots), 3);
	CHECK_EQ(moved[0] + moved[1] + moved[2], (u64)NR_THREADS * ROUNDS);
	slot_set_destroy(slots);
	tear_down(0);
}

static void gives_up(void)
{
	set_up(0, 0);
	CHECK_EQ(sbm_claim_wait(b, w, 3, 0), -1);
	CHECK_EQ(sbm_claim_wait(b, w, 3, 1), -1);
	CHECK_EQ(errno, ETIMEDOUT);
	CHECK_EQ(sbm_claim_wait(b, w, 3, 3000000), -1); /* in the queue */
	sbm_put_wake(b, w, 5);
	CHECK_EQ(sbm_claim_wait(b, w, 3, 1), 5);
	tear_down(0);
}

/* Signals go to near waiters, one each, and there are no more signals than waiters. */
static void wakes_near(void)
{
	set_up(0, 0);
	CHECK(!shard_wait_wake(w, 0));
	shard_wait_join(w, 0);
	shard_wait_join(w, 6);
	CHECK(shard_wait_wake(w, 7) == shard_wait_signals(w, 6));
	CHECK(shard_wait_wake(w, 7) == shard_wait_signals(w, 0));
	CHECK(!shard_wait_wake(w, 7));
	CHECK(shard_wait_woken(w, 6));
	CHECK(!shard_wait_woken(w, 6));
	CHECK(shard_wait_leave(w, 1)); /* in the shard of CPU 0, to which the signal went */
	shard_wait_join(w, 2);
	CHECK(!shard_wait_leave(w, 2));
	tear_down(0);
}

/* -------- threads that wait until something happens -------- */

struct waiter {
	pthread_t id;
	s64 got;
	int error;
};

static void *wait_for_one(void *arg)
{
	struct waiter *one = arg;

	one->got = sbm_claim_wait(b, w, 6, -1);
	one->error = errno;
	return arg;
}

/* How many threads are in the queue. */
static u32 queued(void)
{
	u32 n = 0;

	shard_lock(LOCK_QUEUES);
	for (struct shard_wait_turn *turn = w->queue; turn; turn = turn->next)
		n++;
	shard_unlock(LOCK_QUEUES);
	return n;
}

static void enter_queue(struct waiter *one)
{
	u32 before = queued();

	CHECK_EQ(pthread_create(&one->id, NULL, wait_for_one, one), 0);
	while (queued() == before || !port_read64(&w->first))
		sched_yield();
}

/* A put gives what it puts to the head of the queue, though a nearer thread claims at once. */
static void nobody_is_passed_over(void)
{
	struct waiter one[3];

	set_up(0, 0);
	for (u32 i = 0; i < 3; i++)
		enter_queue(&one[i]);
	for (u32 i = 0; i < 3; i++) {
		sbm_put_wake(b, w, i);
		CHECK_EQ(sbm_claim_near(b, i), -1);
		CHECK_EQ(pthread_join(one[i].id, NULL), 0);
		CHECK_EQ(one[i].got, i);
	}
	sbm_put_wake(b, w, 7);
	tear_down(1);
}

/* A cancelled thread leaves the queue, and what came for it goes to the next one. */
static void cancelled_waiters_leave(void)
{
	struct waiter one[3];
	void *result;

	set_up(0, 0);
	for (u32 i = 0; i < 3; i++)
		enter_queue(&one[i]);
	for (u32 i = 0; i < 2; i++) {
		CHECK_EQ(pthread_cancel(one[i].id), 0);
		if (i)
			sbm_put_wake(b, w, 5);
		CHECK_EQ(pthread_join(one[i].id, &result), 0);
		if (result != PTHREAD_CANCELED) /* the put came first */
			sbm_put_wake(b, w, (u32)one[i].got);
	}
	CHECK_EQ(pthread_join(one[2].id, NULL), 0);
	CHECK_EQ(one[2].got, 5);
	sbm_put_wake(b, w, 5);
	/* at any moment of a wait, beside puts */
	for (u32 i = 0; i < 200; i++) {
		CHECK_EQ(sbm_claim_wait(b, w, 0, -1), 5);
		CHECK_EQ(pthread_create(&one[0].id, NULL, wait_for_one, &one[0]), 0);
		for (u32 turn = 0; turn < i % 40; turn++)
			sched_yield();
		pthread_cancel(one[0].id);
		sbm_put_wake(b, w, 5);
		CHECK_EQ(pthread_join(one[0].id, &result), 0);
		if (result != PTHREAD_CANCELED && one[0].got >= 0)
			sbm_put_wake(b, w, (u32)one[0].got);
	}
	tear_down(1);
}

static void closing_ends_all_waits(void)
{
	struct waiter one[4];

	set_up(0, 0);
	for (u32 i = 0; i < 4; i++) {
		if (i < 2)
			enter_queue(&one[i]);
		else
			CHECK_EQ(pthread_create(&one[i].id, NULL, wait_for_one, &one[i]), 0);
	}
	while (shard_wait_nr(w) < 4) /* two in the queue, two in lines */
		sched_yield();
	shard_wait_close(w);
	for (u32 i = 0; i < 4; i++) {
		CHECK_EQ(pthread_join(one[i].id, NULL), 0);
		CHECK_EQ(one[i].got, -1);
		CHECK_EQ(one[i].error, ECANCELED);
	}
	sbm_put_wake(b, w, 0);
	CHECK_EQ(sbm_claim_wait(b, w, 0, -1), -1);
	CHECK_EQ(errno, ECANCELED);
	CHECK_EQ(sbm_claim_near(b, 0), 0);
	CHECK_EQ(sbm_claim_wait(b, w, 0, 0), -1);
	tear_down(0);
}

/* -------- a handler that claims and puts -------- */

static u32 handled, stop;

static void claim_in_handler(int sig)
{
	s64 got = sbm_claim_near(b, 0);

	if (got >= 0)
		sbm_put_wake(b, w, (u32)got);
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
	(void)sig;
}

static void *claim_until_stopped(void *arg)
{
	while (!READ_ONCE(stop))
		sbm_put_wake(b, w, (u32)sbm_claim_wait(b, w, 6, -1));
	return arg;
}

/* One thread sleeps, waits and puts while a handler interrupts it; another one holds the bit. */
static void a_handler_claims_and_puts(void)
{
	struct sigaction action = { .sa_handler = claim_in_handler };
	pthread_t id;

	set_up(0, 1);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(pthread_create(&id, NULL, claim_until_stopped, NULL), 0);
	for (u32 i = 0; i < 2000 || !__atomic_load_n(&handled, __ATOMIC_RELAXED); i++) {
		s64 got = sbm_claim_wait(b, w, 0, -1);

		CHECK_EQ(pthread_kill(id, SIGUSR1), 0);
		if (i % 16 == 0)
			sched_yield();
		sbm_put_wake(b, w, (u32)got);
	}
	WRITE_ONCE(stop, 1);
	CHECK_EQ(pthread_join(id, NULL), 0);
	tear_down(1);
}

int main(void)
{
	RUN(a_handler_claims_and_puts);
	RUN(nobody_is_passed_over);
	RUN(cancelled_waiters_leave);
	RUN(closing_ends_all_waits);
	RUN(wakes_near);
	RUN(gives_up);
	RUN(everyone_gets_a_turn);
	RUN(slots_have_one_owner);
	RUN(slots_that_move_have_one_owner);
	return test_done();
}
