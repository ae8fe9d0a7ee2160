/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * alarms.h - sets alarms of a waiter whose time changes often. The engine's queue cannot remove an
 * alarm, so this file keeps only a few alarms there. An alarm that fires too early is set again.
 */
#ifndef EXACT_ALARMS_H
#define EXACT_ALARMS_H

#include <stdint.h>

#define ALARMS 8u

/**
 * struct alarms - the alarms of one waiter that are in the queue
 * @at: their times in picoseconds, latest first
 * @n: how many
 */
struct alarms {
	uint64_t at[ALARMS];
	uint32_t n;
};

/** alarms_set - make sure that @id has an alarm at @at or earlier. */
void alarms_set(struct alarms *a, uint64_t at, uint32_t id);

/** alarms_came - an alarm fired at @at: remove the alarms up to @at. */
void alarms_came(struct alarms *a, uint64_t at);

#endif
