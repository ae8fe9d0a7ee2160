// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Published patch 3 (root_domain.h): a counter of overloaded CPUs per NUMA node. */
#define LAYOUT		       node_count
#define RD_NAME		       "node-count"
#define ROOT_DOMAIN	       struct root_domain_counts
#define VEC_COUNT(root, level) ((root)->cpupri.pri_to_cpu[level].count)
#define VEC_MASK(root, level)  ((root)->cpupri.pri_to_cpu[level].mask)
#define MASKS		       MASKS_ONE
#define COUNTS		       COUNTS_NODE
#include "linux_rd.inc"
