/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * timers.h - timers that send signals, and those that are files, on the machine's clock. They are
 * used only while the kernel dispatches system calls (dispatch.c).
 */
#ifndef EXACT_TIMERS_H
#define EXACT_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "exact.h"

/* The first id of a timer for sim_alarm(); ids below are threads. */
#define TIMERS_FIRST EXACT_THREADS

/**
 * timers_call - do system call @number if it concerns timers
 *
 * Return: true with *@result, a value or a negative error; false if it is another call.
 */
bool timers_call(long number, const long *arg, long *result);

/** timers_copied - a timer's file has one more descriptor; timers_closed - one less. */
void timers_copied(int from);
void timers_closed(int number);

/** timers_due - an alarm of timer @id fired: the timer may be due. Switches no fiber. */
void timers_due(uint32_t id, uint64_t at);

/**
 * timers_next - when the next timer expires; EXACT_EVER: none does. @once: only those without a
 * period
 */
uint64_t timers_next(bool once);

#endif
