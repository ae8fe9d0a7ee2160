// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Topology from a machine file. The loader has checked and numbered everything, so this file only
 * copies the records.
 */
#include <errno.h>
#include <string.h>
#include "machine.h"
#include "topo_build.h"
#include "topology.h"

int shard_topo_from_machine(struct shard_topo **topo, const char *path, struct shard_err *err)
{
	struct machine *machine;
	struct shard_topo *copy;
	struct shard_cpu *cpu;
	int ret = machine_load(&machine, path, err);

	if (ret)
		return ret;
	copy = shard_topo_alloc(machine->topo.nr_cpus, &cpu);
	if (copy) {
		memcpy(cpu, machine->topo.cpu, copy->nr_cpus * sizeof(*cpu));
		*topo = copy;
	} else {
		ret = shard_err_set(err, -ENOMEM, "%s: out of memory", path);
	}
	machine_free(machine);
	return ret;
}
