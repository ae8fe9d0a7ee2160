/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The state of the push walk: a CPU that has become free lets an interrupt travel from one
 * overloaded CPU to the next, each of which pushes what it has. One walk at a time; a request
 * that comes while one is under way makes it go round once more.
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
	u64 state port_cacheline_aligned;
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
 * push_walk_again() - a round is at its end: another one?
 * @w: the walk, carried by the caller
 *
 * Return: true: begin another round; false: the walk is over, and no longer the caller's.
 * Ordering: full barrier before what follows when true; after what came before when false.
 * Lines touched: the walk's, written.
 */
bool push_walk_again(struct push_walk *w);

#endif /* SCHEDSHARD_PUSH_WALK_H */
