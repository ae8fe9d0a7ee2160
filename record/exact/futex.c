// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A thread waits for a word of memory as with the kernel's futexes. All other waits use this one.
 *
 * Why no wake-up is lost: nothing else runs between the load of the word and the entry into the
 * queue. A waker stores the word before it calls futex_wake(), which empties the store buffer. So
 * the waiter loads the new value, or the waker finds the waiter in the queue.
 *
 * Why no signal is lost: a signal that comes before the wait is seen after the load, and a later
 * one interrupts the wait.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cancel.h"
#include "exact.h"
#include "lines.h"
#include "pass.h"
#include "sim.h"
#include "sim_threads.h"

#define BUCKETS 1024u

static struct bucket {
	struct thread *first;
} bucket[BUCKETS];

static struct bucket *bucket_of(const void *word)
{
	uint64_t hash = (uint64_t)(uintptr_t)word / 4 * 0x9e3779b97f4a7c15ull;

	return &bucket[hash >> 54];
}

static void enter(struct thread *t, const void *word)
{
	struct thread **link = &bucket_of(word)->first;

	while (*link)
		link = &(*link)->next;
	t->next = NULL;
	t->at = word;
	*link = t;
}

static void leave(struct thread *t)
{
	struct thread **link = &bucket_of(t->at)->first;

	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	t->at = NULL;
	t->until = EXACT_EVER;
}

static void call(void)
{
	sched_cycles(EXACT_CALL);
	lines_fence(__ATOMIC_SEQ_CST, __builtin_return_address(0));
	sched_catch_up();
}

/* Wait until another thread wakes the caller, which is in a queue, or until @until. */
static int wait_in(struct thread *t, uint64_t until, const char *in, const void *pc)
{
	bool late;

	t->until = until;
	t->timed_out = false;
	t->waits_in = in;
	t->waits_pc = pc;
	if (until < EXACT_EVER)
		alarms_set(&t->alarms, until, t->number);
	sched_block();
	t->waits_in = NULL;
	late = t->timed_out;
	exact_signals();
	return late ? ETIMEDOUT : 0;
}

int futex_wait(const void *word, uint32_t value, uint64_t until, uint32_t bits, const char *in,
	       const void *pc)
{
	struct thread *t = exact_self;
	uint32_t handled;

	call();
	handled = t->handled;
	if ((uint32_t)lines_load(word, 4, __ATOMIC_SEQ_CST, pc) != value)
		return EAGAIN;
	sched_work(0);
	/* Handle signals that came while the thread waited for the line. */
	exact_signals();
	if (t->handled != handled)
		return 0;
	t->bits = bits;
	t->value = value;
	enter(t, word);
	return wait_in(t, until, in, pc);
}

/* Children wait for shared words, threads of the C library for private ones. */
static int wake_strangers(const void *word, int n)
{
	long there = 0, here = 0;

	if (!exact.strangers || n <= 0)
		return 0;
	there = KERNEL(SYS_futex, word, FUTEX_WAKE, n);
	if (there < n)
		here = KERNEL(SYS_futex, word, FUTEX_WAKE_PRIVATE, n - (there > 0 ? there : 0));
	return (int)((there > 0 ? there : 0) + (here > 0 ? here : 0));
}

int futex_wake(const void *word, int n, uint32_t bits)
{
	int woken = 0;
	struct thread *t, *next;

	call();
	for (t = bucket_of(word)->first; t && woken < n; t = next) {
		next = t->next;
		if (t->at != word || !(t->bits & bits))
			continue;
		leave(t);
		sched_wake(t, sim_now());
		woken++;
	}
	return woken + wake_strangers(word, n - woken);
}

bool futex_look(void)
{
	bool any = false;

	for (uint32_t i = 0; i < exact.nr_threads; i++) {
		struct thread *t = exact.threads[i];

		if (!t->at || t->at == &t->at ||
		    __atomic_load_n((const uint32_t *)t->at, __ATOMIC_SEQ_CST) == t->value)
			continue;
		leave(t);
		sched_wake(t, 0);
		any = true;
	}
	return any;
}

int futex_requeue(const void *word, int n, int more, const void *to)
{
	int done = futex_wake(word, n, UINT32_MAX);
	struct thread *t, *next;

	for (t = bucket_of(word)->first; t && more > 0; t = next) {
		uint64_t until = t->until;

		next = t->next;
		if (t->at != word)
			continue;
		leave(t);
		enter(t, to);
		t->until = until;
		more--;
		done++;
	}
	return done;
}

void futex_sleep(uint64_t until, const char *in)
{
	call();
	if (until <= sim_now())
		return;
	/* An address that nobody wakes. */
	enter(exact_self, &exact_self->at);
	CANCEL_POINT(wait_in(exact_self, until, in, __builtin_return_address(0)));
	cancel_test();
}

void futex_rouse(struct thread *t, uint64_t at)
{
	if (t->at) {
		leave(t);
		sched_wake(t, at);
		return;
	}
	/* A wait for a thread's end is in no queue. */
	for (uint32_t i = 0; i < exact.nr_threads; i++) {
		struct thread *other = exact.threads[i];

		if (other->joiner != t || other->ended)
			continue;
		other->joiner = NULL;
		sched_wake(t, at);
	}
}

void futex_interrupt(struct thread *t)
{
	futex_rouse(t, sched_time());
}

void futex_alarm(uint32_t id, uint64_t at)
{
	struct thread *t = exact.threads[id];

	alarms_came(&t->alarms, at);
	if (t->at && t->until > at && t->until < EXACT_EVER)
		alarms_set(&t->alarms, t->until, id);
	if (!t->at || t->until > at)
		return;
	leave(t);
	t->timed_out = true;
	sched_wake(t, at);
}
