/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* names_file.h - the files in which processes report names of their addresses and threads. */
#ifndef RECORD_NAMES_FILE_H
#define RECORD_NAMES_FILE_H

#include <jansson.h>

/**
 * names_file_write - write JSON to a file that appears whole or not at all
 *
 * @folder: where a relative @path begins, or AT_FDCWD
 *
 * The folder may be writable by all users: never follows a link, never writes to a file that is
 * there already.
 *
 * Return: 0, or -1 with errno.
 */
int names_file_write(const json_t *all, int folder, const char *path);

#endif
