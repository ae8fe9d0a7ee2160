// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* schedshard's layout: bytes for each CPU's level and waiting tasks, in the order of caches. */
#define LAYOUT	     shard
#define RD_NAME	     "shard"
#define ROOT_DOMAIN  struct root_domain_rto
#define MASKS	     MASKS_NONE
#define COUNTS	     COUNTS_NONE
#define ONLY_WAITING true
#include "linux_rd.inc"
