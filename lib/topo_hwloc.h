/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* topo_hwloc.h - topologies as hwloc sees them, for schedshard-topo. */
#ifndef SCHEDSHARD_TOPO_HWLOC_H
#define SCHEDSHARD_TOPO_HWLOC_H

#include "port.h"
#include "internal.h"
#include "shard_topo.h"

/**
 * shard_topo_from_hwloc() - this machine's topology from hwloc
 * @topo: receives the topology; not written on failure
 * @err: describes a failure in one line, or NULL
 *
 * hwloc obeys its own environment variables (HWLOC_XMLFILE, HWLOC_SYNTHETIC, ...).
 *
 * Context: any thread; allocates memory, reads /sys and /proc.
 * Return: 0, -ENOMEM, or hwloc's error.
 */
int shard_topo_from_hwloc(struct shard_topo **topo, struct shard_err *err);

/**
 * shard_topo_from_hwloc_xml() - read a topology that lstopo wrote
 * @topo: receives the topology; not written on failure
 * @path: XML file, format of hwloc 1 or 2
 * @err: describes a failure in one line, or NULL
 *
 * hwloc trusts what it reads: its version 2.9 crashes on some XML that lstopo never wrote.
 * schedshard-topo therefore lets a child process read the file first.
 *
 * Context: any thread; allocates memory, reads one file. Return: 0, or an error. -EINVAL: hwloc
 * cannot load the file, or it contains no CPU that the library can number. Else -ENOMEM, or the
 * error of opening or reading.
 */
int shard_topo_from_hwloc_xml(struct shard_topo **topo, const char *path, struct shard_err *err);

/**
 * shard_topo_from_xml_text() - shard_topo_from_hwloc_xml() for a file in memory, for its fuzzer
 * @topo: receives the topology; not written on failure
 * @text: the XML, NUL-terminated
 * @len: its bytes without the NUL
 * @name: the file's name in errors
 * @err: describes a failure, or NULL
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int shard_topo_from_xml_text(struct shard_topo **topo, const char *text, size_t len,
			     const char *name, struct shard_err *err);

#endif
