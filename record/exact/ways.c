// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The instrumentation reports where each function was called, and when it returns. longjmp() skips
 * returns. So a call counts as ended when a function is entered whose frame lies above the call's.
 *
 * A call from this library starts a thread or a handler, and is not a call of the program.
 */
#include "ways.h"

#include "memory.h"

#define DEPTH 1024u /* deeper calls are only counted */

struct ways {
	uint32_t n;
	struct {
		uintptr_t frame;
		uint64_t pc;
		uint32_t entry; /* 0: none so far */
		bool own;	/* from this library */
	} call[DEPTH];
};

struct sites ways_sites;
_Thread_local struct ways *ways_mine;
static struct ways *all;

int ways_begin(void)
{
	all = memory.zeroed(EXACT_THREADS * sizeof(*all));
	return all ? sites_init(&ways_sites) : -1;
}

void ways_thread(const struct thread *t)
{
	if (all)
		ways_mine = &all[t->number];
}

void ways_entered(const void *pc, const void *frame)
{
	struct ways *c = ways_mine;

	while (c->n && c->n <= DEPTH && c->call[c->n - 1].frame <= (uintptr_t)frame)
		c->n--;
	if (c->n++ >= DEPTH)
		return;
	c->call[c->n - 1].frame = (uintptr_t)frame;
	c->call[c->n - 1].pc = (uint64_t)(uintptr_t)pc - 1;
	c->call[c->n - 1].own = ways_own(pc);
	c->call[c->n - 1].entry = 0;
}

/*
 * A jump skipped the calls whose frames lie below the frame that returns. A function that calls
 * this hook as its tail call has no frame any more: then @to is where it was called.
 */
void ways_left(const void *to, const void *frame)
{
	struct ways *c = ways_mine;

	while (c->n && c->n <= DEPTH && c->call[c->n - 1].frame < (uintptr_t)frame)
		if (c->call[--c->n].pc == (uint64_t)(uintptr_t)to - 1)
			return;
	if (c->n)
		c->n--;
}

uint64_t ways_site(uint64_t pc)
{
	struct ways *c = ways_mine;
	uint32_t n = c->n < DEPTH ? c->n : DEPTH, at, entry;
	bool make = !sites_full(&ways_sites, pc);

	/*
	 * If a function of this library accesses memory for its caller, the last call is that
	 * access (lines.c has the place of a write one byte earlier).
	 */
	while (n && c->call[n - 1].own)
		n--;
	if (n && c->call[n - 1].pc - pc <= 1)
		n--;
	/* Go back to the nearest call that has an entry. */
	at = n;
	while (at && !c->call[at - 1].entry)
		at--;
	entry = at ? c->call[at - 1].entry : 0;
	for (; at < n; at++) {
		if (c->call[at].own)
			continue;
		entry = sites_entry(&ways_sites, entry, c->call[at].pc, make);
		if (!entry)
			return sites_lost(&ways_sites, pc);
		c->call[at].entry = entry;
	}
	return sites_number(&ways_sites, entry, pc);
}
