// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Code without instrumentation may wait for another thread in a loop that calls neither a hook nor
 * the kernel: OpenMP's active waits, a spinlock in a library, inline assembly. Then no other thread
 * would run again. So a timer on the host's CPU time interrupts this code, and others run for some
 * of the machine's time.
 *
 * When: the thread has called no hook for SURE_NS, and its registers and stack have matched those
 * of an earlier tick OFTEN times. Then the code is a loop that waits. A loop that counts its
 * rounds, or a long calculation, matches at no tick, and is interrupted after LONG_NS. From then on
 * the place is known, and the next wait there is interrupted at the first tick. If the
 * code was a calculation, other threads merely run before it continues.
 *
 * Why code may be interrupted: a kernel does the same at any time. The signal frame lies on the
 * thread's own stack. This library, and the C library, which it calls, must not be interrupted. If
 * a tick comes in either, the thread goes on until the next tick.
 *
 * The host decides when a tick comes, so such runs differ, and the report says so.
 *
 * The run ends if a thread has repeated a state for TURNS_ENDLESS turns, no thread has executed
 * anything new meanwhile, and all others only wait.
 */
#include "turns.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "away.h"
#include "lines.h"
#include "masks.h"
#include "pass.h"
#include "real.h"
#include "sim.h"
#include "spin.h"
#include "modules.h"

#define TICK_NS	 50000000l
#define QUICK_NS 4000000l /* interval once a thread has had a turn */
#define SURE_NS	 2000000000l
#define LONG_NS	 10000000000l
#define OFTEN	 16u	       /* earlier states that came back */
#define REST	 20000000ull   /* ps, the first time */
#define REST_MAX 1000000000ull /* doubled up to this */
#define STACK	 1024u
#define RED_ZONE 128u
#define PLACES	 32u
#define PLACE	 64u /* bytes of code */

static struct place {
	uintptr_t pc;
	uint64_t turns;
} place[PLACES];
static uint32_t nr_places;
static timer_t timer;
static long tick_ns = TICK_NS;

static struct place *place_of(uintptr_t pc)
{
	for (uint32_t i = 0; i < nr_places; i++)
		if (place[i].pc / PLACE == pc / PLACE)
			return &place[i];
	return NULL;
}

static void set(long ns)
{
	struct itimerspec ticks = { { 0, ns }, { 0, ns } };

	tick_ns = ns;
	PASS(syscall(SYS_timer_settime, timer, 0, &ticks, NULL));
}

/* Has the thread called a hook since its last tick? */
static bool went_on(struct turns *t)
{
	bool same = t->now == sim_now() && t->ran == exact_ran && t->cycles == exact_cycles;

	t->now = sim_now();
	t->ran = exact_ran;
	t->cycles = exact_cycles;
	return !same;
}

static uint64_t mixed(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Hash the stack, and the red zone below the pointer: a loop may count there. */
static uint64_t mixed_stack(uint64_t hash, uint64_t pointer)
{
	uint64_t words[STACK / sizeof(uint64_t)];
	struct iovec here = { words, sizeof(words) };
	struct iovec there = { (void *)(uintptr_t)(pointer - RED_ZONE), sizeof(words) };
	long size;

	size = PASS(syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0));
	for (long i = 0; i < size / (long)sizeof(*words); i++)
		hash = mixed(hash, words[i]);
	return hash;
}

/* Keep the state of the registers and the stack. Return: was there the same state before? */
static bool repeats(struct turns *t, const greg_t *r)
{
	uint64_t hash = 0;

	for (int i = REG_R8; i <= REG_RIP; i++)
		hash = mixed(hash, (uint64_t)r[i]);
	hash = mixed_stack(hash, (uint64_t)r[REG_RSP]);
	for (uint32_t i = 0; i < TURNS_STATES && i < t->nr_states; i++)
		if (t->state[i] == (uint32_t)hash)
			return true;
	t->state[t->nr_states++ % TURNS_STATES] = (uint32_t)hash;
	return false;
}

/* Has no thread done anything new since the last turn? */
static bool quiet(struct turns *t)
{
	uint64_t executed = sched_executed();
	bool same = t->executed == executed || (spin_watched && t->epoch == spin_epoch());

	t->executed = executed;
	t->epoch = spin_epoch();
	return same;
}

static void count(uintptr_t pc)
{
	struct place *p = place_of(pc);

	if (!p && nr_places < PLACES) {
		p = &place[nr_places++];
		p->pc = pc;
	}
	if (p)
		p->turns++;
}

static void let_others(uintptr_t pc, bool again)
{
	struct thread *t = exact_self;
	bool off = t->cancel_off;
	uint64_t was_away = away_since;
	struct timespec now = { 0 };
	int error = errno;

	if (tick_ns != QUICK_NS)
		set(QUICK_NS);
	t->turns.times = again && quiet(&t->turns) ? t->turns.times + 1 : 0;
	t->turns.pc = pc;
	if (!t->turns.times) {
		PASS(REAL(clock_gettime)(CLOCK_MONOTONIC, &now));
		t->turns.since = now.tv_sec;
	}
	if (turns_endless(t) && spin_stuck())
		exact.endless(t->turns.since);
	/* No other thread needs a turn. */
	if (exact.live < 2) {
		errno = error;
		return;
	}
	count(pc);
	t->cancel_off = true;
	futex_sleep(sched_time() + t->turns.rest, "code without instrumentation");
	t->cancel_off = off;
	t->turns.pc = 0;
	if (t->turns.rest < REST_MAX)
		t->turns.rest *= 2;
	if (was_away > 1)
		away_leave();
	/* The turn, not a hook, changed its clock. */
	went_on(&t->turns);
	errno = error;
}

void turns_tick(int which, siginfo_t *info, void *context)
{
	const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t pc = (uintptr_t)r[REG_RIP];
	struct turns *t;
	bool again, moved;

	if (!exact_on() || !lines_mine || pass_selector != pass_armed)
		return;
	t = &exact_self->turns;
	moved = went_on(t);
	/* Code that calls hooks runs its handlers at a hook, independent of the host's time. */
	if (!moved && exact.sent && !modules_system(pc)) {
		exact_signals();
		masks_frame(context);
		moved = went_on(t);
	}
	if (moved) {
		t->ns = 0;
		t->repeated = 0;
		t->rest = REST;
		return;
	}
	t->ns += tick_ns;
	again = repeats(t, r);
	t->repeated += again;
	if (!place_of(pc) && (t->ns < SURE_NS || t->repeated < OFTEN) && t->ns < LONG_NS)
		return;
	if (!modules_system(pc))
		let_others(pc, again);
	else if (t->ns >= LONG_NS)
		result_waits((const void *)pc);
	masks_frame(context);
}

json_t *turns_json(void)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < nr_places; i++)
		json_array_append_new(all, json_pack("[I, I]", (json_int_t)place[i].pc,
						     (json_int_t)place[i].turns));
	return all;
}

void turns_begin(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TURNS_SIGNAL };
	sigset_t ours;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	sigemptyset(&ours);
	sigaddset(&ours, TURNS_SIGNAL);
	if (!pthread_sigmask(SIG_UNBLOCK, &ours, NULL) &&
	    !syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer))
		set(TICK_NS);
}
