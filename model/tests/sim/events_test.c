// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compares the timing wheel with a search for the least element of an unsorted array. Delays are
 * between 0 and many turns of the wheel.
 */
#include <stdio.h>
#include <stdlib.h>

#include "events.h"

#define STEPS 200000
#define MOST  600

static uint64_t state = 42;

static uint64_t random64(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dull;
}

static uint64_t delay(void)
{
	uint64_t r = random64();

	switch (r % 8) {
	case 0:
		return 0;
	case 1:
		return r >> 40; /* up to 17 us: mostly beyond the wheel */
	case 2:
		return (uint64_t)WHEEL_SLOTS << WHEEL_SLOT_SHIFT; /* exactly one turn */
	default:
		return r >> 44; /* up to 1 us */
	}
}

int main(void)
{
	static struct event model[MOST];
	struct events e;
	uint64_t now = 0;
	uint32_t n = 0;

	events_init(&e);
	for (uint32_t i = 0; i < STEPS; i++) {
		bool push = !n || (n < MOST && random64() % (i / 1000 % 2 ? 3 : 2) == 0);

		if (push) {
			uint32_t id = (uint32_t)random64() % 512;
			enum event_kind kind = (enum event_kind)(random64() % 4);
			uint64_t time = now + delay();

			model[n++] = (struct event){ time, (uint64_t)kind << 32 | id };
			events_push(&e, time, kind, id);
		} else {
			struct event got = events_pop(&e);
			uint32_t least = 0;

			for (uint32_t k = 1; k < n; k++)
				if (event_before(&model[k], &model[least]))
					least = k;
			if (got.time != model[least].time || got.what != model[least].what) {
				fprintf(stderr,
					"step %u: popped time %llu what %llx, expected time %llu "
					"what %llx\n",
					i, (unsigned long long)got.time,
					(unsigned long long)got.what,
					(unsigned long long)model[least].time,
					(unsigned long long)model[least].what);
				return 1;
			}
			now = got.time;
			model[least] = model[--n];
		}
	}
	events_free(&e);
	printf("1 passed, 0 failed\n");
	return 0;
}
