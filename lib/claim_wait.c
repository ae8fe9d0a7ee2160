// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads sleep on futexes. The futex of a waiter is its shard's number of signals, and the waiter
 * sleeps while that is 0. The kernel compares the number before the thread sleeps, so no signal is
 * missed. A waker wakes one thread. If another waiter of the shard takes the signal first, the
 * woken thread finds 0 and sleeps again.
 *
 * These wake-ups prefer near waiters, and threads that do not sleep. So a thread that has slept for
 * PATIENCE_NS leaves its shard and enters a queue, first in, first out. The head of the queue asks
 * to be the first (shard_wait_ask()), and the next put gives it the slot. The other threads in the
 * queue sleep on words of their own. A thread that leaves the queue makes the next thread ask. The
 * lock protects the queue alone, and no put takes it.
 *
 * A cancelled thread leaves like one that timed out: its slot or signal goes to another waiter.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "claim_wait.h"
#include "locks.h"
#include "shard_signal.h"

#define NS_PER_S    1000000000
#define PATIENCE_NS 1000000

/* For C libraries with a 64-bit time_t on 32-bit machines. */
#if defined(SYS_futex_time64) && !defined(__LP64__)
#define SYS_FUTEX (sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex)
#else
#define SYS_FUTEX SYS_futex
#endif

/* A thread that waits. */
struct waiting {
	struct slot_set *set;
	struct shard_wait *w;
	u32 cpu;
	struct shard_wait_turn turn;
};

static bool later(struct timespec *at, s64 ns)
{
	if (clock_gettime(CLOCK_MONOTONIC, at))
		return false;
	at->tv_sec += (time_t)(ns / NS_PER_S);
	at->tv_nsec += (long)(ns % NS_PER_S);
	if (at->tv_nsec >= NS_PER_S) {
		at->tv_nsec -= NS_PER_S;
		at->tv_sec++;
	}
	return true;
}

static void wake(u32 *word, int nr)
{
	int before = errno;

	if (word)
		syscall(SYS_FUTEX, word, FUTEX_WAKE_PRIVATE, nr, NULL, NULL, 0);
	errno = before;
}

/*
 * Sleep while a word is 0. @until is the absolute time limit, or NULL. Return: false if the limit
 * has passed. A thread that is cancelled meanwhile calls @leave.
 */
static bool sleep_at(u32 *word, const struct timespec *until, void (*leave)(void *), void *me)
{
	bool in_time;
	int type;

	pthread_cleanup_push(leave, me);
	/* As in the C library, because a raw system call is not a cancellation point. */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type); /* NOLINT(concurrency-*) */
	in_time = !syscall(SYS_FUTEX, word, FUTEX_WAIT_BITSET_PRIVATE, 0, until, NULL,
			   FUTEX_BITSET_MATCH_ANY) ||
		  errno != ETIMEDOUT;
	pthread_setcanceltype(type, &type);
	pthread_cleanup_pop(0);
	return in_time;
}

void shard_wait_wake_near(struct shard_wait *w, u32 cpu)
{
	wake(shard_wait_wake(w, cpu), 1);
}

/*
 * Put a slot back, and wake a waiter. A thread may call shard_wait_ask() after @first was read.
 * Then claim a slot for it: if it had to wake up and claim one itself, others could pass it over.
 */
void slot_put_wake(struct slot_set *s, struct shard_wait *w, u32 slot, u32 cpu)
{
	for (;;) {
		u32 *at = likely(!port_read64(&w->first)) ? NULL : shard_wait_give(w, slot + 1);
		s64 got;

		if (at) {
			wake(at, 1);
			return;
		}
		slot_put_near(s, slot, cpu);
		smp_mb__after_atomic(); /* pairs with shard_wait_ask() and shard_wait_join() */
		if (likely(!port_read64(&w->first)))
			break;
		got = slot_claim_near(s, cpu);
		if (got < 0)
			return; /* whoever has it now will put it */
		slot = (u32)got;
	}
	if (unlikely((u32)port_read64(&w->noted)))
		shard_wait_wake_near(w, cpu);
}

void slot_put_n_wake(struct slot_set *s, struct shard_wait *w, u32 cpu, u32 n, const u32 *slots)
{
	while (n && port_read64(&w->first))
		slot_put_wake(s, w, slots[--n], cpu);
	slot_put_n(s, cpu, n, slots);
	smp_mb__after_atomic(); /* pairs with shard_wait_ask() */
	while (n && port_read64(&w->first)) {
		s64 got = slot_claim_near(s, cpu);

		if (got < 0)
			return;
		slot_put_wake(s, w, (u32)got, cpu);
		n--;
	}
	while (n--)
		shard_wait_wake_near(w, cpu);
}

