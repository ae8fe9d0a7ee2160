/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* order.h - what happened before what, by the program's locks, atomics, threads and calls. */
#ifndef EXACT_ORDER_H
#define EXACT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "exact.h"

/* Threads that are followed. With more of them, no races are told. */
#define ORDER_THREADS 1024u

enum order_access { ORDER_LOAD = 1, ORDER_STORE = 2, ORDER_BOTH = 3 };

/** order_thread - @t begins after all that the caller did; the first thread has none before. */
void order_thread(struct thread *t);

/** order_after - the caller has waited for @t: for its end, or for what woke the caller. */
void order_after(const struct thread *t);

/** order_wakes - @t goes on after all that the caller did. */
void order_wakes(struct thread *t);

/**
 * order_atomic - the caller's atomic operation on the word at @at
 *
 * Before a store, since another thread may see its value at once; after all others.
 */
void order_atomic(const volatile void *at, enum order_access how, int mo);

/** order_fence - and its fence. */
void order_fence(int mo);

/** order_world - a system call: what came before is known to whoever makes one later. */
void order_world(void);

/** order_all - code that nobody sees may have waited for anything. */
void order_all(void);

/** order_clock - the calling thread's own clock. */
uint32_t order_clock(void);

/** order_before - did the calling thread wait for what @thread did at @clock? */
bool order_before(uint32_t thread, uint32_t clock);

#endif
