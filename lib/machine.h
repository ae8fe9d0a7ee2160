/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * machine.h - a machine: the place of each CPU, the time of a cache line's transfer between two
 * CPUs, and the cost of an operation.
 *
 * machines/NAME.toml describes one. The command line checks that file and writes it in its flat
 * form (model/machines/flat.py), which this reader takes. A line states one fact, in words
 * separated by one space:
 *
 *	schedshard-machine 1
 *	name NAME
 *	title TEXT
 *	clock_ghz NUMBER
 *	latency_ns KEY NUMBER
 *	op_cycles KEY NUMBER
 *	protocol KEY NUMBER
 *	cpu NUMBER PACKAGE NODE LLC L2 CORE THREAD
 *	tier NAME UNIT COUNT NS GROUP...
 *
 * "schedshard-machine 1" is the first line of the file. The other lines have any order, but tiers
 * follow all CPUs. Ids count from 0 without holes. A tier has a group for each of its units.
 *
 * Concurrency:
 *
 *                machine_load  queries  machine_free
 *  machine_load       any         any        any(1)
 *  queries            any         any        no
 *  machine_free       any(1)      no         no
 *
 *  any: at the same time without a lock. (1) of another machine.
 *  A machine is constant from its load until it is freed.
 */
#ifndef SCHEDSHARD_MACHINE_H
#define SCHEDSHARD_MACHINE_H

#include "port.h"
#include "shard_err.h"
#include "shard_topo.h"

/**
 * enum machine_distance - how far apart two CPUs are
 *
 * The nearest level that applies: CPUs of an LLC that spans two nodes (sub-NUMA clusters) are
 * %MACHINE_SAME_LLC even if their nodes differ.
 */
enum machine_distance {
	MACHINE_SAME_CPU,
	MACHINE_SAME_CORE, /* SMT siblings */
	MACHINE_SAME_LLC,
	MACHINE_SAME_NODE,
	MACHINE_SAME_PACKAGE,
	MACHINE_OTHER_PACKAGE,
};

/**
 * struct machine_latency - one-way transfer of a modified line, in nanoseconds
 * @smt: to the SMT sibling
 * @llc: to another core of the same LLC
 * @node: to another LLC of the same node
 * @package: to another node of the same package
 * @remote: to another package
 * @home_remote: between two LLCs of one package while the line's home is in another package; equals
 *	@remote when the file does not say
 * @memory: load from local DRAM
 *
 * 0 for a distance that does not occur on the machine and that the file omits; above 0 for each
 * distance that occurs.
 */
struct machine_latency {
	double smt, llc, node, package, remote, home_remote, memory;
};

/**
 * struct machine_ops - cost of operations that stay inside the core
 * @load_hit: load of a line that the core holds, core cycles
 * @store: store to a line that the core holds, core cycles
 * @locked: locked operation on a line held exclusively, core cycles
 * @fence: full barrier with an empty store buffer, core cycles
 * @timestamp: read of the time-stamp counter, core cycles
 * @store_buffer: entries of the store buffer
 */
struct machine_ops {
	double load_hit, store, locked, fence, timestamp;
	u32 store_buffer;
};

/**
 * struct machine_param - one constant of the [protocol] table
 * @key: its name, of lower-case letters, digits and underscores
 * @value: the constant, at least 0
 */
struct machine_param {
	const char *key;
	double value;
};

/** enum machine_unit - what a tier joins; in the order of enum machine_distance */
enum machine_unit {
	MACHINE_UNIT_CORES,    /* of one LLC */
	MACHINE_UNIT_LLCS,     /* of one node */
	MACHINE_UNIT_NODES,    /* of one package */
	MACHINE_UNIT_PACKAGES, /* of the machine */
};

