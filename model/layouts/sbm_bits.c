// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Masks are sharded bitmaps, as proposed in answer to published patch 4; counters are as in stock.
 */
#define LAYOUT		       sbm_bits
#define RD_NAME		       "sbm-bits"
#define ROOT_DOMAIN	       struct root_domain_sbm
#define VEC_COUNT(root, level) ((root)->cpupri.pri_to_cpu[level].count)
#define VEC_MASK(root, level)  ((root)->cpupri.pri_to_cpu[level].mask)
#define MASKS		       MASKS_SBM
#define COUNTS		       COUNTS_ONE
#include "linux_rd.inc"
