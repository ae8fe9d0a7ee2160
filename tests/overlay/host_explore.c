// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Locks of the explorer's machine: only acquire and release, which is what a spin lock of arm64
 * orders. A CPU that finds one taken gives the execution up. On x86 taking one is a locked
 * operation.
 */
#include "host.h"

#include "../../sim/explore/explore_case.h"

static u32 on_cpu[EXPLORE_MAX_CPUS + 1];

bool host_trylock(u64 *lock)
{
	u64 free = 0;

	return __atomic_compare_exchange_n(lock, &free, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

void host_lock(u64 *lock)
{
	if (!host_trylock(lock))
		explore_give_up();
}

void host_unlock(u64 *lock)
{
	smp_store_release(lock, 0);
}

u32 host_cpu(void)
{
	return on_cpu[explore_cpu()];
}

void host_on(u32 cpu)
{
	on_cpu[explore_cpu()] = cpu;
}

void host_fail(const char *what)
{
	explore_fail("%s", what);
}
