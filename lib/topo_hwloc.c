// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Topology from hwloc: this machine, or an XML file.
 *
 * hwloc builds a tree from XML as written. It does not check that an object's set of CPUs agrees
 * with its children. So this file checks every number against the set of possible CPUs before it is
 * an index. The lowest CPU of its set identifies an object, as in topo_sysfs.c. So the result does
 * not depend on which of hwloc's numberings are right in a file.
 *
 * Offline CPUs have no object; only the complete cpuset contains them.
 */
#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include "topo_build.h"
#include "topo_hwloc.h"
#include "topology.h"

/* XML of 8,192 CPUs with their caches has about 20 MiB. */
#define MAX_XML (64u << 20)

static struct cpu_place {
	hwloc_obj_t package, llc, l2, core;
} find_place(hwloc_obj_t pu)
{
	struct cpu_place place = { NULL, NULL, NULL, NULL };

	for (hwloc_obj_t obj = pu->parent; obj; obj = obj->parent) {
		if (obj->type == HWLOC_OBJ_PACKAGE && !place.package)
			place.package = obj;
		else if (obj->type == HWLOC_OBJ_CORE && !place.core)
			place.core = obj;
		else if (obj->type == HWLOC_OBJ_L2CACHE)
			place.l2 = obj;
		/* level 1 is not a last-level cache, see topo_sysfs.c */
		if (hwloc_obj_type_is_dcache(obj->type) && obj->type != HWLOC_OBJ_L1CACHE)
			place.llc = obj;
	}
	return place;
}

/* The lowest CPU of an object; -1: no object; -2: it is not a possible CPU. */
static s32 first_cpu(hwloc_obj_t obj, u32 nr_cpus)
{
	int first;

	if (!obj)
		return -1;
	first = obj->cpuset ? hwloc_bitmap_first(obj->cpuset) : -1;
	return first < 0 || (u32)first >= nr_cpus ? -2 : first;
}

static int place_cpu(hwloc_obj_t pu, struct shard_cpu *cpu, u32 nr_cpus, const char *name,
		     struct shard_err *err)
{
	struct cpu_place place = find_place(pu);
	struct shard_cpu *at;
	unsigned int nr = pu->os_index;
	int node;

	if (nr >= nr_cpus || !cpu[nr].possible)
		return shard_err_set(err, -EINVAL,
				     "%s: PU %u is not in the machine's complete_cpuset", name, nr);
	at = &cpu[nr];
	if (at->thread >= 0)
		return shard_err_set(err, -EINVAL, "%s: PU %u appears twice", name, nr);
	at->thread = 0;
	if (place.package)
		at->package = place.package->os_index < 1000000000
				      ? (s32)place.package->os_index
				      : (s32)place.package->logical_index;
	node = pu->nodeset ? hwloc_bitmap_first(pu->nodeset) : -1;
	at->node = node;
	at->llc = first_cpu(place.llc, nr_cpus);
	at->l2 = first_cpu(place.l2, nr_cpus);
	at->core = first_cpu(place.core, nr_cpus);
	if (at->llc < -1 || at->l2 < -1 || at->core < -1)
		return shard_err_set(
			err, -EINVAL,
			"%s: a cache or core of PU %u has no CPU of the machine in its "
			"cpuset",
			name, nr);
	return 0;
}

/*
 * Number the threads of each core in the order of their CPU numbers, which is the order of the
 * records.
 */
static bool rank_threads(struct shard_cpu *cpu, u32 nr_cpus)
{
	s32 *threads = calloc(nr_cpus, sizeof(*threads));

	for (u32 nr = 0; threads && nr < nr_cpus; nr++) {
		if (cpu[nr].core >= 0)
			cpu[nr].thread = threads[cpu[nr].core]++;
	}
	free(threads);
	return threads != NULL;
}

static int convert(hwloc_topology_t hwloc, struct shard_topo **topo, const char *name,
		   struct shard_err *err)
{
	hwloc_const_bitmap_t possible = hwloc_topology_get_complete_cpuset(hwloc);
	int last = possible ? hwloc_bitmap_last(possible) : -1;
	struct shard_topo *result;
	struct shard_cpu *cpu;
	hwloc_obj_t pu = NULL;
	u32 nr_cpus;
	int nr, ret = 0;

	if (last < 0 || last >= SHARD_LIB_MAX_CPUS)
		return shard_err_set(err, -EINVAL,
				     "%s: the machine's complete_cpuset must have CPUs, all of "
				     "them below 8192",
				     name);
	nr_cpus = (u32)last + 1;
	result = shard_topo_alloc(nr_cpus, &cpu);
	if (!result)
		return shard_err_set(err, -ENOMEM, "%s: out of memory", name);
	for (nr = hwloc_bitmap_first(possible); nr >= 0; nr = hwloc_bitmap_next(possible, nr))
		cpu[nr].possible = true;
	while (!ret && (pu = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_PU, pu)))
		ret = place_cpu(pu, cpu, nr_cpus, name, err);
	if (!ret) {
		shard_topo_fill(cpu, nr_cpus);
		if (!rank_threads(cpu, nr_cpus) || !shard_topo_number(cpu, nr_cpus, 2 * nr_cpus))
			ret = shard_err_set(err, -ENOMEM, "%s: out of memory", name);
	}
	if (ret)
		shard_topo_free(result);
	else
		*topo = result;
	return ret;
}

/* @xml NULL: this machine. */
static int load(struct shard_topo **topo, const char *xml, size_t len, const char *name,
		struct shard_err *err)
{
	hwloc_topology_t hwloc;
	int ret;

	if (hwloc_topology_init(&hwloc) < 0)
		return shard_err_set(err, -ENOMEM, "%s: hwloc is out of memory", name);
	/* include CPUs that a cgroup withholds from this process */
	hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (xml && hwloc_topology_set_xmlbuffer(hwloc, xml, (int)len) < 0) {
		ret = shard_err_set(err, -EINVAL, "%s: hwloc does not accept it as XML of lstopo",
				    name);
	} else if (hwloc_topology_load(hwloc) < 0) {
		ret = errno && !xml ? -errno : -EINVAL;
		shard_err_set(err, ret, "%s: hwloc cannot load it: %s", name,
			      xml ? "it must be XML as lstopo writes it" : strerror(-ret));
	} else {
		ret = convert(hwloc, topo, name, err);
	}
	hwloc_topology_destroy(hwloc);
	return ret;
}

int shard_topo_from_hwloc(struct shard_topo **topo, struct shard_err *err)
{
	return load(topo, NULL, 0, "this machine", err);
}

int shard_topo_from_xml_text(struct shard_topo **topo, const char *text, size_t len,
			     const char *name, struct shard_err *err)
{
	/* hwloc counts the terminating NUL, and stops at the first one */
	return load(topo, text, len + 1, name, err);
}

int shard_topo_from_hwloc_xml(struct shard_topo **topo, const char *path, struct shard_err *err)
{
	size_t len = 0;
	char *text = NULL;
	int ret = shard_read_file(path, MAX_XML, &text, &len, err);

	if (!ret)
		ret = shard_topo_from_xml_text(topo, text, len, path, err);
	free(text);
	return ret;
}
