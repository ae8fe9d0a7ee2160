// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why no request is lost. One word has three values, all changes but one are atomic operations
 * with full order on it, and each request either
 *
 *   IDLE -> ROUND    carries a new walk, whose first round begins after the request;
 *   ROUND -> AGAIN   the walker cannot end without taking AGAIN back (AGAIN -> ROUND), and
 *		      begins a round after that;
 *   AGAIN seen	      the same: that round is still to begin. The load that saw AGAIN comes before
 *		      the exchange that takes it back, in the order of this word.
 *
 * So a round begins after the request in the word's order. What is left is that the round sees
 * what the requester stored before it: R1 store level, R2 full barrier, R3 load (or change) the
 * state; walker: W1 take AGAIN back, W2 full barrier (the exchange is one), W3 look at levels.
 * R3 comes before W1, so by R2 and W2 W3 sees R1. Without R2 the load of AGAIN may be
 * performed while the level still waits in the store buffer: the round looks, and the
 * requester is passed over; sim/cases/push_walk.c finds that.
 *
 * R2 need not be here: any full barrier between R1 and R3 is one. overload_query() begins with
 * one, so that who asks it behind its lower level, and then for a walk, has been through R2:
 * push_walk_join().
 *
 * Linux raises a counter for every request, which makes every CPU that becomes free write one
 * line. Here a request that finds AGAIN only reads: with many requests in each round, the line is
 * written four times a round (ROUND, AGAIN, ROUND, IDLE at most) and else shared.
 *
 * Only the walker leaves ROUND for IDLE, and only from ROUND, by compare and exchange; when that
 * fails the state is AGAIN, and nobody else changes AGAIN, so that a plain exchange takes it back.
 * Whoever carries the walk is one CPU at a time: the interrupt hands it over, and orders
 * what the sender did before what the receiver does.
 *
 * A CPU that is passed in a round and becomes overloaded behind the walker: it looks at the map
 * itself after it said so (overload_set()), sees the requester's lower level, and pushes.
 */
#include "push_walk.h"

bool push_walk_request(struct push_walk *w)
{
	/* R2: the caller's lower level before the state. */
	smp_mb();
	return push_walk_join(w);
}

bool push_walk_join(struct push_walk *w)
{
	u64 state, seen;

	for (state = READ_ONCE(w->state); state != PUSH_WALK_AGAIN; state = seen) {
		seen = port_cmpxchg64(&w->state, state, state + 1);
		if (seen == state)
			return state == PUSH_WALK_IDLE;
	}
	return false;
}

bool push_walk_again(struct push_walk *w)
{
	if (port_cmpxchg64(&w->state, PUSH_WALK_ROUND, PUSH_WALK_IDLE) == PUSH_WALK_ROUND)
		return false;
	port_xchg64(&w->state, PUSH_WALK_ROUND); /* W1, W2 */
	return true;
}
