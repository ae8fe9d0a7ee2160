/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The waiters for a bit of a set or for a slot, by shard; their operations are in shard_signal.h.
 * Making and freeing exclude everything else, and may sleep.
 */
#ifndef SHARD_WAIT_H
#define SHARD_WAIT_H

#include "shard_plan.h"

struct shard_wait;

/* Make a structure without waiters. Return: NULL if there is no memory. May sleep. */
struct shard_wait *shard_wait_alloc(const struct shard_plan *plan);

/* Free @w, or NULL. @w must have no waiters. May sleep. */
void shard_wait_free(struct shard_wait *w);

#endif /* SHARD_WAIT_H */
