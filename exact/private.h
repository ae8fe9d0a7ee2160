/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* private.h - the model's own memory. */
#ifndef EXACT_PRIVATE_H
#define EXACT_PRIVATE_H

/**
 * private_begin - call @prepare, and keep apart what it and this library allocate from now on
 *
 * Return: 0, or -1: no thread.
 */
int private_begin(void (*prepare)(const char *settings), const char *settings);

/** private_do - call @work as a thread that has no part in the recording. */
void private_do(void (*work)(void));

#endif
