// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads wait for slots. A lost wake-up hangs the test, and its time limit ends it. The owner of a
 * slot counts by plain stores, so that two owners would lose an update.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "claim_wait.h"
#include "locks.h"
#include "shard_signal.h"
#include "shapes.h"
#include "../../core/tests/stress/threads.h"

#define ROUNDS 20000u

static const struct shape shape = { .name = "4 x 2", 1, 1, 4, 1, 2, 1, .adjacent = true };
static struct shard_plan *plan;
static struct slot_set *pool;
static struct shard_wait *w;
static u64 used[8];
static s64 timeout;

/* Slot i is near CPU i. */
static void set_up(unsigned int flags, u32 bits)
{
	plan = shape_plan(&shape);
	pool = slot_set_alloc(plan, 8, SLOT_EMPTY | flags);
	w = shard_wait_alloc(plan);
	CHECK(pool && w);
	memset(used, 0, sizeof(used));
	for (u32 i = 0; i < bits; i++)
		slot_put(pool, i * 8 / bits);
}

static void tear_down(u32 bits)
{
	CHECK_EQ(slot_set_nr_free(pool), bits);
	CHECK(!shard_wait_nr(w) && !w->first);
	for (u32 shard = 0; shard < plan->nr_shards; shard++)
		CHECK_EQ(*w->line[shard] & ~(SHARD_WAIT_CLOSED | SHARD_WAIT_NOTED),
			 0); /* no waiter, and no signal is left */
	shard_wait_free(w);
	slot_set_destroy(pool);
	shard_plan_free(plan);
}

static u64 sum(const u64 *of, u32 nr)
{
	return nr ? *of + sum(of + 1, nr - 1) : 0;
}

static void claim_and_put(u32 thread)
{
	for (u32 i = 0; i < ROUNDS;) {
		s64 cpu = slot_claim_wait(pool, w, (thread * 3 + i) % 8, timeout);

		CHECK(cpu >= 0 || timeout > 0);
		if (cpu < 0)
			continue;
		used[cpu]++;
		if (i % 64 == 0)
			sched_yield(); /* so that other threads go to sleep */
		slot_put_wake(pool, w, (u32)cpu, (u32)cpu);
		i++;
	}
}

static void everyone_gets_a_turn(void)
{
	for (u32 way = 0; way < 12; way++) {
		u32 bits = 1 + way % 3;

		timeout = way / 6 ? 20000 : -1;
		set_up(way / 3 % 2 ? SLOT_FOLLOW : 0, bits);
		run_threads(claim_and_put);
		CHECK_EQ(sum(used, 8), (u64)NR_THREADS * ROUNDS);
		tear_down(bits);
	}
}

static struct slot_set *slots;
static u64 slot_used[6];
static bool follow;
static u32 most;

/*
 * More threads than slots, which they put for another CPU, and the set grows meanwhile. Either
 * three threads have caches, or slots move through all shards.
 */
static void claim_slots(u32 thread)
{
	struct slot_cache *cache = thread && !follow ? slot_cache_alloc(slots, thread * 2) : NULL;

	for (u32 i = 0; i < ROUNDS; i++) {
		u32 cpu = (thread * 3 + i) % 8;
		s64 slot = slot_claim_wait(slots, w, cpu, -1);

		CHECK(slot >= 0 && slot < most);
		slot_used[slot]++;
		if (i % 64 == 0)
			sched_yield();
		if (cache && i % 8)
			slot_cache_put_wake(cache, w, (u32)slot);
		else
			slot_put_wake(slots, w, (u32)slot, (cpu + i % 5) % 8);
		if (thread == 0 && i % (ROUNDS / 5) == ROUNDS / 6 && slot_set_size(slots) < most)
			CHECK(slot_set_grow(slots, 1));
	}
	slot_cache_free(cache);
}

