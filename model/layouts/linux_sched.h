/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef LAYOUTS_LINUX_SCHED_H
#define LAYOUTS_LINUX_SCHED_H

#include "linux_api.h"
#include "../../core/sched/cpu_slot.h"
#include "../../core/sched/cpupri.h"
#include "../../core/sched/rto.h"

/*
 * Get or put the order of CPUs; it exists while there are root domains. @flat: order by CPU number.
 * Return: false if there is no memory. Context: not concurrent.
 */
bool linux_sched_get(const struct shard_topo *topo, bool flat);
void linux_sched_put(void);

/* Forget the order of CPUs: all memory has been released, that of root domains too. */
void linux_sched_forget(void);

/* Private to linux_sched.c. */
bool linux_machine_set(const struct shard_topo *topo, bool flat);
void linux_machine_free(void);

/* A search for a task of CPU @home (-1: of none) at @level that may run on @allowed: see rd_ops. */
int linux_find(struct cpupri *cp, int level, int home, const unsigned long *allowed,
	       const unsigned long *active, unsigned long *found, bool (*fits)(u32 cpu, void *arg),
	       void *arg);

#endif
