/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The places of CPUs from firmware, for architectures whose boot CPU does not know which caches
 * other CPUs share. Context: boot, before the other CPUs and before tasks exist. Ordering: none.
 */
#ifndef _LIB_SCHEDSHARD_FIRMWARE_H
#define _LIB_SCHEDSHARD_FIRMWARE_H

#include <linux/init.h>
#include <linux/schedshard/shard_plan_make.h>

struct acpi_table_header;

/* Fill in @n records from ACPI's PPTT, or the device tree. Unknown levels keep their values. */
void __init schedshard_from_pptt(struct shard_rec *rec, u32 n);
void __init schedshard_from_devicetree(struct shard_rec *rec, u32 n);

/*
 * Look up the processor of ACPI id @id in a PPTT of @pptt->length bytes, and trust nothing there.
 * @rec gets the offsets of package, core, thread and of the node that owns the LLC. Return: false:
 * the table does not have the processor, and @rec is as it was.
 */
bool __init pptt_place(const struct acpi_table_header *pptt, u32 id, struct shard_rec *rec);

/*
 * Forget a level that is unknown for some CPU, and last-level caches of one core each. With a line
 * for every core each walk would be as long as the machine.
 */
void __init schedshard_keep_known(struct shard_rec *rec, u32 n);

#endif /* _LIB_SCHEDSHARD_FIRMWARE_H */
