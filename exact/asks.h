/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* asks.h - system calls by which code that is not replaced asks about its thread and its CPU. */
#ifndef EXACT_ASKS_H
#define EXACT_ASKS_H

#include <stdbool.h>

/**
 * asks_call - clocks, CPUs, affinity and names of threads
 * @arg: its six arguments
 *
 * Return: true, the kernel's answer is in @result; false, the call is another one, or the kernel's.
 */
bool asks_call(long number, const long *arg, long *result);

#endif
