/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* order.h - what happened before what, by the program's locks, atomics, threads and calls. */
#ifndef EXACT_ORDER_H
#define EXACT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "exact.h"

/* The most threads that are followed. With more, no races are reported. */
#define ORDER_THREADS 1024u

enum order_access { ORDER_LOAD = 1, ORDER_STORE = 2, ORDER_BOTH = 3 };

/** order_thread - @t begins after all that the caller did; the first thread has no caller. */
void order_thread(struct thread *t);

/** order_after - the caller has waited for @t: for its end, or for what woke the caller. */
void order_after(const struct thread *t);

/** order_wakes - what @t does from now on comes after all that the caller did. */
void order_wakes(struct thread *t);

/**
 * order_atomic - the caller's atomic operation on the word at @at
 *
 * Call it before a store, because another thread may see the value at once. Call it after all other
 * operations.
 */
void order_atomic(const volatile void *at, enum order_access how, int mo);

/** order_fence - the caller's fence. */
void order_fence(int mo);

/** order_world - the caller makes a system call: it comes after all earlier ones of any thread. */
void order_world(void);

/** order_all - the caller ran code without hooks, which may have waited for any thread. */
void order_all(void);

/** order_clock - the calling thread's own clock. */
uint32_t order_clock(void);

/** order_before - did what @thread did at @clock happen before, for the calling thread? */
bool order_before(uint32_t thread, uint32_t clock);

#endif
