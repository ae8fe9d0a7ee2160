// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Linux 6.12 as it is. */
#define LAYOUT		       stock
#define RD_NAME		       "stock"
#define ROOT_DOMAIN	       struct root_domain_stock
#define VEC_COUNT(root, level) ((root)->cpupri.pri_to_cpu[level].count)
#define VEC_MASK(root, level)  ((root)->cpupri.pri_to_cpu[level].mask)
#define MASKS		       MASKS_ONE
#define COUNTS		       COUNTS_ONE
#include "linux_rd.inc"
