// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why the queue stays small: an alarm enters the queue only if it is earlier than all other alarms
 * of the same waiter. An alarm that the full array has dropped still fires once, without effect.
 */
#include "alarms.h"

#include "sim_threads.h"

void alarms_set(struct alarms *a, uint64_t at, uint32_t id)
{
	if (a->n && a->at[a->n - 1] <= at)
		return;
	a->n -= a->n == ALARMS;
	a->at[a->n++] = at;
	sim_alarm(at, id);
}

void alarms_came(struct alarms *a, uint64_t at)
{
	while (a->n && a->at[a->n - 1] <= at)
		a->n--;
}
