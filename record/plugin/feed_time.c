// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "feed_time.h"

#include <string.h>

#define FIRST_WIDTH 256u

static void join_pairs(struct feed_time *t)
{
	for (uint32_t i = 0; i < FEED_TIME_PARTS / 2; i++)
		t->took[i] = t->took[2 * i] + t->took[2 * i + 1];
	memset(t->took + FEED_TIME_PARTS / 2, 0, sizeof(t->took) / 2);
	t->width *= 2;
}

void feed_time_add(struct feed_time *t, uint64_t instructions, uint64_t ps)
{
	if (!t->width)
		t->width = FIRST_WIDTH;
	while (instructions / t->width >= FEED_TIME_PARTS)
		join_pairs(t);
	t->took[instructions / t->width] += ps;
}

json_t *feed_time_json(const struct feed_time *t, uint64_t instructions)
{
	json_t *took = json_array();

	for (uint32_t i = 0; t->width && i < FEED_TIME_PARTS && i * t->width < instructions; i++)
		json_array_append_new(took, json_integer((json_int_t)t->took[i]));
	return json_pack("{s:I, s:I, s:o}", "width", (json_int_t)t->width, "instructions",
			 (json_int_t)instructions, "took_ps", took);
}
