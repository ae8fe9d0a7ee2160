// SPDX-License-Identifier: GPL-2.0-only
/*
 * The place of every possible x86 CPU, before any but the boot CPU has run.
 *
 * An APIC id is a row of bit fields, thread lowest, package highest, and firmware told the APIC
 * id of every possible CPU, of those that are not present too. A cache is shared by
 * the CPUs whose ids agree above some bit; CPUID of the boot CPU says which: that is what
 * cacheinfo computes on each CPU, later, with the same result as long as CPUs are alike in
 * this. Hybrid CPUs are: the field is reserved for the largest cluster.
 *
 * Ids with holes are nothing special: nothing counts them, they are only shifted and compared.
 */
#include <linux/bitops.h>
#include <linux/cpufeature.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/processor.h>
#include <linux/topology.h>
#include <linux/schedshard/machine.h>
#include <asm/apic.h>
#include <asm/apicdef.h>
#include <asm/cpuid/api.h>
#include <asm/numa.h>

#define UNKNOWN (-1)

/* Deterministic cache parameters, CPUID 4 and 0x8000001d alike; of EAX. */
#define CACHE_TYPE(eax)	   (0x1f & (eax))
#define CACHE_LEVEL(eax)   ((eax) >> 5 & 0x7)
#define CACHE_SHARING(eax) ((((eax) >> 14) & 0xfff) + 1)
#define TYPE_NONE	   0
#define TYPE_INSTRUCTION   2

/* Shift of an APIC id that gives the number of the cache; UNKNOWN: there is none. */
struct cache_shifts {
	int l2;
	int l3;
};

static struct cache_shifts __init read_shifts(u32 leaf)
{
	struct cache_shifts shifts = { UNKNOWN, UNKNOWN };
	u32 eax, ebx, ecx, edx;
	int i;

	/* The type says where the list ends; the bound is for hypervisors that do not. */
	for (i = 0; i < 16; i++) {
		cpuid_count(leaf, i, &eax, &ebx, &ecx, &edx);
		if (CACHE_TYPE(eax) == TYPE_NONE)
			break;
		if (CACHE_TYPE(eax) == TYPE_INSTRUCTION)
			continue;
		if (CACHE_LEVEL(eax) == 2)
			shifts.l2 = get_count_order(CACHE_SHARING(eax));
		if (CACHE_LEVEL(eax) == 3)
			shifts.l3 = get_count_order(CACHE_SHARING(eax));
	}
	return shifts;
}

/* The shift of the LLC, with the exceptions that cacheinfo makes; UNKNOWN: ask nobody. */
static int __init llc_shift(struct cache_shifts *shifts, const char **source)
{
	const struct cpuinfo_x86 *c = &boot_cpu_data;

	*shifts = (struct cache_shifts){ UNKNOWN, UNKNOWN };
	/* What CPUID says in a PV guest belongs to whichever CPU it ran on. */
	if (cpu_feature_enabled(X86_FEATURE_XENPV))
		return UNKNOWN;
	if (c->x86_vendor == X86_VENDOR_AMD || c->x86_vendor == X86_VENDOR_HYGON) {
		*source = "CPUID 0x8000001d";
		/* Older ones share a cache by node, which APIC ids do not tell. */
		if (c->x86 < 0x17 || c->extended_cpuid_level < 0x8000001d)
			return UNKNOWN;
		*shifts = read_shifts(0x8000001d);
		/* No L3: then an L2 is the last level of its core only, which is no shard. */
		if (!cpuid_edx(0x80000006))
			return UNKNOWN;
		/* Core complexes of the first Zen, whatever is fused off in them. */
		if (c->x86_vendor == X86_VENDOR_HYGON || (c->x86 == 0x17 && c->x86_model <= 0x1f))
			return 3;
		return shifts->l3;
	}
	*source = "CPUID 4";
	if (c->cpuid_level < 4)
		return UNKNOWN;
	*shifts = read_shifts(4);
	return shifts->l3 == UNKNOWN ? shifts->l2 : shifts->l3;
}

static s32 __init shift_or_unknown(u32 apicid, int shift)
{
	return shift == UNKNOWN ? UNKNOWN : (s32)(apicid >> shift);
}

/* What the firmware says about the CPU's node, present or not. */
static s32 __init node_of(unsigned int cpu, u32 apicid)
{
#ifdef CONFIG_NUMA
	s32 node = apicid < MAX_LOCAL_APIC ? __apicid_to_node[apicid] : NUMA_NO_NODE;

	/* Nodes of CPUs that are not present were dealt out in turn, as if they knew. */
	return node < 0 && cpu_present(cpu) ? early_cpu_to_node(cpu) : node;
#else
	return 0;
#endif
}

const char *__init schedshard_arch_topology(struct shard_cpu *rec)
{
	unsigned int core_shift = topology_get_domain_shift(TOPO_CORE_DOMAIN);
	unsigned int package_shift = topology_get_domain_shift(TOPO_PKG_DOMAIN);
	struct cache_shifts shifts;
	const char *source = NULL;
	unsigned int cpu;
	int llc = llc_shift(&shifts, &source);

	for_each_possible_cpu(cpu) {
		u32 apicid = cpuid_to_apicid[cpu];
		bool has_apic = apicid != BAD_APICID;

		/* A number without an APIC never comes on line: beside CPU 0 it is harmless. */
		if (!has_apic)
			apicid = cpuid_to_apicid[0] == BAD_APICID ? 0 : cpuid_to_apicid[0];

		rec[cpu].package = apicid >> package_shift;
		rec[cpu].llc = shift_or_unknown(apicid, llc);
		rec[cpu].l2 = shift_or_unknown(apicid, shifts.l2);
		rec[cpu].core = has_apic ? (s32)(apicid >> core_shift) : UNKNOWN;
		rec[cpu].thread = apicid & (BIT(core_shift) - 1);
		rec[cpu].node = node_of(cpu, apicid);
	}
	return llc == UNKNOWN ? NULL : source;
}