void slot_cache_put_wake(struct slot_cache *c, struct shard_wait *w, u32 slot)
{
	s64 got;

	if (READ_ONCE(c->head) - SLOT_CACHE_PLACE(port_read64(&c->tail)) ==
	    SLOT_CACHE_OFF) { /* no cache, and no heavy barrier */
		slot_put_wake(c->set, w, slot, c->cpu);
		return;
	}
	slot_cache_put(c, slot);
	/* Pairs with the heavy barrier of the claim that a waiter tries once it joined or asked. */
	port_light_barrier();
	if (likely(!port_read64(&w->first) && !(u32)port_read64(&w->noted)))
		return;
	got = slot_cache_claim(c);
	if (got >= 0)
		slot_put_wake(c->set, w, (u32)got, c->cpu);
}

void shard_wait_close(struct shard_wait *w)
{
	WRITE_ONCE(w->closed, 1);
	for (u32 llc = 0; llc < w->plan->nr_llcs; llc++) {
		/* A full barrier: pairs with those of shard_wait_join() and shard_wait_ask(). */
		port_fetch_or64(w->of_llc[llc], SHARD_WAIT_CLOSED);
		wake(shard_wait_half(w->of_llc[llc]), INT_MAX);
	}
	wake(shard_wait_give(w, SHARD_WAIT_AGAIN), 1);
}

u32 shard_wait_nr(const struct shard_wait *w)
{
	u32 nr = 0;

	for (u32 llc = 0; llc < w->plan->nr_llcs; llc++)
		nr += (u32)((READ_ONCE(*w->of_llc[llc]) & ~SHARD_WAIT_NOTED) >> 32);
	shard_lock(LOCK_QUEUES);
	for (const struct shard_wait_turn *turn = w->queue; turn; turn = turn->next)
		nr++;
	shard_unlock(LOCK_QUEUES);
	return nr;
}

static void leave_shard(void *arg)
{
	const struct waiting *me = arg;

	if (shard_wait_leave(me->w, me->cpu))
		shard_wait_wake_near(me->w, me->cpu);
}

/* Wait in a shard. Return: false if the time has passed. */
static bool wait_near(struct waiting *me, const struct timespec *until, s64 *got)
{
	struct shard_wait *w = me->w;
	bool in_time = true, woken = false;

	while (in_time) {
		shard_wait_join(w, me->cpu);
		*got = slot_claim_near(me->set, me->cpu);
		if (*got >= 0 || READ_ONCE(w->closed)) {
			leave_shard(me);
			return true;
		}
		while (in_time && !(woken = shard_wait_woken(w, me->cpu)) && !READ_ONCE(w->closed))
			in_time = sleep_at(shard_wait_signals(w, me->cpu), until, leave_shard, me);
		if (!woken)
			leave_shard(me);
	}
	*got = slot_claim_near(me->set, me->cpu);
	return *got >= 0;
}

/*
 * Leave the queue. From now on the next thread of the queue asks, and the caller claims for that
 * thread. @got: what the caller claimed, or -1. Return: @got, or what the caller was given, or -1.
 */
static s64 leave_queue(struct waiting *me, s64 got)
{
	struct shard_wait *w = me->w;
	struct shard_wait_turn **at = &w->queue;
	bool next = false;
	u32 given;

	shard_lock(LOCK_QUEUES);
	while (*at != &me->turn)
		at = &(*at)->next;
	*at = me->turn.next;
	given = smp_load_acquire(&me->turn.got); /* pairs with shard_wait_give() */
	if (at == &w->queue) {
		if (!given && !shard_wait_unask(w, &me->turn.got))
			while (!(given = smp_load_acquire(&me->turn.got)))
				sched_yield(); /* a put is about to store it */
		next = *at;
		if (next)
			shard_wait_ask(w, &(*at)->got);
	}
	shard_unlock(LOCK_QUEUES);
	if (next) {
		s64 more = slot_claim_near(me->set, me->cpu);

		if (more >= 0)
			slot_put_wake(me->set, w, (u32)more, me->cpu);
		else if (READ_ONCE(w->closed))
			wake(shard_wait_give(w, SHARD_WAIT_AGAIN), 1);
	}
	if (given == SHARD_WAIT_AGAIN)
		shard_wait_wake_near(w, me->cpu);
	else if (given && got < 0)
		got = (s64)given - 1;
	else if (given)
		slot_put_wake(me->set, w, given - 1, me->cpu);
	return got;
}

static void leave_queue_cancelled(void *arg)
{
	struct waiting *me = arg;
	s64 got = leave_queue(me, -1);

	if (got >= 0)
		slot_put_wake(me->set, me->w, (u32)got, me->cpu);
}

/* Enter the queue at its end. Return: whether it was empty, so that the caller must ask. */
static bool enter_queue(struct waiting *me)
{
	struct shard_wait_turn **end = &me->w->queue;
	bool first;

	shard_lock(LOCK_QUEUES);
	while (*end)
		end = &(*end)->next;
	me->turn.next = NULL;
	*end = &me->turn;
	first = end == &me->w->queue;
	shard_unlock(LOCK_QUEUES);
	return first;
}

