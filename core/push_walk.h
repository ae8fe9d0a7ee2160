/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The state of a push walk: a CPU that has become free lets an interrupt travel from one
 * overloaded CPU to the next, each of which pushes what it has. One interrupt at a time; a
 * request that comes while it is under way makes it go round once more. A user of the overload
 * set has a walk for each shard, over overload_next_near(), and one for the machine, over
 * overload_next_wide().
 *
 * Concurrency of operations on one walk:
 *
 *               | request | again         | init
 *   request     | ok      | ok            | -
 *   again       | ok      | one walker    | -
 *   init        | -       | -             | -  caller excludes
 *
 * "One walker": only whoever carries the walk may call it: the CPU whose request started
 * it, then the CPU that it sent the interrupt to, and so on.
 *
 * Who frees a walk first makes sure that nobody can request it any more, then that its state is
 * PUSH_WALK_IDLE, then that whoever brought it there is out of push_walk_again() (in Linux
 * an RCU grace period later, the interrupt's handler being a reader). So a walk needs no
 * reference count of what it belongs to, which every walk of the machine would write twice.
 *
 * Context: runs anywhere, interrupts included, lock-free. Lines touched: the walk's own.
 * Where the walk stands is not kept: it stands on the CPU that the interrupt runs on.
 */
#ifndef SCHEDSHARD_PUSH_WALK_H
#define SCHEDSHARD_PUSH_WALK_H

#include "port.h"

/* In this order a request only ever raises the state. */
enum push_walk_state {
	PUSH_WALK_IDLE,	 /* nobody walks */
	PUSH_WALK_ROUND, /* a round is under way */
	PUSH_WALK_AGAIN, /* and another one follows it */
};

/**
 * struct push_walk - the walk
 * @state: enum push_walk_state; alone on its line, as every CPU that becomes free reads it
 */
struct push_walk {
	u64 state __aligned(PORT_CACHELINE);
};

static_assert(sizeof(struct push_walk) == PORT_CACHELINE, "a line of its own");

/**
 * push_walk_init() - nobody walks
 * @w: the walk
 */
static inline void push_walk_init(struct push_walk *w)
{
	w->state = PUSH_WALK_IDLE;
}

/**
 * push_walk_request() - let every overloaded CPU push once more
 * @w: the walk
 *
 * Return: true: the caller carries the walk now and begins a round; false: a round that begins
 * after this call is certain. Ordering: full barrier before the request: what the caller
 * stored before (its lower level) is seen by everything in the round that serves it.
 * Lines touched: the walk's, read; written at most twice in a round by all CPUs together.
 */
bool push_walk_request(struct push_walk *w);

/**
 * push_walk_join() - push_walk_request() of who had a full barrier behind its lower level already
 * @w: the walk
 *
 * Return: as push_walk_request(). Ordering: none before the request: the caller has executed a full
 * barrier since it stored its lower level; overload_query() begins with one. Lines touched: as
 * push_walk_request().
 */
bool push_walk_join(struct push_walk *w);

/**
 * push_walk_again() - a round is at its end: another one?
 * @w: the walk, carried by the caller
 *
 * Return: true: begin another round; false: the walk is over, and no longer the caller's.
 * Ordering: full barrier before what follows when true; after what came before when false.
 * Lines touched: the walk's, written.
 */
bool push_walk_again(struct push_walk *w);

#endif /* SCHEDSHARD_PUSH_WALK_H */
