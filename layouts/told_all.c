// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Ours, but every overloaded CPU is visible to all shards. */
#define LAYOUT	     told_all
#define RD_NAME	     "told-all"
#define ONLY_WAITING true
#define WALK_A_SHARD true
#define TELLS_WIDE   false
#include "shard_rd.h"
