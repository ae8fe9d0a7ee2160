/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The state of a push walk. A CPU that has become free sends an interrupt, which travels from one
 * overloaded CPU to the next; each pushes its tasks. A request during a walk adds one more round. A
 * user of the overload set has one walk for each shard and one for the machine.
 *
 * Concurrency: requests may overlap with everything but init. Only the carrier of the walk calls
 * push_walk_again(): the CPU whose request started it, then each CPU that the interrupt reaches.
 *
 * A user frees a walk after no new request can come, then the state was PUSH_WALK_IDLE, then the
 * last carrier left push_walk_again(). In Linux an RCU grace period ensures the last step.
 *
 * Context: any. Lines touched: the walk's own.
 */
#ifndef SCHEDSHARD_PUSH_WALK_H
#define SCHEDSHARD_PUSH_WALK_H

#include "port.h"

/* In ascending order: a request only ever raises the state. */
enum push_walk_state {
	PUSH_WALK_IDLE,	 /* no CPU walks */
	PUSH_WALK_ROUND, /* a round is under way */
	PUSH_WALK_AGAIN, /* a round is under way, and another one follows it */
};

/* A walk: its enum push_walk_state. Every CPU that becomes free reads it. */
struct push_walk {
	u64 state __aligned(PORT_CACHELINE);
};

static_assert(sizeof(struct push_walk) == PORT_CACHELINE, "a line of its own");

/* No CPU walks. */
static inline void push_walk_init(struct push_walk *w)
{
	w->state = PUSH_WALK_IDLE;
}

/*
 * Let every overloaded CPU push once more. Return: true: the caller carries the walk now and begins
 * a round; false: a round is certain to begin after this call. Ordering: a full barrier first: that
 * round sees the caller's earlier stores, its lower level among them. All requests together write
 * the line at most twice per round.
 */
bool push_walk_request(struct push_walk *w);

/* The same after a full barrier since the caller stored its level, as in overload_query(). */
bool push_walk_join(struct push_walk *w);

/*
 * A round has ended: does another follow? The caller carries the walk. Return: true: begin another
 * round; false: the walk is over, and the caller no longer carries it. Ordering: if true, a full
 * barrier before the new round; if false, a full barrier after the round that ended.
 */
bool push_walk_again(struct push_walk *w);

#endif /* SCHEDSHARD_PUSH_WALK_H */
