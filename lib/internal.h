/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * internal.h - shared by the files of lib/, private to them.
 *
 * The shared library exports only what schedshard.map names. So a program that links it can neither
 * call these functions nor clash with their names.
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

/* In place of a cap: a line per core, also where some cores have two threads and others one. */
#define SHARD_CAP_CORE 0xffffffffu

/* Linux's own limit (NR_CPUS of the largest configuration), also for CPU numbers. */
#define SHARD_LIB_MAX_CPUS 8192

/**
 * shard_err_set() - describe a failure
 * @err: receives the description, or NULL
 * @code: the negative errno value that the failing function returns
 * @fmt: printf format of one line, without a newline
 *
 * Return: @code, so that one statement reports and returns a failure.
 */
__attribute__((format(printf, 3, 4))) int shard_err_set(struct shard_err *err, int code,
							const char *fmt, ...);

/**
 * shard_read_file() - read a whole regular file
 * @path: its path, named in the error
 * @max: maximum sensible size of such a file, in bytes
 * @buf: receives a malloc'ed, NUL-terminated copy; not written on failure
 * @len: receives its length without the NUL
 * @err: describes a failure, or NULL
 *
 * Return: 0, or a negative errno value: the error of open() or read(), -EINVAL for a file that is
 * not regular, -EFBIG beyond @max, -ENOMEM.
 */
int shard_read_file(const char *path, size_t max, char **buf, size_t *len, struct shard_err *err);

#ifdef __cplusplus
}
#endif

#endif
