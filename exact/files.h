/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* files.h - files of signalfd(), for what a thread was sent as well. */
#ifndef EXACT_FILES_H
#define EXACT_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** files_look, files_hide - the kernel is about to look at files for the calling thread; not so. */
void files_look(void);
void files_hide(void);

/** files_make - as signalfd4(). Return: the file, or a negative error. */
long files_make(int number, const uint64_t *set, int flags);

/** files_closed - the program closes a file; files_copied - @to is the same one as @from. */
void files_closed(int number);
void files_copied(int from, int to);

/** files_have - is it one of signalfd()? */
bool files_have(int number);

/**
 * files_take - as read(), of such a file
 *
 * Return: as read(); 0: nothing is there, and the call @waits.
 */
ssize_t files_take(int number, void *into, size_t size, bool waits);

#endif
