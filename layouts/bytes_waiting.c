// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A step towards ours: its bytes with one walk; the overload set has CPUs where a task waits. */
#define LAYOUT	     bytes_waiting
#define RD_NAME	     "bytes-waiting"
#define ONLY_WAITING true
#define WALK_A_SHARD false
#include "shard_rd.h"
