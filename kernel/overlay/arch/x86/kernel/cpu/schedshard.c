// SPDX-License-Identifier: GPL-2.0-only
/*
 * The place of every possible x86 CPU, before any but the boot CPU has run.
 *
 * An APIC id is a row of bit fields, thread lowest, package highest. Firmware gives those of all
 * possible CPUs. CPUs share a cache if their ids agree above a bit that the boot CPU's CPUID gives.
 * cacheinfo later computes the same on each CPU, with the same result if all CPUs have this bit in
 * common. Hybrid CPUs do: their ids reserve the field for the largest cluster. Ids may have holes:
 * the code only shifts and compares them.
 */
#include <linux/bitops.h>
#include <linux/cpufeature.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/processor.h>
#include <linux/topology.h>
#include <linux/schedshard/machine.h>
#include <linux/schedshard/shard_plan_make.h>
#include <asm/apic.h>
#include <asm/apicdef.h>
#include <asm/cpuid/api.h>
#include <asm/numa.h>

#define UNKNOWN (-1)

/* split_llc=: the number of parts of a cache, by core number modulo that; as in match_llc(). */
static int split_llc __initdata = 1;

static int __init split_llc_setup(char *str)
{
	get_option(&str, &split_llc);
	split_llc = max(split_llc, 1);
	return 0;
}
early_param("split_llc", split_llc_setup);

/* The shift from an APIC id to the number of the L3, else the L2; both leaves have one format. */
static int __init read_shift(u32 leaf)
{
	u32 eax, ebx, ecx, edx, level, best = 1;
	int i, shift = UNKNOWN;

	/* A type of 0 ends the list; the bound is for hypervisors that never end it. */
	for (i = 0; i < 16; i++) {
		cpuid_count(leaf, i, &eax, &ebx, &ecx, &edx);
		if (!(eax & 0x1f))
			break;
		level = eax >> 5 & 0x7;
		if (level > best && level <= 3) {
			best = level;
			shift = get_count_order((eax >> 14 & 0xfff) + 1);
		}
	}
	return shift;
}

/* The shift of the LLC, with the exceptions that cacheinfo makes. */
static int __init llc_shift(void)
{
	const struct cpuinfo_x86 *c = &boot_cpu_data;

	/* In a PV guest CPUID describes the physical CPU that executed it. */
	if (cpu_feature_enabled(X86_FEATURE_XENPV))
		return UNKNOWN;
	if (c->x86_vendor != X86_VENDOR_AMD && c->x86_vendor != X86_VENDOR_HYGON)
		return c->cpuid_level < 4 ? UNKNOWN : read_shift(4);
	/* Older CPUs share a cache by node; without an L3 each core has its own L2: no shard. */
	if (c->x86 < 0x17 || c->extended_cpuid_level < 0x8000001d || !cpuid_edx(0x80000006))
		return UNKNOWN;
	/* Core complexes of the first Zen have 8 ids, even with cores fused off. */
	if (c->x86_vendor == X86_VENDOR_HYGON || (c->x86 == 0x17 && c->x86_model <= 0x1f))
		return 3;
	return read_shift(0x8000001d);
}

/* The CPU's node by the firmware, whether the CPU is present or not. */
static s32 __init node_of(unsigned int cpu, u32 apicid)
{
#ifdef CONFIG_NUMA
	s32 node = apicid < MAX_LOCAL_APIC ? __apicid_to_node[apicid] : NUMA_NO_NODE;

	/* Linux assigns nodes in turn to CPUs that are not present: those nodes mean nothing. */
	return node < 0 && cpu_present(cpu) ? early_cpu_to_node(cpu) : node;
#else
	return 0;
#endif
}

void __init schedshard_arch_topology(struct shard_rec *rec, u32 n)
{
	unsigned int core_shift = topology_get_domain_shift(TOPO_CORE_DOMAIN);
	unsigned int package_shift = topology_get_domain_shift(TOPO_PKG_DOMAIN);
	int llc = llc_shift();
	u32 i;

	for (i = 0; i < n; i++) {
		u32 apicid = cpuid_to_apicid[rec[i].cpu];
		bool has_apic = apicid != BAD_APICID;

		/* A number without an APIC never comes online: beside CPU 0 it is harmless. */
		if (!has_apic)
			apicid = cpuid_to_apicid[0] == BAD_APICID ? 0 : cpuid_to_apicid[0];
		rec[i].at[SHARD_AT_PACKAGE] = apicid >> package_shift;
		rec[i].at[SHARD_AT_NODE] = node_of(rec[i].cpu, apicid);
		if (llc != UNKNOWN)
			rec[i].at[SHARD_AT_LLC] =
				(apicid >> llc) * split_llc +
				((apicid & (BIT(package_shift) - 1)) >> core_shift) % split_llc;
		rec[i].at[SHARD_AT_CORE] = has_apic ? (s32)(apicid >> core_shift) : UNKNOWN;
		rec[i].at[SHARD_AT_THREAD] = apicid & (BIT(core_shift) - 1);
	}
}
