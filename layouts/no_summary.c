// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Ours, but a query reads the lines of all shards. */
#define LAYOUT	     no_summary
#define RD_NAME	     "no-summary"
#define ONLY_WAITING true
#define WALK_A_SHARD true
#define SUMMARY	     false
#include "shard_rd.h"
