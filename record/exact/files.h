/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* files.h - files of signalfd(), also for signals that this library holds for a thread. */
#ifndef EXACT_FILES_H
#define EXACT_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * files_look - make the calling thread's pending signals readable in the files of signalfd()
 * files_hide - undo files_look()
 */
void files_look(void);
void files_hide(void);

/** files_make - as signalfd4(). Return: the file, or a negative error. */
long files_make(int number, const uint64_t *set, int flags);

/** files_closed - the program closes a file; files_copied - @to is a copy of @from. */
void files_closed(int number);
void files_copied(int from, int to);

/** files_have - is this a file of signalfd()? */
bool files_have(int number);

/**
 * files_take - read(), for a file of signalfd()
 *
 * Return: as read(); 0 if no signal is there and the file is a blocking one (@waits).
 */
ssize_t files_take(int number, void *into, size_t size, bool waits);

#endif
