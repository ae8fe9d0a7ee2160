// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why no request is lost. The state is one word, which only fully ordered atomics change. A request
 * does one of these:
 *
 *   IDLE -> ROUND    carries a new walk, whose first round begins after the request.
 *   ROUND -> AGAIN   makes the walker take AGAIN back (AGAIN -> ROUND) and begin a round.
 *   AGAIN seen       relies on that same round: the load of AGAIN comes, in this word's order,
 *                    before the exchange that takes AGAIN back.
 *
 * So a round begins after the request in the word's order. It also sees what the requester stored.
 * Requester: R1 store the level, R2 full barrier, R3 load or change the state. Walker: W1 take
 * AGAIN back, W2 full barrier (the exchange), W3 look at levels. R3 comes before W1, so that W3
 * sees R1. Without R2 the level may wait in the store buffer during the round: the model checker
 * finds that. R2 may be any full barrier between R1 and R3: push_walk_join() relies on F2 in
 * overload_query().
 *
 * Only the walker changes ROUND to IDLE, by compare and exchange. If that fails the state is AGAIN,
 * which no other CPU changes. The interrupt hands the walk to the next CPU, and orders the sender's
 * accesses before the receiver's. A CPU that becomes overloaded after the walker passed it calls
 * overload_set(), searches the map, sees the requester's lower level, and pushes.
 */
#include "push_walk.h"

bool push_walk_request(struct push_walk *w)
{
	/* R2: pairs with W2 in push_walk_again() and P2 in overload_set(). */
	smp_mb();
	return push_walk_join(w);
}

bool push_walk_join(struct push_walk *w)
{
	u64 state, seen;

	for (state = READ_ONCE(w->state); state != PUSH_WALK_AGAIN; state = seen) {
		/* Pairs with port_cmpxchg64() in push_walk_again(): the last carrier is done. */
		seen = port_cmpxchg64(&w->state, state, state + 1);
		if (seen == state)
			return state == PUSH_WALK_IDLE;
	}
	return false;
}

bool push_walk_again(struct push_walk *w)
{
	/* Pairs with port_cmpxchg64() in push_walk_join(): the next carrier sees all of this. */
	if (port_cmpxchg64(&w->state, PUSH_WALK_ROUND, PUSH_WALK_IDLE) == PUSH_WALK_ROUND)
		return false;
	/* W1, W2: pairs with R2 in push_walk_request(), or F2: without it W3 may miss R1. */
	port_xchg64(&w->state, PUSH_WALK_ROUND);
	return true;
}
