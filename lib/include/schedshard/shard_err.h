/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * shard_err.h - why a call failed, as one line for a person.
 *
 * Functions of the library that read external input (machine files, sysfs trees) return
 * 0 or a negative errno value. They describe a failure in a struct shard_err: what is wrong, where,
 * what would be right.
 *
 * Concurrency: a struct shard_err belongs to its caller; there is no shared state.
 */
#ifndef SCHEDSHARD_SHARD_ERR_H
#define SCHEDSHARD_SHARD_ERR_H

/**
 * struct shard_err - one line of text about the last failure
 * @text: without a newline and without control characters, always terminated;
 *	empty until a call failed, cut with "..." when it does not fit
 */
struct shard_err {
	char text[512];
};

#endif
