/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * report_types.h - types for lines that are allocated without a type. Reports look up the fields in
 * the debug information by the names of these types.
 */
#ifndef LAYOUTS_REPORT_TYPES_H
#define LAYOUTS_REPORT_TYPES_H

#include "port.h"

/* CPU masks by CPU number. */
struct rd_mask_line {
	u64 word[8];
};

/* A shard's word of a sharded bitmap. */
struct rd_sbm_line {
	u64 cpus;
	u8 unused[56];
};

/* A node's or LLC's counter. */
struct rd_count_line {
	u32 count;
	u8 unused[60];
};

/* cpu_to_pri: 16 CPUs per line. */
struct rd_pri_line {
	s32 pri[16];
};

/* A shard's bytes: a level or "overloaded" for each CPU. */
struct rd_byte_line {
	u8 cpu[64];
};

static_assert(sizeof(struct rd_mask_line) == PORT_CACHELINE, "a line");
static_assert(sizeof(struct rd_sbm_line) == PORT_CACHELINE, "a line");
static_assert(sizeof(struct rd_count_line) == PORT_CACHELINE, "a line");
static_assert(sizeof(struct rd_pri_line) == PORT_CACHELINE, "a line");
static_assert(sizeof(struct rd_byte_line) == PORT_CACHELINE, "a line");

/**
 * rd_label - name the next allocation.
 */
void rd_label(const char *name, const char *type);

#endif
