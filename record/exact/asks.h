/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* asks.h - answers system calls that ask about the calling thread, its CPU and clocks. */
#ifndef EXACT_ASKS_H
#define EXACT_ASKS_H

#include <stdbool.h>

/**
 * asks_call - answer system call @number if it asks for a clock, a CPU, an affinity or a name
 * @arg: the call's six arguments
 *
 * Return: true if @result is what the kernel would return, false if the kernel must do the call.
 */
bool asks_call(long number, const long *arg, long *result);

#endif
