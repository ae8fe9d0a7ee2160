/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* line_queue.h - the requests that wait for a line, and which of them is next. */
#ifndef SIM_LINE_QUEUE_H
#define SIM_LINE_QUEUE_H

#include "line.h"

/* Add a request that was sent; its arrival may be in the future. */
void line_queue_add(struct coherence *c, struct line *l, uint32_t req);

/**
 * line_queue_take - remove the next request from the queue.
 * @now: requests that arrive later cannot be chosen
 * @earliest: if none has arrived yet, receives the time of the first arrival
 *
 * Return: the request; NO_REQ if none has arrived.
 */
uint32_t line_queue_take(struct coherence *c, struct line *l, uint64_t now, uint64_t *earliest);

/* Return the number of waiting writes of a group. */
uint32_t line_queue_writes(const struct line *l, uint32_t group);

void line_queue_free(struct line *l);

#endif
