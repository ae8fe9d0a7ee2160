/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * internal.h - what the files of lib/ share and nobody else sees.
 *
 * Symbols of the shared library are hidden unless SHARD_API marks them, so
 * nothing here can be called by, or clash with, a program that links it.
 */
#ifndef SCHEDSHARD_INTERNAL_H
#define SCHEDSHARD_INTERNAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include "shard_err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Linux' own limit (NR_CPUS of the largest configuration), also for CPU numbers. */
#define SHARD_LIB_MAX_CPUS 8192

/**
 * shard_err_set() - describe a failure
 * @err: where, NULL when the caller does not want to know
 * @code: the negative errno value that the failing function returns
 * @fmt: printf format of one line, without a newline
 *
 * Return: @code, so that a failure is reported and returned in one statement.
 */
__attribute__((format(printf, 3, 4))) int shard_err_set(struct shard_err *err, int code,
							const char *fmt, ...);

/**
 * shard_read_file() - read a whole regular file
 * @path: its path, named in the error
 * @max: most bytes that such a file may sensibly have
 * @buf: receives a malloc'ed, NUL-terminated copy; not written on failure
 * @len: receives its length without the NUL
 * @err: describes a failure, or NULL
 *
 * Return: 0, or a negative errno value: what open() or read() said, -EINVAL for
 * what is no regular file, -EFBIG beyond @max, -ENOMEM.
 */
int shard_read_file(const char *path, size_t max, char **buf, size_t *len, struct shard_err *err);

#ifdef __cplusplus
}
#endif

#endif
