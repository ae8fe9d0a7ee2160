// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The four published patches (root_domain.h) together. */
#define LAYOUT		       published
#define RD_NAME		       "published"
#define ROOT_DOMAIN	       struct root_domain_published
#define VEC_COUNT(root, level) ((root)->cpupri.pri_to_cpu[level].count)
#define VEC_MASK(root, level)  ((root)->cpupri.pri_to_cpu[level].masks)
#define MASKS		       MASKS_NODE
#define COUNTS		       COUNTS_NODE
#include "linux_rd.inc"