/**
 * struct machine_tier - a group between two levels of the topology
 * @name: lower-case letters, digits and hyphens
 * @unit: what a group joins
 * @count: units per group, at least 2
 * @ns: nanoseconds of a one-way transfer of a modified line between two units of one group
 * @group: group of each unit, by the unit's number over the whole machine; groups are numbered over
 *	the whole machine from 0
 */
struct machine_tier {
	const char *name;
	enum machine_unit unit;
	u32 count;
	double ns;
	const u32 *group;
};

/**
 * struct machine - a loaded machine file
 * @topo: one record per CPU number; package, node, llc, l2 and core are numbered
 *	over the whole machine from 0 in topology order, thread within its core
 * @clock_ghz: core cycles per nanosecond; every cycle count uses this clock
 * @latency_ns: transfer times
 * @op_cycles: operation costs
 * @nr_cpus: CPUs that exist, at most @topo.nr_cpus (numbers may have holes)
 * @nr_cores: cores
 * @nr_llcs: last-level caches
 * @nr_nodes: NUMA nodes that have CPUs
 * @nr_packages: packages
 * @nr_protocol: entries of @protocol
 * @protocol: the constants of the protocol
 * @nr_tiers: entries of @tier
 * @tier: the [[tier]] tables, from the smallest group to the largest
 * @name: name of the preset
 * @title: full name of the machine, for people
 */
struct machine {
	struct shard_topo topo;
	double clock_ghz;
	struct machine_latency latency_ns;
	struct machine_ops op_cycles;
	u32 nr_cpus, nr_cores, nr_llcs, nr_nodes, nr_packages;
	u32 nr_protocol;
	const struct machine_param *protocol;
	u32 nr_tiers;
	const struct machine_tier *tier;
	const char *name;
	const char *title;
};

/**
 * machine_load() - read a machine in its flat form
 * @machine: receives the machine; not written on failure
 * @path: path of the file
 * @err: describes a failure in one line, or NULL
 *
 * Refuses a file with which a query would read past an array. Does not check what matters only to
 * the file's author, such as whether each distance has a latency.
 *
 * Context: any thread; allocates memory, reads one file.
 * Return: 0; -EINVAL when the file is not in the flat form, -ENOMEM, or the error of opening or
 * reading the file (-ENOENT, -EACCES, -EFBIG, ...).
 */
int machine_load(struct machine **machine, const char *path, struct shard_err *err);

/**
 * machine_free() - free a machine
 * @machine: from machine_load(), or NULL
 *
 * Context: any thread. No thread may still use @machine, or be building a struct shard_plan from
 * its records.
 */
void machine_free(struct machine *machine);

/**
 * machine_protocol() - look up a constant of the [protocol] table
 * @machine: the machine
 * @key: the key
 * @absent: the value to return when the file does not contain the key
 *
 * Return: the value, in the unit that the key's user defines.
 */
double machine_protocol(const struct machine *machine, const char *key, double absent);

/**
 * machine_distance() - how far apart two CPUs are
 * @machine: the machine
 * @a: a CPU number that exists
 * @b: a CPU number that exists
 *
 * Return: the smallest level that contains both. Symmetric.
 */
static inline enum machine_distance machine_distance(const struct machine *machine, u32 a, u32 b)
{
	const struct shard_cpu *x = &machine->topo.cpu[a], *y = &machine->topo.cpu[b];

	if (a == b)
		return MACHINE_SAME_CPU;
	if (x->core == y->core)
		return MACHINE_SAME_CORE;
	if (x->llc == y->llc)
		return MACHINE_SAME_LLC;
	if (x->node == y->node)
		return MACHINE_SAME_NODE;
	if (x->package == y->package)
		return MACHINE_SAME_PACKAGE;
	return MACHINE_OTHER_PACKAGE;
}

/**
 * machine_tier_group() - which group of a tier a CPU is in
 * @machine: the machine
 * @tier: below @machine->nr_tiers
 * @cpu: a record of @machine->topo that exists
 *
 * Return: the group, numbered over the whole machine from 0: two CPUs are in one group
 * of the tier exactly when the numbers are equal.
 */
