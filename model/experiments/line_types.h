/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * line_types.h - types for lines that the code under test allocates without a type. Only reports
 * use these types: they find the fields in the debug information.
 */
#ifndef EXPERIMENTS_LINE_TYPES_H
#define EXPERIMENTS_LINE_TYPES_H

#include "port.h"

/* A line of a cpumask: eight words of bits by CPU number. */
struct mask_line {
	u64 word[8];
};

/* A line of bytes, one per CPU. */
struct byte_line {
	u8 cpu[64];
};

/* A shard's line in an sbm: one word, the rest is unused. */
struct sbm_line {
	u64 cpus;
	u8 unused[56];
};

#define LAYOUT(type)                                                                        \
	({                                                                                  \
		static_assert(sizeof(struct type) == PORT_CACHELINE, "a layout is a line"); \
		"struct " #type;                                                            \
	})

#endif
