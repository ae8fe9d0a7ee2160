// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The alternative to the published patch 1: counters and masks are separate, and the counter of
 * normal tasks is on its own line.
 */
#define LAYOUT	    split
#define RD_NAME	    "split"
#define ROOT_DOMAIN struct root_domain_split
#define VEC_COUNT(root, level) \
	((root)->cpupri.pri_to_cpu.counts[(level) ? (level) + CPUPRI_COUNT0_PADDING : 0])
#define VEC_MASK(root, level) ((root)->cpupri.pri_to_cpu.masks[level])
#define MASKS		      MASKS_ONE
#define COUNTS		      COUNTS_ONE
#include "linux_rd.inc"
