// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A step towards ours: its bytes, with one walk, told of everything that Linux is told of. */
#define LAYOUT	     bytes
#define RD_NAME	     "bytes"
#define ONLY_WAITING false
#define WALK_A_SHARD false
#include "shard_rd.h"
