/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* topo_hwloc.h - the part of the hwloc reader that its fuzzer calls. */
#ifndef SCHEDSHARD_TOPO_HWLOC_H
#define SCHEDSHARD_TOPO_HWLOC_H

#include "port.h"
#include "internal.h"
#include "shard_topo.h"

/**
 * shard_topo_from_xml_text() - shard_topo_from_hwloc_xml() for a file in memory
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
