// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Ours, but one walk for the machine, which visits all overloaded CPUs. */
#define LAYOUT	     one_walk
#define RD_NAME	     "one-walk"
#define ONLY_WAITING true
#define WALK_A_SHARD false
#define TELLS_WIDE   true
#include "shard_rd.h"
