// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * tsc-khz: how fast this host's time stamp counter runs, in kHz, on stdout; runs on the host.
 *
 * The emulated counter is the host's, and a guest that measures it against its timer while the host
 * runs something else finds a wrong frequency: its seconds then were seen to last a third of one,
 * and its watchdogs cried. So the guest is told.
 *
 * Each end of the interval is read between two readings of the clock; of many tries the one counts
 * that was interrupted least, so that a busy host does not matter here either.
 */
#include "guest.h"

#include <stdio.h>
#include <x86intrin.h>

struct reading {
	uint64_t ticks, ns, width;
};

static struct reading read_both(void)
{
	struct reading best = { .width = UINT64_MAX };

	for (int i = 0; i < 1000; i++) {
		uint64_t before = now_ns(), ticks = __rdtsc(), after = now_ns();

		if (after - before < best.width)
			best = (struct reading){ ticks, before + (after - before) / 2,
						 after - before };
	}
	return best;
}

int main(void)
{
	struct reading start = read_both(), end;

	sleep_ns(100000000);
	end = read_both();
	printf("%.0f\n", (double)(end.ticks - start.ticks) * 1e6 / (double)(end.ns - start.ns));
	return 0;
}
