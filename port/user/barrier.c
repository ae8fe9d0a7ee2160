// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The heavy barrier: membarrier() interrupts the CPUs that run threads of this process. A thread
 * that does not run has passed a full barrier in the scheduler. The process registers once, and a
 * forked child inherits the registration.
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "port.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool registered;

static void register_here(void)
{
	registered = !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

bool port_has_heavy_barrier(void)
{
	pthread_once(&once, register_here);
	return registered;
}

void port_heavy_barrier(void)
{
	smp_mb();
	if (port_has_heavy_barrier())
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}
