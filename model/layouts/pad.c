// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Published patch 1 (root_domain.h): each counter and pointer to a mask is on its own line. */
#define LAYOUT		       pad
#define RD_NAME		       "pad"
#define ROOT_DOMAIN	       struct root_domain_pad
#define VEC_COUNT(root, level) ((root)->cpupri.pri_to_cpu[level].count)
#define VEC_MASK(root, level)  ((root)->cpupri.pri_to_cpu[level].mask)
#define MASKS		       MASKS_ONE
#define COUNTS		       COUNTS_ONE
#include "linux_rd.inc"
