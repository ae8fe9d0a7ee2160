// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * NUMA placement through hwloc.
 *
 * pthread_once() loads the topology, with only nodes and CPUs in it. It is never freed: memory may
 * be allocated until the process ends, in destructors too. After pthread_once() it is constant, so
 * that threads read it without a lock; hwloc allows that.
 */
#include <hwloc.h>
#include <pthread.h>
#include "numa.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static hwloc_topology_t machine; /* NULL: hwloc failed, all memory is alike */

static void load(void)
{
	hwloc_topology_t loading;

	if (hwloc_topology_init(&loading) < 0)
		return;
	hwloc_topology_set_all_types_filter(loading, HWLOC_TYPE_FILTER_KEEP_NONE);
	if (hwloc_topology_load(loading) < 0) {
		hwloc_topology_destroy(loading);
		return;
	}
	machine = loading;
}

bool shard_numa_many(void)
{
	pthread_once(&once, load);
	return machine && hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_NUMANODE) > 1;
}

void shard_numa_place(void *ptr, size_t size, int node)
{
	hwloc_obj_t obj = hwloc_get_numanode_obj_by_os_index(machine, (unsigned int)node);

	if (obj)
		/* without HWLOC_MEMBIND_STRICT this is the kernel's "preferred" */
		hwloc_set_area_membind(machine, ptr, size, obj->nodeset, HWLOC_MEMBIND_BIND,
				       HWLOC_MEMBIND_BYNODESET);
}
