// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Ours: bytes in the order of caches for the level of a CPU, and for the tasks that wait there. */
#define LAYOUT	     shard
#define RD_NAME	     "shard"
#define ROOT_DOMAIN  struct root_domain_rto
#define MASKS	     MASKS_NONE
#define COUNTS	     COUNTS_NONE
#define ONLY_WAITING true
#include "linux_rd.h"
