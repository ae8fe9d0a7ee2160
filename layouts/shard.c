// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Ours. */
#define LAYOUT	     shard
#define RD_NAME	     "shard"
#define ONLY_WAITING true
#define WALK_A_SHARD true
#include "shard_rd.h"