static void slots_have_one_owner(void)
{
	for (u32 way = 0; way < 2; way++) {
		follow = way;
		most = follow ? 3 : 6;
		memset(slot_used, 0, sizeof(slot_used));
		set_up(0, 0);
		slots = slot_set_alloc(plan, 2, follow ? SLOT_FOLLOW : 0);
		CHECK(slots);
		run_threads(claim_slots);
		CHECK_EQ(slot_set_size(slots), most);
		CHECK_EQ(slot_set_nr_free(slots), most);
		CHECK_EQ(sum(slot_used, 6), (u64)NR_THREADS * ROUNDS);
		slot_set_destroy(slots);
		tear_down(0);
	}
}

/* Threads 0 and 1 poll, and the others sleep; thread 2 also claims and puts two at once. */
static void claim_by_polling(u32 thread)
{
	struct slot_poll *p = NULL;

	for (u32 i = 0, waits = 0; i < ROUNDS / 4;) {
		u32 cpu = (thread * 3 + i) % 8, two[2];
		s64 slot;

		if (thread < 2 && !p)
			CHECK((p = slot_poll_alloc(pool, w, cpu)));
		slot = p ? slot_poll_claim(p) : slot_claim_wait(pool, w, cpu, i % 2 ? 20000 : -1);
		if (slot < 0 && p) {
			CHECK_EQ(errno, EAGAIN);
			if (waits++ % 32 == 0) {
				slot_poll_free(p); /* while somebody may give it a slot */
				p = NULL;
			} else {
				CHECK_EQ(poll(&(struct pollfd){ p->fd, POLLIN, 0 }, 1, -1), 1);
			}
		}
		if (slot < 0)
			continue;
		used[slot]++;
		if (i % 64 == 0)
			sched_yield();
		slot_put_wake(pool, w, (u32)slot, cpu);
		if (thread == 2)
			slot_put_n_wake(pool, w, cpu, slot_claim_n(pool, cpu, 2, two), two);
		i++;
	}
	slot_poll_free(p);
}

static void polling_beside_sleeping(void)
{
	for (u32 bits = 1; bits < 4; bits++) {
		set_up(bits % 2 ? 0 : SLOT_FOLLOW, bits);
		run_threads(claim_by_polling);
		CHECK_EQ(sum(used, 8), (u64)NR_THREADS * (ROUNDS / 4));
		tear_down(bits);
	}
}

/* A descriptor is readable once there is a slot for the poller, or the end. */
static void polls(void)
{
	struct pollfd at = { .events = POLLIN };
	struct slot_poll *p;

	set_up(0, 0);
	p = slot_poll_alloc(pool, w, 3);
	CHECK(p);
	at.fd = p->fd;
	CHECK_EQ(slot_poll_claim(p), -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK_EQ(shard_wait_nr(w), 1);
	CHECK_EQ(poll(&at, 1, 0), 0);
	slot_put_wake(pool, w, 5, 5);
	CHECK_EQ(poll(&at, 1, 0), 1);
	CHECK_EQ(slot_claim_near(pool, 5), -1); /* it is the poller's */
	CHECK_EQ(slot_poll_claim(p), 5);
	CHECK_EQ(poll(&at, 1, 0), 0);
	CHECK_EQ(slot_poll_claim(p), -1);
	slot_put_wake(pool, w, 5, 5);
	slot_poll_free(p); /* returns what it was given */
	CHECK_EQ(slot_claim_near(pool, 5), 5);
	p = slot_poll_alloc(pool, w, 3);
	CHECK(p && slot_poll_claim(p) == -1);
	at.fd = p->fd;
	shard_wait_close(w);
	CHECK_EQ(poll(&at, 1, 0), 1);
	CHECK_EQ(slot_poll_claim(p), -1);
	CHECK_EQ(errno, ECANCELED);
	slot_poll_free(p);
	tear_down(0);
}

static void gives_up(void)
{
	set_up(0, 0);
	CHECK_EQ(slot_claim_wait(pool, w, 3, 0), -1);
	CHECK_EQ(slot_claim_wait(pool, w, 3, 1), -1);
	CHECK_EQ(errno, ETIMEDOUT);
	CHECK_EQ(slot_claim_wait(pool, w, 3, 3000000), -1); /* in the queue */
	slot_put_wake(pool, w, 5, 5);
	CHECK_EQ(slot_claim_wait(pool, w, 3, 1), 5);
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

	one->got = slot_claim_wait(pool, w, 6, -1);
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
		slot_put_wake(pool, w, i, i);
		CHECK_EQ(slot_claim_near(pool, i), -1);
		CHECK_EQ(pthread_join(one[i].id, NULL), 0);
		CHECK_EQ(one[i].got, i);
	}
	slot_put_wake(pool, w, 7, 7);
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
			slot_put_wake(pool, w, 5, 5);
		CHECK_EQ(pthread_join(one[i].id, &result), 0);
		if (result != PTHREAD_CANCELED) /* the put came first */
			slot_put_wake(pool, w, (u32)one[i].got, 0);
	}
	CHECK_EQ(pthread_join(one[2].id, NULL), 0);
	CHECK_EQ(one[2].got, 5);
	slot_put_wake(pool, w, 5, 5);
	/* at any moment of a wait, beside puts */
	for (u32 i = 0; i < 200; i++) {
		CHECK_EQ(slot_claim_wait(pool, w, 0, -1), 5);
		CHECK_EQ(pthread_create(&one[0].id, NULL, wait_for_one, &one[0]), 0);
		for (u32 turn = 0; turn < i % 40; turn++)
			sched_yield();
		pthread_cancel(one[0].id);
		slot_put_wake(pool, w, 5, 5);
		CHECK_EQ(pthread_join(one[0].id, &result), 0);
		if (result != PTHREAD_CANCELED && one[0].got >= 0)
			slot_put_wake(pool, w, (u32)one[0].got, (u32)one[0].got);
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
	slot_put_wake(pool, w, 0, 0);
	CHECK_EQ(slot_claim_wait(pool, w, 0, -1), -1);
	CHECK_EQ(errno, ECANCELED);
	CHECK_EQ(slot_claim_near(pool, 0), 0);
	CHECK_EQ(slot_claim_wait(pool, w, 0, 0), -1);
	tear_down(0);
}

