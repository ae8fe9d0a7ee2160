/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The port of core/ to the explorer. It is the simulated machine's port, except that every barrier
 * is a call. So the model chosen on the command line decides what a barrier orders. The model is
 * also notified of each index that is computed from a word's bits, see explore_weak.c.
 *
 * For planted bugs WITHOUT_RELEASE removes releases.
 */
#ifndef SIM_CASES_PORT_EXPLORE_H
#define SIM_CASES_PORT_EXPLORE_H

#define PORT_TSO	0
#define PORT_ORDER_TOLD 1

#include "../../../port/sim/port.h"

/* Called by a thread that would wait for another one: the execution does not count. */
void explore_give_up(void);
#define cpu_relax() explore_give_up()

/* The program computed an index from a loaded value: later addresses depend on it. */
void sim_index(void);

static port_always_inline unsigned int port_ctz64_told(u64 x)
{
	sim_index();
	return port_ctz64(x);
}

#define port_ctz64 port_ctz64_told

#ifdef WITHOUT_RELEASE
#undef smp_store_release
#define smp_store_release(p, v) WRITE_ONCE(*(p), v)
#define port_or64_release(p, v) port_or64(p, v)
#endif

#endif