/* Wait in the queue. Return: the slot that the caller got, or -1. */
static s64 wait_in_turn(struct waiting *me, const struct timespec *until)
{
	struct shard_wait *w = me->w;
	u32 *given = &me->turn.got, now;
	bool in_time = true;
	s64 got = -1;

	if (enter_queue(me))
		*given = SHARD_WAIT_AGAIN;
	while (in_time) {
		now = smp_load_acquire(given); /* pairs with shard_wait_give() */
		if (!now) {
			in_time = sleep_at(given, until, leave_queue_cancelled, me);
			continue;
		}
		if (now != SHARD_WAIT_AGAIN)
			break;
		shard_wait_ask(w, given);
		got = slot_claim_near(me->set, me->cpu);
		if (got >= 0 || READ_ONCE(w->closed))
			break;
	}
	return leave_queue(me, got);
}

s64 slot_claim_wait(struct slot_set *s, struct shard_wait *w, u32 cpu, s64 timeout_ns)
{
	s64 patience = timeout_ns > 0 && timeout_ns < PATIENCE_NS ? timeout_ns : PATIENCE_NS, got;
	struct waiting one = { s, w, cpu, { NULL, 0, 0 } }, *me = &one;
	struct timespec until, soon;
	bool closed = READ_ONCE(w->closed);

	got = closed ? -1 : slot_claim_near(s, cpu);
	if (got < 0 && timeout_ns && !closed && later(&soon, patience) &&
	    (timeout_ns < 0 || later(&until, timeout_ns)) && !wait_near(me, &soon, &got) &&
	    patience != timeout_ns)
		got = wait_in_turn(me, timeout_ns > 0 ? &until : NULL);
	if (got < 0)
		errno = READ_ONCE(w->closed) ? ECANCELED : ETIMEDOUT;
	return got;
}

/* -------- a poll loop that waits -------- */

/*
 * A place in the queue, whose owner does not sleep. The giver writes to the eventfd before it
 * stores what it gives. So once that is stored, the giver no longer uses the eventfd, and the event
 * is there to be read.
 */
struct polling {
	struct slot_poll poll;
	struct waiting me;
	bool queued;
};

static void notify(u32 *got)
{
	const struct shard_wait_turn *turn =
		(void *)((char *)got - offsetof(struct shard_wait_turn, got));
	int before = errno;
	u64 one = 1;

	if (turn->event && write((int)turn->event - 1, &one, sizeof(one)) < 0)
		errno = before; /* only if the program closed it */
}

struct slot_poll *slot_poll_alloc(struct slot_set *s, struct shard_wait *w, u32 cpu)
{
	struct polling *p = malloc(sizeof(*p));
	int fd = p ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;

	if (fd < 0) {
		free(p);
		return NULL;
	}
	*p = (struct polling){ { s, fd }, { s, w, cpu, { NULL, 0, (u32)fd + 1 } }, false };
	WRITE_ONCE(w->notify, notify); /* before the first shard_wait_ask() of this place */
	return &p->poll;
}

static bool event(const struct polling *p)
{
	u64 events;

	return read(p->poll.fd, &events, sizeof(events)) > 0;
}

/* Ask, after entering the queue or being told to look again. Return: the slot, or -1. */
static s64 ask_and_leave(struct polling *p)
{
	struct waiting *me = &p->me;
	s64 got;

	shard_wait_ask(me->w, &me->turn.got);
	got = slot_claim_near(me->set, me->cpu);
	if (got < 0 && !READ_ONCE(me->w->closed))
		return -1;
	p->queued = false;
	got = leave_queue(me, got);
	event(p);
	return got;
}

static s64 claim_queued(struct polling *p)
{
	bool told = event(p); /* then something is stored, or about to be */
	u32 given;

	while (!(given = smp_load_acquire(&p->me.turn.got)) && told)
		sched_yield();
	if (!given)
		return -1;
	event(p); /* if it came after the first look */
	if (given == SHARD_WAIT_AGAIN)
		return ask_and_leave(p);
	p->queued = false;
	return leave_queue(&p->me, -1);
}

s64 slot_poll_claim(struct slot_poll *poll)
{
	struct polling *p = (struct polling *)poll;
	struct waiting *me = &p->me;
	bool closed = READ_ONCE(me->w->closed);
	s64 got = -1;

	if (p->queued) {
		got = claim_queued(p);
	} else if (!closed) {
		got = slot_claim_near(me->set, me->cpu);
		if (got < 0) {
			me->turn.got = 0;
			p->queued = true;
			if (enter_queue(me))
				got = ask_and_leave(p);
		}
	}
	if (got < 0)
		errno = p->queued ? EAGAIN : ECANCELED;
	return got;
}

void slot_poll_free(struct slot_poll *poll)
{
	struct polling *p = (struct polling *)poll;

	if (!p)
		return;
	if (p->queued)
		leave_queue_cancelled(&p->me);
	close(poll->fd);
	free(p);
}
