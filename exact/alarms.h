/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * alarms.h - who waits for a time that changes often: it keeps few alarms in the engine's queue,
 * from which none can be taken. An alarm that comes earlier than it is needed is set anew.
 */
#ifndef EXACT_ALARMS_H
#define EXACT_ALARMS_H

#include <stdint.h>

#define ALARMS 8u

/**
 * struct alarms - what is in the queue for one who waits
 * @at: the times, the first to come last
 * @n: how many
 */
struct alarms {
	uint64_t at[ALARMS];
	uint32_t n;
};

/** alarms_set - @id has an alarm at @at, or an earlier one. */
void alarms_set(struct alarms *a, uint64_t at, uint32_t id);

/** alarms_came - one did at @at. */
void alarms_came(struct alarms *a, uint64_t at);

#endif
