/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* private.h - the model's own memory. */
#ifndef EXACT_PRIVATE_H
#define EXACT_PRIVATE_H

/**
 * private_begin - call @prepare, and from now on separate this library's memory from the program's
 *
 * Return: 0, or -1 if no thread could be made.
 */
int private_begin(void (*prepare)(const char *settings), const char *settings);

/** private_do - call @work with the thread-local memory of a thread outside of the recording. */
void private_do(void (*work)(void));

#endif
