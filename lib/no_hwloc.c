// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Replaces the hwloc reader in a build without hwloc: both functions fail. */
#include <errno.h>
#include "internal.h"
#include "topology.h"

int shard_topo_from_hwloc(struct shard_topo **topo, struct shard_err *err)
{
	return shard_err_set(err, -ENOSYS,
			     "this machine: this build has no hwloc, use the sysfs tree \"/\"");
}

int shard_topo_from_hwloc_xml(struct shard_topo **topo, const char *path, struct shard_err *err)
{
	return shard_err_set(err, -ENOSYS,
			     "%s: this build has no hwloc, use a machine file or a sysfs tree",
			     path);
}
