// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A loop that waits for another thread's store ends if that store comes. This file ends the run if
 * the store cannot come. After SPIN_QUIET reads without other work, it watches all accesses. If the
 * threads change more than WORDS words, or make a system call, they do work. Watching then starts
 * again after another SPIN_QUIET reads.
 *
 * Otherwise each thread's state is sampled: its registers, its stack, and the words that changed. A
 * thread whose states repeat is in an endless loop if all others wait or are in such loops too.
 * Then nothing new can happen. A loop that counts its rounds has a new state each time. It may end
 * by itself, and is stopped only after MOST reads of each thread.
 *
 * A signal handler, or a child that shares memory, can also change memory. If there are any, the
 * run goes on for a while (fatal.c).
 */
#include "spin.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unwind.h>

#include "pass.h"
#include "lines.h"
#include "real.h"
#include "turns.h"

#define WORDS  64u
#define SLOTS  128u
#define OFTEN  256u /* reads between two states */
#define STATES 8192u
#define TIMES  32u /* repeated states; each new one subtracts NEW */
#define NEW    8u
#define MOST   200000000u
#define STACK  65536u

_Thread_local uint32_t lines_mine, lines_own;
bool spin_watched;
uint32_t spin_events;

extern const char __ehdr_start HIDDEN;
extern const char _etext HIDDEN;

static uint64_t word[SLOTS]; /* changed words, as address / 8; 0: none */
static uint32_t nr_words, epoch;
static time_t since;

static void leave(void)
{
	spin_watched = false;
	spin_events = 0;
	lines_watch(false);
}

void spin_else(void)
{
	if (spin_watched)
		leave();
	spin_events = 0;
}

static void enter(void)
{
	struct timespec now = { 0 };

	memset(word, 0, sizeof(word));
	nr_words = 0;
	epoch++;
	spin_watched = true;
	PASS(REAL(clock_gettime)(CLOCK_MONOTONIC, &now));
	since = now.tv_sec;
}

void spin_wrote(const volatile void *at)
{
	uint64_t key = (uintptr_t)at / 8;
	uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 57);

	if (!spin_watched)
		return;
	/* state_of() hashes the thread's own stack anyway. */
	if ((uintptr_t)at > (uintptr_t)__builtin_frame_address(0) &&
	    (uintptr_t)at < (uintptr_t)exact_self->top)
		return;
	while (word[i] && word[i] != key)
		i = (i + 1) % SLOTS;
	if (word[i])
		return;
	if (nr_words == WORDS) {
		leave();
		return;
	}
	word[i] = key;
	nr_words++;
	epoch++;
}

/* ---- a thread's state ---- */

static uint64_t mixed(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

struct state {
	struct thread *thread;
	uint64_t hash;
};

/* Hash the first frame of the program: those below are this library's. */
static _Unwind_Reason_Code first_frame(struct _Unwind_Context *context, void *arg)
{
	static const int kept[] = { 3, 6, 12, 13, 14, 15 }; /* rbx, rbp, r12 to r15 */
	const char *pc = (const char *)_Unwind_GetIP(context);
	struct state *s = arg;
	const uint64_t *at, *end;

	if (pc >= &__ehdr_start && pc < &_etext)
		return _URC_NO_REASON;
	s->thread->spin.pc = pc;
	s->hash = mixed(s->hash, (uintptr_t)pc);
	for (unsigned int i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		s->hash = mixed(s->hash, _Unwind_GetGR(context, kept[i]));
	at = (const uint64_t *)(_Unwind_GetCFA(context) & ~7ull);
	end = s->thread->top;
	if (end > at + STACK / sizeof(*at))
		end = at + STACK / sizeof(*at);
	for (; at < end; at++)
		s->hash = mixed(s->hash, *at);
	return _URC_NORMAL_STOP;
}

static uint64_t state_of(struct thread *t)
{
	struct state s = { .thread = t };

	/* The unwinder takes locks, which must not be recorded. */
	exact_self = NULL;
	lines_mine = 0;
	_Unwind_Backtrace(first_frame, &s);
	exact_self = t;
	lines_watch(true);
	for (uint32_t i = 0; i < SLOTS; i++)
		if (word[i])
			s.hash = mixed(s.hash, *(const uint64_t *)(word[i] * 8));
	return s.hash;
}

/* Has the thread been in this state before? */
static bool seen_before(struct spin *s, uint64_t state)
{
	uint32_t i = (uint32_t)(state % STATES), key = (uint32_t)(state >> 32) | 1;

	if (!s->seen)
		s->seen = calloc(STATES, sizeof(*s->seen));
	if (!s->seen)
		return false;
	while (s->seen[i] && s->seen[i] != key)
		i = (i + 1) % STATES;
	if (s->seen[i])
		return true;
	if (s->states++ == STATES / 4 * 3) {
		memset(s->seen, 0, STATES * sizeof(*s->seen));
		s->states = 0;
	}
	s->seen[i] = key;
	return false;
}

/* ---- the end ---- */

bool spin_endless(const struct thread *t)
{
	return t->spin.epoch == epoch && !t->outside &&
	       (t->spin.times >= TIMES || t->spin.looks >= MOST);
}

uint32_t spin_epoch(void)
{
	return epoch;
}

bool spin_stuck(void)
{
	for (uint32_t i = 0; i < exact.nr_threads; i++) {
		const struct thread *t = exact.threads[i];

		if (t->ended || spin_endless(t) || turns_endless(t))
			continue;
		if (!t->waits_in || t->until < EXACT_EVER || t->outside)
			return false;
	}
	return true;
}

void spin_look(const void *read)
{
	struct thread *t = exact_self;

	if (!t || !exact.recording)
		return;
	if (!spin_watched)
		enter();
	lines_watch(true);
	if (t->spin.epoch != epoch) {
		t->spin = (struct spin){ .epoch = epoch, .seen = t->spin.seen };
		if (t->spin.seen)
			memset(t->spin.seen, 0, STATES * sizeof(*t->spin.seen));
	}
	if (read)
		t->spin.at = read;
	if (++t->spin.looks % OFTEN)
		return;
	if (seen_before(&t->spin, state_of(t)))
		t->spin.times++;
	else
		t->spin.times -= t->spin.times < NEW ? t->spin.times : NEW;
	if (t->spin.at && spin_endless(t) && spin_stuck())
		exact.endless(since);
}
