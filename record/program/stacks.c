// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A plugin sees where a call writes its return address, and where a return reads it. So this file
 * keeps each thread's stack of calls without frame pointers or debug information.
 *
 * A call or a return at @sp ends every call whose return address lies at @sp or below. So calls
 * that longjmp(), an exception or the end of a signal handler has skipped do not remain for longer.
 * An @sp far from all calls is on another stack: an alternate signal stack, or a fiber's stack. A
 * thread's last STACKS stacks are kept. A call on one stack is never a caller on another.
 *
 * Most calls lead to no contended line. So a call gets its site (sites.h) only at such an access.
 */
#include "stacks.h"

#include <pthread.h>
#include <stdlib.h>

#include "shared.h"

#define DEPTH 1024u /* deeper calls are left out */
/* No frame is so large; no two stacks lie so near. */
#define FAR    (256u << 10)
#define STACKS 16u

struct stack {
	uint64_t at; /* stack pointer at the last call or return */
	uint32_t n;
	struct {
		uint64_t sp, pc;
		uint32_t entry; /* 0: none so far */
	} call[DEPTH];
};

/* The stacks of this thread, and the current one. The memory is freed when the thread ends. */
static _Thread_local struct {
	struct stack *all, *now;
	uint32_t next;
} here;
static pthread_key_t freed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void drop(void *all)
{
	here.all = here.now = NULL;
	free(all);
}

static void make_key(void)
{
	if (pthread_key_create(&freed, drop))
		abort();
}

static bool has(const struct stack *s, uint64_t sp)
{
	uint64_t low = s->at, high = s->n ? s->call[0].sp : s->at;

	/* For calls beyond DEPTH only @at is known. */
	if (s->n && s->call[s->n - 1].sp < low)
		low = s->call[s->n - 1].sp;
	return s->at && sp + FAR >= low && sp <= high + FAR;
}

/* Make the stack on which @sp lies the current one, and return it. */
static struct stack *find(uint64_t sp)
{
	if (here.now && has(here.now, sp))
		return here.now;
	if (!here.all) {
		pthread_once(&once, make_key);
		here.all = calloc(STACKS, sizeof(*here.all));
		if (!here.all || pthread_setspecific(freed, here.all))
			abort();
	}
	for (uint32_t i = 0; i < STACKS; i++)
		if (has(&here.all[i], sp))
			return here.now = &here.all[i];
	/* The thread's own stack came first, and stays. */
	here.now = &here.all[here.next < STACKS ? here.next : here.next % (STACKS - 1) + 1];
	here.next++;
	here.now->n = 0;
	return here.now;
}

bool stacks_on(void)
{
	return shared && shared->sites.all;
}

/* Remove the calls that have ended from the stack of @sp, and return it. */
static struct stack *cut(uint64_t sp)
{
	struct stack *s = find(sp);

	s->at = sp;
	while (s->n && s->call[s->n - 1].sp <= sp)
		s->n--;
	return s;
}

void stacks_return(uint64_t sp)
{
	cut(sp);
}

void stacks_call(uint64_t sp, uint64_t pc)
{
	struct stack *s = cut(sp);

	if (s->n == DEPTH)
		return;
	s->call[s->n].sp = sp;
	s->call[s->n].pc = pc;
	s->call[s->n].entry = 0;
	s->n++;
}

uint64_t stacks_site(uint64_t pc)
{
	struct stack *s = here.now;
	uint32_t at = s ? s->n : 0, entry;
	bool make = !sites_full(&shared->sites, pc);

	/* Back to the nearest call that has an entry. */
	while (at && !s->call[at - 1].entry)
		at--;
	entry = at ? s->call[at - 1].entry : 0;
	for (; s && at < s->n; at++) {
		entry = sites_entry(&shared->sites, entry, s->call[at].pc, make);
		if (!entry)
			return sites_lost(&shared->sites, pc);
		s->call[at].entry = entry;
	}
	return sites_number(&shared->sites, entry, pc);
}