/* -------- a forked child -------- */

/* A child has copies of its parent's sets, in which it claims, puts, and waits with new waiters. */
static void a_forked_child_claims(void)
{
	int status;
	pid_t child;

	set_up(0, 2);
	CHECK_EQ(slot_claim_near(pool, 0), 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		struct shard_wait *own = shard_wait_alloc(plan);
		struct slot_poll *p = own ? slot_poll_alloc(pool, own, 0) : NULL;
		bool right = p && slot_claim_wait(pool, own, 0, -1) == 4;

		right = right && slot_claim_wait(pool, own, 0, 1) < 0 && slot_poll_claim(p) < 0;
		slot_put_wake(pool, own, 0, 0);
		right = right && slot_poll_claim(p) == 0 && !slot_set_nr_free(pool);
		slot_poll_free(p);
		shard_wait_free(own);
		_exit(right ? 0 : 1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	slot_put(pool, 0);
	tear_down(2);
}

/* -------- a handler that claims and puts -------- */

static u32 handled, stop;

static void claim_in_handler(int sig)
{
	s64 got = slot_claim_near(pool, 0);

	if (got >= 0)
		slot_put_wake(pool, w, (u32)got, (u32)got);
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
	(void)sig;
}

static void *claim_until_stopped(void *arg)
{
	while (!READ_ONCE(stop))
		slot_put_wake(pool, w, (u32)slot_claim_wait(pool, w, 6, -1), 6);
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
		s64 got = slot_claim_wait(pool, w, 0, -1);

		CHECK_EQ(pthread_kill(id, SIGUSR1), 0);
		if (i % 16 == 0)
			sched_yield();
		slot_put_wake(pool, w, (u32)got, (u32)got);
	}
	WRITE_ONCE(stop, 1);
	CHECK_EQ(pthread_join(id, NULL), 0);
	tear_down(1);
}

int main(void)
{
	RUN(a_forked_child_claims);
	RUN(a_handler_claims_and_puts);
	RUN(nobody_is_passed_over);
	RUN(cancelled_waiters_leave);
	RUN(closing_ends_all_waits);
	RUN(wakes_near);
	RUN(gives_up);
	RUN(polls);
	RUN(polling_beside_sleeping);
	RUN(everyone_gets_a_turn);
	RUN(slots_have_one_owner);
	return test_done();
}
