// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * An earlier form of schedshard's layout: bytes for overload as well, wide tasks, a walk per shard.
 */
#define LAYOUT	     walks
#define RD_NAME	     "walks"
#define ONLY_WAITING true
#define WALK_A_SHARD true
#include "shard_rd.h"
