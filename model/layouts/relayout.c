// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Published patch 2 (root_domain.h): the fields of the root domain are regrouped. */
#define LAYOUT		       relayout
#define RD_NAME		       "relayout"
#define ROOT_DOMAIN	       struct root_domain_relayout
#define VEC_COUNT(root, level) ((root)->cpupri.pri_to_cpu[level].count)
#define VEC_MASK(root, level)  ((root)->cpupri.pri_to_cpu[level].mask)
#define MASKS		       MASKS_ONE
#define COUNTS		       COUNTS_ONE
#include "linux_rd.inc"