static inline u32 machine_tier_group(const struct machine *machine, u32 tier,
				     const struct shard_cpu *cpu)
{
	const struct machine_tier *t = &machine->tier[tier];

	switch (t->unit) {
	case MACHINE_UNIT_CORES:
		return t->group[cpu->core];
	case MACHINE_UNIT_LLCS:
		return t->group[cpu->llc];
	case MACHINE_UNIT_NODES:
		return t->group[cpu->node];
	case MACHINE_UNIT_PACKAGES:
		break;
	}
	return t->group[cpu->package];
}

/**
 * machine_pair_tier() - the smallest tier that joins two CPUs
 * @machine: the machine
 * @a: a CPU number that exists
 * @b: a CPU number that exists
 *
 * Return: index into @machine->tier; @machine->nr_tiers if a level of the topology
 * joins them first, or no tier does. Symmetric.
 */
static inline u32 machine_pair_tier(const struct machine *machine, u32 a, u32 b)
{
	const struct shard_cpu *x = &machine->topo.cpu[a], *y = &machine->topo.cpu[b];
	enum machine_distance distance = machine_distance(machine, a, b);
	u32 tier = 0;

	for (; tier < machine->nr_tiers; tier++) {
		/* a tier groups units: it does not apply to two CPUs inside one unit */
		if ((u32)distance >= MACHINE_SAME_LLC + (u32)machine->tier[tier].unit &&
		    machine_tier_group(machine, tier, x) == machine_tier_group(machine, tier, y))
			break;
	}
	return tier;
}

/**
 * machine_pair_ns() - time to move a modified line between two CPUs
 * @machine: the machine
 * @a: a CPU number that exists
 * @b: a CPU number that exists
 *
 * The latency of the smallest group that holds both. From the smallest these are: core, tiers of
 * cores, LLC, tiers of LLCs, node, tiers of nodes, package, tiers of packages, machine. Assumes
 * that the line's home is in the requester's package. Symmetric.
 *
 * Return: nanoseconds; 0 if @a is @b, above 0 otherwise.
 */
static inline double machine_pair_ns(const struct machine *machine, u32 a, u32 b)
{
	const struct machine_latency *lat = &machine->latency_ns;
	u32 tier = machine_pair_tier(machine, a, b);

	if (tier < machine->nr_tiers)
		return machine->tier[tier].ns;
	switch (machine_distance(machine, a, b)) {
	case MACHINE_SAME_CPU:
		return 0;
	case MACHINE_SAME_CORE:
		return lat->smt;
	case MACHINE_SAME_LLC:
		return lat->llc;
	case MACHINE_SAME_NODE:
		return lat->node;
	case MACHINE_SAME_PACKAGE:
		return lat->package;
	case MACHINE_OTHER_PACKAGE:
		break;
	}
	return lat->remote;
}

/**
 * machine_pair_class() - the name of the distance between two CPUs
 * @machine: the machine
 * @a: a CPU number that exists
 * @b: a CPU number that exists
 *
 * Return: the tier's name, or the key of the latency in [latency_ns]: "smt", "llc", "node",
 * "package", "remote"; "cpu" if @a is @b. Symmetric.
 */
static inline const char *machine_pair_class(const struct machine *machine, u32 a, u32 b)
{
	u32 tier = machine_pair_tier(machine, a, b);

	if (tier < machine->nr_tiers)
		return machine->tier[tier].name;
	switch (machine_distance(machine, a, b)) {
	case MACHINE_SAME_CPU:
		return "cpu";
	case MACHINE_SAME_CORE:
		return "smt";
	case MACHINE_SAME_LLC:
		return "llc";
	case MACHINE_SAME_NODE:
		return "node";
	case MACHINE_SAME_PACKAGE:
		return "package";
	case MACHINE_OTHER_PACKAGE:
		break;
	}
	return "remote";
}

#endif
