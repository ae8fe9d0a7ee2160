// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The proposal in answer to the published patch 3: overloaded CPUs counted per LLC. */
#define LAYOUT		       llc_count
#define RD_NAME		       "llc-count"
#define ROOT_DOMAIN	       struct root_domain_counts
#define VEC_COUNT(root, level) ((root)->cpupri.pri_to_cpu[level].count)
#define VEC_MASK(root, level)  ((root)->cpupri.pri_to_cpu[level].mask)
#define MASKS		       MASKS_ONE
#define COUNTS		       COUNTS_LLC
#include "linux_rd.h"
