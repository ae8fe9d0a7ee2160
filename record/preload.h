/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* preload.h - what the parts of the library inside the program share. */
#ifndef RECORD_PRELOAD_H
#define RECORD_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

#define PRELOAD_API __attribute__((visibility("default")))

/* A function's caller. */
#define PRELOAD_HERE __builtin_return_address(0), __builtin_frame_address(0)

/** preload_tell - send a message (protocol.h); keeps errno. */
void preload_tell(long code, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

/**
 * preload_readable - whether a page can be read
 * @page: its first byte
 *
 * The thread is not hidden then.
 */
bool preload_readable(const void *page);

/**
 * preload_enter - begin work that the program has not asked for
 *
 * Until preload_leave() the recorder does not look at this thread, and its allocations are not
 * the program's.
 *
 * Return: false: too early, or the thread is at such work already; do not call preload_leave().
 */
bool preload_enter(void);
void preload_leave(void);

/** preload_find_unwinder - once, when the C library's backtrace() has loaded it. */
void preload_find_unwinder(void);

/**
 * preload_frames - the functions that wait for a call of this library
 * @frame: of PROTOCOL_FRAMES; the innermost first
 * @stack: of PRELOAD_HERE, in the function that the program has called
 *
 * Return: their number; 0 without an unwinder.
 */
uint32_t preload_frames(struct protocol_frame *frame, const void *stack);

/** preload_callers - tell the recorder the frames of who starts threads, or waits for them. */
void preload_callers(const void *back, const void *stack);

/**
 * preload_place - the number of a place that allocates, which the recorder is told
 * @back, @stack: PRELOAD_HERE
 *
 * Return: 0: there are too many.
 */
uint32_t preload_place(const void *back, const void *stack);

#endif
