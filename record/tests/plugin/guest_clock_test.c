// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests the guest's clock in its three phases, with this program instead of the emulator. The test
 * compares it with the host's clock by inequalities that hold however busy the host is.
 *
 * The environment must set SCHEDSHARD_SLOW to the value of SLOW.
 */
#include "../../../model/tests/sim/check.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest_clock.h"
#include "host_time.h"

#define SLOW	    100u
#define MILLISECOND 1000000ull

static uint64_t ps; /* the model's */

static uint64_t guest(void)
{
	struct timespec time;

	CHECK(!clock_gettime(CLOCK_MONOTONIC, &time));
	return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

static void host_sleep(uint64_t ns)
{
	struct timespec time = { 0, (long)ns };

	syscall(SYS_nanosleep, &time, NULL);
}

static uint64_t tsc(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* Reads the counter, and returns the host's time then: the best of 100 pairs of reads. */
static uint64_t host_with(uint64_t *counter)
{
	uint64_t best = 0, least = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		uint64_t before = host_now(), read = tsc(), took = host_now() - before;

		if (took < least) {
			least = took;
			best = before;
			*counter = read;
		}
	}
	return best;
}

static void tell(uint64_t change)
{
	__atomic_store_n(&ps, ps + change, __ATOMIC_RELEASE);
}

/* The clock is the host's, divided by SLOW. */
static void slow(void)
{
	uint64_t outer, inner, before, after;

	outer = host_now();
	before = guest();
	inner = host_now();
	host_sleep(20 * MILLISECOND);
	inner = host_now() - inner;
	after = guest();
	outer = host_now() - outer;
	CHECK(after - before <= outer / SLOW + 1);
	CHECK(after - before + 1 >= inner / SLOW);
}

/* Before the window opens, threads read the host's counter. */
static void *early_thread(void *arg)
{
	uint64_t *last = arg;

	*last = tsc();
	CHECK(!guest_clock_thread());
	for (int i = 0; i < 100; i++) {
		uint64_t now = tsc();

		CHECK(now > *last);
		*last = now;
	}
	return NULL;
}

struct seen {
	double rate; /* of the host's counter, per nanosecond */
	uint64_t last;
};

static void *guest_thread(void *arg)
{
	const struct seen *seen = arg;
	double rate = seen->rate;
	uint64_t first, second;
	struct timeval time[2];

	CHECK(!guest_clock_thread());
	first = tsc();
	CHECK(first >= seen->last);
	host_sleep(MILLISECOND);
	CHECK(tsc() == first); /* the model's time stands still */
	tell(MILLISECOND * 1000);
	second = tsc();
	CHECK((double)(second - first) > 0.9 * rate * SLOW * MILLISECOND);
	CHECK((double)(second - first) < 1.1 * rate * SLOW * MILLISECOND);
	tell(2 * MILLISECOND * 1000);
	CHECK(tsc() - second >= 2 * (second - first) - 2);
	CHECK(tsc() - second <= 2 * (second - first) + 2);
	/* The time of day is the host's, although the vDSO would compute it from the counter. */
	CHECK(!gettimeofday(&time[0], NULL));
	host_sleep(2 * MILLISECOND);
	CHECK(!gettimeofday(&time[1], NULL));
	CHECK(timercmp(&time[0], &time[1], <));
	return NULL;
}

/* Runs @play in a separate thread; this thread keeps the host's counter. */
static void counter(void *(*play)(void *), void *arg)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, play, arg));
	CHECK(!pthread_join(thread, NULL));
	CHECK(tsc() != tsc());
}

/* A fault of another kind still ends the program. */
static void faults(void)
{
	volatile int *locked = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	CHECK(locked != MAP_FAILED);
	pid = fork();
	if (!pid) {
		*locked = 1;
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

struct loop {
	int pipe[2];
	bool ended;
	uint64_t rounds; /* sleeps that a timer ended */
};

/* A main loop with a timer every 10 us of the guest's time; a byte in its pipe ends it. */
static void *main_loop(void *arg)
{
	const struct timespec timeout = { 0, 10000 };
	struct loop *l = arg;
	struct pollfd fd = { .fd = l->pipe[0], .events = POLLIN };
	uint64_t since = guest();

	for (;;) {
		int found = ppoll(&fd, 1, &timeout, NULL);

		CHECK(found == 0 || found == 1);
		if (found)
			break;
		/* The loop may wake up early, but the timer is not due then. */
		if (guest() - since < 10000)
			continue;
		since = guest();
		__atomic_fetch_add(&l->rounds, 1, __ATOMIC_SEQ_CST);
	}
	CHECK(fd.revents & POLLIN);
	return NULL;
}

static void timers(void)
{
	const uint64_t *due = guest_clock_due();
	struct loop l = { .rounds = 0 };
	pthread_t thread;

	CHECK(!pipe(l.pipe));
	CHECK(*due == GUEST_CLOCK_NEVER);
	CHECK(!pthread_create(&thread, NULL, main_loop, &l));
	for (uint64_t round = 0; round < 100; round++) {
		uint64_t at;

		/* The loop publishes its deadline ... */
		while ((at = __atomic_load_n(due, __ATOMIC_SEQ_CST)) == GUEST_CLOCK_NEVER)
			host_sleep(10000);
		CHECK(at > ps && at <= ps + 10000 * 1000);
		CHECK(__atomic_load_n(&l.rounds, __ATOMIC_SEQ_CST) == round);
		/* ... and runs when it has come. */
		tell(at - ps);
		while (__atomic_load_n(&l.rounds, __ATOMIC_SEQ_CST) == round)
			guest_clock_alarm();
	}
	CHECK(write(l.pipe[1], "x", 1) == 1);
	CHECK(!pthread_join(thread, NULL));
	CHECK(*due == GUEST_CLOCK_NEVER);
}

int main(void)
{
	uint64_t before, now_host, now_tsc, since_host, since_tsc;
	struct seen seen;

	since_host = host_with(&since_tsc);
	slow();
	counter(early_thread, &seen.last);
	CHECK(tsc() > seen.last);
	now_host = host_with(&now_tsc);
	seen.rate = (double)(now_tsc - since_tsc) / (double)(now_host - since_host);
	before = guest();
	CHECK(!guest_clock_follow(&ps));
	CHECK(guest() >= before);
	before = guest();
	host_sleep(MILLISECOND);
	CHECK(guest() == before);
	tell(5000 * 1000);
	CHECK(guest() == before + 5000);
	counter(guest_thread, &seen);
	faults();
	timers();
	before = guest();
	guest_clock_leave();
	CHECK(guest() >= before);
	slow();
	return 0;
}
