// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads sleep on futexes. The futex of a waiter is its shard's number of signals, and the waiter
 * sleeps while that is 0. The kernel compares the number before the thread sleeps, so no signal is
 * missed. A waker wakes one thread. If another waiter of the shard takes the signal first, the
 * woken thread finds 0 and sleeps again.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "claim_wait.h"

#define NS_PER_S 1000000000

/* For C libraries with a 64-bit time_t on 32-bit machines. */
#if defined(SYS_futex_time64) && !defined(__LP64__)
#define SYS_FUTEX (sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex)
#else
#define SYS_FUTEX SYS_futex
#endif

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

/*
 * Sleep while there is no signal. @until is the absolute time limit, or NULL. False: the limit has
 * passed.
 */
static bool sleep_at(u32 *signals, const struct timespec *until)
{
	return !syscall(SYS_FUTEX, signals, FUTEX_WAIT_BITSET_PRIVATE, 0, until, NULL,
			FUTEX_BITSET_MATCH_ANY) ||
	       errno != ETIMEDOUT;
}

void shard_wait_wake_near(struct shard_wait *w, u32 cpu)
{
	u32 *signals = shard_wait_wake(w, cpu);
	int before = errno;

	if (signals)
		syscall(SYS_FUTEX, signals, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = before;
}

void sbm_put_wake(struct sbm *b, struct shard_wait *w, u32 cpu)
{
	sbm_put(b, cpu);
	shard_wait_wake_near(w, cpu);
}

static void leave(struct shard_wait *w, u32 cpu)
{
	if (shard_wait_leave(w, cpu))
		shard_wait_wake_near(w, cpu);
}

/* Claim with @claim(set, cpu), at once or after a wake-up. */
static s64 claim_wait(s64 (*claim)(void *set, u32 cpu), void *set, struct shard_wait *w, u32 cpu,
		      s64 timeout_ns)
{
	s64 got = claim(set, cpu);
	struct timespec until;
	bool in_time = true;

	if (got >= 0 || !timeout_ns || (timeout_ns > 0 && !later(&until, timeout_ns)))
		return got;
	for (;;) {
		shard_wait_join(w, cpu);
		got = claim(set, cpu);
		if (got >= 0 || !in_time) {
			leave(w, cpu);
			return got;
		}
		while (in_time && !shard_wait_woken(w, cpu))
			in_time = sleep_at(shard_wait_signals(w, cpu),
					   timeout_ns > 0 ? &until : NULL);
		if (!in_time)
			leave(w, cpu);
	}
}

static s64 claim_bit(void *set, u32 cpu)
{
	return sbm_claim_near(set, cpu);
}

s64 sbm_claim_wait(struct sbm *b, struct shard_wait *w, u32 cpu, s64 timeout_ns)
{
	return claim_wait(claim_bit, b, w, cpu, timeout_ns);
}

static s64 claim_slot(void *set, u32 cpu)
{
	return slot_claim_near(set, cpu);
}

s64 slot_claim_wait(struct slot_set *s, struct shard_wait *w, u32 cpu, s64 timeout_ns)
{
	return claim_wait(claim_slot, s, w, cpu, timeout_ns);
}

void slot_put_wake(struct slot_set *s, struct shard_wait *w, u32 slot, u32 cpu)
{
	slot_put_near(s, slot, cpu);
	shard_wait_wake_near(w, cpu);
}
