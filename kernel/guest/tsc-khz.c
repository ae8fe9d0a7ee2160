// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * tsc-khz: prints the frequency of this host's time stamp counter, in kHz; runs on the host.
 *
 * A guest reads the host's counter. If the guest measures the counter against its timer while the
 * host runs something else, it finds a wrong frequency. In one case a guest's seconds were a third
 * of a second long, and watchdogs fired. So the guest gets the frequency as an option.
 *
 * The counter is read at both ends of an interval, each time between two readings of the clock. The
 * least interrupted of many tries counts, so that a busy host does not matter.
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
