// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the place of every possible x86 CPU before any but the boot CPU has run.
 *
 * Firmware gives the APIC ids of all possible CPUs. CPUs share the L3 if their
 * ids agree above a bit that the boot CPU's CPUID gives, as in cacheinfo. Many
 * guests show an L3 for each CPU, which says nothing about the host's L3s.
 */
#include <linux/bitops.h>
#include <linux/cpufeature.h>
#include <linux/processor.h>
#include <linux/sched/cpu_slot.h>
#include <linux/topology.h>
#include <asm/apic.h>
#include <asm/cpuid/api.h>

/* The lowest bit above which ids of CPUs with one L3 agree; 31: unknown. */
static unsigned int __init l3_shift(void)
{
	const struct cpuinfo_x86 *c = &boot_cpu_data;
	bool amd = c->x86_vendor == X86_VENDOR_AMD ||
		   c->x86_vendor == X86_VENDOR_HYGON;
	u32 leaf = amd ? 0x8000001d : 4, eax, ebx, ecx, edx, i;

	/* In a PV guest CPUID describes the physical CPU that executed it. */
	if (cpu_feature_enabled(X86_FEATURE_XENPV) ||
	    (amd ? c->extended_cpuid_level < leaf : c->cpuid_level < leaf))
		return 31;

	for (i = 0; i < 8; i++) {
		cpuid_count(leaf, i, &eax, &ebx, &ecx, &edx);
		/* Type, level, and the largest number of CPUs that share it. */
		if (!(eax & 0x1f))
			break;
		if ((eax >> 5 & 0x7) == 3)
			return get_count_order((eax >> 14 & 0xfff) + 1) ?: 31;
	}
	return 31;
}

void __init arch_cpu_place(struct cpu_place *place)
{
	static int shift __initdata = -1; /* CPUID is slow in guests */
	u32 apicid = cpuid_to_apicid[place->cpu];

	/* A CPU without an APIC id never comes online. */
	if (apicid == BAD_APICID)
		return;
	if (shift < 0)
		shift = l3_shift();
	place->cache = apicid >> shift;
	place->core = apicid >> topology_get_domain_shift(TOPO_CORE_DOMAIN);
}
