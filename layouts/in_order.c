// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Ours, but searches visit the other shards in the order of their numbers. */
#define LAYOUT	     in_order
#define RD_NAME	     "in-order"
#define ONLY_WAITING true
#define WALK_A_SHARD true
#define NEAREST	     false
#include "shard_rd.h"
