// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs in ACPI's Processor Properties Topology Table (ACPI 6.5, 5.2.30).
 *
 * Nodes name their parents, from thread or core up to the package. A node lists its caches, which
 * all CPUs below it share. Levels count from below: the highest node with a cache has the last
 * level. Several nodes may list one cache structure to save space. So the node identifies a cache;
 * the structure does not.
 */
#include <linux/acpi.h>
#include <linux/unaligned.h>
#include "firmware.h"

/* Ends the way up if parents form a cycle. */
#define MAX_DEPTH 32

/* The subtable at @offset, when it lies in the table and has at least @size bytes. */
static const void *__init subtable(const struct acpi_table_header *pptt, u32 offset, u32 size)
{
	const struct acpi_subtable_header *entry;

	if (offset < sizeof(*pptt) || pptt->length < size || offset > pptt->length - size)
		return NULL;
	entry = ACPI_ADD_PTR(const struct acpi_subtable_header, pptt, offset);
	if (entry->length < size || entry->length > pptt->length - offset)
		return NULL;
	return entry;
}

static const struct acpi_pptt_processor *__init processor(const struct acpi_table_header *pptt,
							  u32 offset)
{
	const struct acpi_pptt_processor *node = subtable(pptt, offset, sizeof(*node));

	return node && node->header.type == ACPI_PPTT_TYPE_PROCESSOR ? node : NULL;
}

static u32 __init offset_of(const struct acpi_table_header *pptt, const void *entry)
{
	return (u32)((const u8 *)entry - (const u8 *)pptt);
}

/* The processor node that follows @offset in the table; NULL: there is none. */
static const struct acpi_pptt_processor *__init next_processor(const struct acpi_table_header *pptt,
							       u32 *offset)
{
	const struct acpi_subtable_header *entry;

	while ((entry = subtable(pptt, *offset, sizeof(*entry)))) {
		u32 at = *offset;

		*offset += entry->length;
		if (processor(pptt, at))
			return processor(pptt, at);
	}
	return NULL;
}

/* Excludes containers: their ids may equal those of processors. */
static bool __init is_leaf(const struct acpi_table_header *pptt,
			   const struct acpi_pptt_processor *node)
{
	u32 at = sizeof(*pptt), own = offset_of(pptt, node);
	const struct acpi_pptt_processor *other;

	while ((other = next_processor(pptt, &at)))
		if (other->parent == own)
			return false;
	return true;
}

static const struct acpi_pptt_processor *__init leaf_of(const struct acpi_table_header *pptt,
							u32 id)
{
	const struct acpi_pptt_processor *node;
	u32 at = sizeof(*pptt);

	while ((node = next_processor(pptt, &at)))
		if (node->acpi_processor_id == id && is_leaf(pptt, node))
			return node;
	return NULL;
}

/* Does @node own a cache that holds data? */
static bool __init owns_cache(const struct acpi_table_header *pptt,
			      const struct acpi_pptt_processor *node)
{
	u32 room = (node->header.length - sizeof(*node)) / sizeof(u32), i;

	for (i = 0; i < min(room, node->number_of_priv_resources); i++) {
		u32 at = get_unaligned((const u32 *)(node + 1) + i);
		const struct acpi_pptt_cache *cache = subtable(pptt, at, sizeof(*cache));

		if (cache && cache->header.type == ACPI_PPTT_TYPE_CACHE &&
		    (!(cache->flags & ACPI_PPTT_CACHE_TYPE_VALID) ||
		     (cache->attributes & ACPI_PPTT_MASK_CACHE_TYPE) != ACPI_PPTT_CACHE_TYPE_INSTR))
			return true;
	}
	return false;
}

bool __init pptt_place(const struct acpi_table_header *pptt, u32 id, struct shard_rec *rec)
{
	const struct acpi_pptt_processor *node = leaf_of(pptt, id);
	unsigned int depth;

	if (!node)
		return false;
	rec->at[SHARD_AT_THREAD] = offset_of(pptt, node);
	rec->at[SHARD_AT_CORE] = offset_of(pptt, node);
	if (pptt->revision > 1 && (node->flags & ACPI_PPTT_ACPI_PROCESSOR_IS_THREAD) &&
	    processor(pptt, node->parent))
		rec->at[SHARD_AT_CORE] = node->parent;
	for (depth = 0; node && depth < MAX_DEPTH; depth++) {
		if (owns_cache(pptt, node))
			rec->at[SHARD_AT_LLC] = offset_of(pptt, node);
		if (node->flags & ACPI_PPTT_PHYSICAL_PACKAGE) {
			rec->at[SHARD_AT_PACKAGE] = offset_of(pptt, node);
			break;
		}
		node = processor(pptt, node->parent);
	}
	return true;
}

void __init schedshard_from_pptt(struct shard_rec *rec, u32 n)
{
	struct acpi_table_header *pptt;
	u32 i, id;

	if (ACPI_FAILURE(acpi_get_table(ACPI_SIG_PPTT, 0, &pptt)))
		return;
	for (i = 0; i < n; i++)
		if (!acpi_get_cpu_uid(rec[i].cpu, &id))
			pptt_place(pptt, id, &rec[i]);
	acpi_put_table(pptt);
}
