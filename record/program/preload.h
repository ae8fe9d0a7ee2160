/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* preload.h - what the parts of the library inside the program share. */
#ifndef RECORD_PRELOAD_H
#define RECORD_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

#define PRELOAD_API __attribute__((visibility("default")))

/* The running function's return address and frame address. */
#define PRELOAD_HERE __builtin_return_address(0), __builtin_frame_address(0)

/** preload_send - send a message (protocol.h); keeps errno. */
void preload_send(long code, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

/**
 * preload_readable - can a page be read?
 * @page: its first byte
 *
 * Afterwards the thread is not hidden from the recorder, even inside preload_enter().
 */
bool preload_readable(const void *page);

/**
 * preload_enter - begin work that is the recorder's, not the program's
 *
 * Until preload_leave() the recorder ignores this thread and its allocations.
 *
 * Return: false if it is too early, or if the thread does such work already; then do not call
 * preload_leave().
 */
bool preload_enter(void);
void preload_leave(void);

/**
 * preload_find_unwinder - look up the unwinder, once, after backtrace() has loaded it.
 */
void preload_find_unwinder(void);

/**
 * preload_frames - get the frames of the functions that led to a call of this library
 * @frame: receives up to PROTOCOL_FRAMES frames, the innermost first
 * @stack: as PRELOAD_HERE gives it in the function that the program has called
 *
 * Return: their number; 0 without an unwinder.
 */
uint32_t preload_frames(struct protocol_frame *frame, const void *stack);

/**
 * preload_locals - call @each for each mapped file with thread-local memory
 *
 * @base: what was added to the file's addresses; @distance: bytes from a thread's pointer to the
 * file's part of that thread's memory
 */
void preload_locals(void (*each)(uint64_t base, uint64_t distance));

/** preload_callers - report the frames of a function that starts threads or waits for them. */
void preload_callers(const void *back, const void *stack);

/**
 * preload_place - return the number of a place that allocates, and report a new one
 * @back, @stack: the two values of PRELOAD_HERE
 *
 * Return: the number, or 0 if there are too many.
 */
uint32_t preload_place(const void *back, const void *stack);

#endif
