/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* topo_json.h - topology, plan and machine as JSON, for schedshard-topo. */
#ifndef SCHEDSHARD_TOPO_JSON_H
#define SCHEDSHARD_TOPO_JSON_H

#include <stdio.h>
#include <schedshard/schedshard.h>

/**
 * topo_write_json() - print everything as one JSON object
 * @out: the output stream
 * @source: the topology's source: "machine", "sysfs" or "live"
 * @topo: the topology
 * @plan: a plan of it
 * @machine: the machine file of the topology, or NULL
 *
 * Return: false if there is no memory, or if a write to @out failed.
 */
bool topo_write_json(FILE *out, const char *source, const struct shard_topo *topo,
		     const struct shard_plan *plan, const struct machine *machine);

#endif
