/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The port of core/ to the simulated machine. The compiler option -fsanitize=thread turns every
 * access into a call of the simulated machine's __tsan_* functions.
 *
 * The simulated machine is TSO like x86, whatever the host is. A locked operation drains the store
 * buffer and is a full barrier, so smp_mb__before_atomic() and smp_mb__after_atomic() cost nothing,
 * like smp_rmb() and smp_wmb(). smp_mb() becomes __tsan_atomic_thread_fence().
 */
#ifndef SCHEDSHARD_PORT_H
#define SCHEDSHARD_PORT_H

/* 0: with the barriers of a weaker machine, for the explorer's "posted" model. */
#ifndef PORT_TSO
#define PORT_TSO 1
#endif

#include "../gcc_atomics.h"
#include "../warn.h"

/* As in port/user/port.h. model/sim/arena.c implements it: @node is a simulated node. */
void *port_alloc(size_t size, int node);
void port_free(void *ptr, size_t size);

/* A CPU's pause in a waiting loop; sim_relax_takes() sets its duration (sim.h). */
void sim_relax(void);

static port_always_inline void cpu_relax(void)
{
	port_compiler_barrier();
	sim_relax();
}

/*
 * A heavy barrier orders the accesses of all CPUs. The simulated machine has none: it waits until
 * the store buffers of other CPUs have drained. The explorer gets a full barrier on both sides.
 */
static port_always_inline bool port_has_heavy_barrier(void)
{
	return true;
}

static port_always_inline void port_light_barrier(void)
{
	if (PORT_ORDER_TOLD)
		smp_mb();
	else
		port_compiler_barrier();
}

static port_always_inline void port_heavy_barrier(void)
{
	smp_mb();
	for (int i = 0; !PORT_ORDER_TOLD && i < 1000; i++)
		cpu_relax();
}

#endif /* SCHEDSHARD_PORT_H */
