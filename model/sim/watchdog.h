/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* watchdog.h - ends a simulation in which nothing happens. Private to the timing backend. */
#ifndef SIM_WATCHDOG_H
#define SIM_WATCHDOG_H

#include "engine_state.h"

/* Print the state of each CPU that has a body, and @why; end the process with status 1. */
__attribute__((noreturn, cold)) void watchdog_give_up(const char *why);

/* Called when no CPU has stored during the last sim.watch.patience accesses. */
__attribute__((cold)) noinline void watchdog_look(void);

/* Count an access. */
static inline void watchdog_access(void)
{
	if (unlikely(++sim.events == sim.watch.deadline))
		watchdog_look();
}

/* Called when the running CPU stores. */
static inline void watchdog_progress(void)
{
	sim.watch.deadline = sim.events + sim.watch.patience;
}

#endif
