/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * timers.h - timers that send signals, and those that are files, on the machine's clock. Only while
 * the kernel tells of system calls (dispatch.c).
 */
#ifndef EXACT_TIMERS_H
#define EXACT_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "exact.h"

/* Of sim_alarm(): below these are threads. */
#define TIMERS_FIRST EXACT_THREADS

/**
 * timers_call - if system call @number is one of timers: do it
 *
 * Return: true with *@result, a value or a negative error; false: it is another call.
 */
bool timers_call(long number, const long *arg, long *result);

/** timers_copied - a file has one more number; timers_closed - and one less. */
void timers_copied(int from);
void timers_closed(int number);

/** timers_due - the time of a timer may have come; switches no fiber */
void timers_due(uint32_t id, uint64_t at);

/** timers_next - when the next one ends; EXACT_EVER: none does. @once: of those without a period */
uint64_t timers_next(bool once);

#endif
