// SPDX-License-Identifier: GPL-2.0-only
/*
 * schedshard_arch_topology() from firmware: arm64, RISC-V, 32-bit Arm.
 *
 * init_cpu_topology() and cacheinfo parse the same descriptions, but after the first root domain.
 * They cannot run this early: they keep ACPI tables that the kernel maps for the boot only, and a
 * second call would leak memory.
 */
#include <linux/acpi.h>
#include <linux/numa.h>
#include <linux/topology.h>
#include <linux/schedshard/machine.h>
#ifdef CONFIG_GENERIC_ARCH_NUMA
#include <asm/numa.h>
#endif
#include "firmware.h"

static bool __init is_known(const struct shard_rec *rec, u32 n, enum shard_at level)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (rec[i].at[level] < 0)
			return false;
	return true;
}

/* Is there an LLC of two CPUs that are not known to be threads of one core? */
static bool __init is_shared(const struct shard_rec *rec, u32 n)
{
	u32 i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < i; j++)
			if (rec[i].at[SHARD_AT_LLC] == rec[j].at[SHARD_AT_LLC] &&
			    (rec[i].at[SHARD_AT_CORE] < 0 ||
			     rec[i].at[SHARD_AT_CORE] != rec[j].at[SHARD_AT_CORE]))
				return true;
	return false;
}

static void __init forget(struct shard_rec *rec, u32 n, enum shard_at level)
{
	u32 i;

	for (i = 0; i < n; i++)
		rec[i].at[level] = -1;
}

void __init schedshard_keep_known(struct shard_rec *rec, u32 n)
{
	if (!is_known(rec, n, SHARD_AT_PACKAGE))
		forget(rec, n, SHARD_AT_PACKAGE);
	if (!is_known(rec, n, SHARD_AT_LLC) || !is_shared(rec, n))
		forget(rec, n, SHARD_AT_LLC);
}

void __init schedshard_arch_topology(struct shard_rec *rec, u32 n)
{
#ifdef CONFIG_GENERIC_ARCH_NUMA
	u32 i;

	/* cpu_to_node() is right only once smp_prepare_cpus() has run. */
	for (i = 0; i < n; i++)
		rec[i].at[SHARD_AT_NODE] = early_cpu_to_node(rec[i].cpu);
#endif
	if (IS_ENABLED(CONFIG_ACPI_PPTT) && !acpi_disabled)
		schedshard_from_pptt(rec, n);
	else
		schedshard_from_devicetree(rec, n);
	schedshard_keep_known(rec, n);
}
