// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Published patch 4 (root_domain.h): a mask per level and NUMA node. */
#define LAYOUT		       node_mask
#define RD_NAME		       "node-mask"
#define ROOT_DOMAIN	       struct root_domain_node_mask
#define VEC_COUNT(root, level) ((root)->cpupri.pri_to_cpu[level].count)
#define VEC_MASK(root, level)  ((root)->cpupri.pri_to_cpu[level].masks)
#define MASKS		       MASKS_NODE
#define COUNTS		       COUNTS_ONE
#include "linux_rd.inc"
